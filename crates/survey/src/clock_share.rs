//! What the readings of the clock do to ratios: both terms contain them, so a ratio is nearer to 1 than that of the
//! locks alone.
//!
//! # Contract
//! Nothing is subtracted from a figure. A row has the interval of the ratio without the clock next to the ratio: over
//! the intervals of the ratio, of the baseline's time, and of a reading, and over how many readings a thread's
//! acquisition adds to the wall time of one: by one thread all three; by several, which read at once, fewer.

use crate::topic::{Ends, Topic};
use crate::{Class, machine};

/// Readings of the clock in an acquisition.
const READINGS: f64 = 3.0;

/// What the ratios would be without the readings of the clock in both of their terms: by one thread three, by several
/// some of them at once.
pub(crate) fn add(topic: &mut Topic) {
    let clock = machine::clock_ends();
    let bases: Vec<(usize, Class, Ends)> = (topic.rows.iter())
        .filter(|row| row.role == "baseline")
        .map(|row| (row.threads, row.class, Ends::of(&row.block_ns)))
        .collect();
    for row in topic.rows.iter_mut().filter(|row| row.role != "baseline") {
        let is_its = |base: &&(usize, Class, Ends)| (base.0, base.1) == (row.threads, row.class);
        let Some((.., base)) = bases.iter().find(is_its) else { continue };
        let (Some(low), Some(high)) = (row.low, row.high) else { continue };
        let readings = [READINGS / row.threads as f64, READINGS];
        row.ratio_without_clock = without((low, high), *base, clock, readings);
    }
    topic.notes.push(format!(
        "a reading of the clock takes {} here, and both terms of each ratio have up to three of them: \"no clock\" is the interval of the ratio without",
        uncontended_figures::quantity(
            None,
            clock.low,
            clock.high,
            uncontended_figures::Dimension::Time
        )
    ));
}

/// The interval of a ratio without what both terms have in common: some readings of the clock.
fn without((low, high): (f64, f64), base: Ends, clock: Ends, readings: [f64; 2]) -> Option<Ends> {
    let (base, clock) =
        ([base.low?, base.high?], [clock.low? * readings[0], clock.high? * readings[1]]);
    let each = |ratio: f64| {
        let of = move |base: f64, clock: f64| match base > clock {
            true => 1.0 + (ratio - 1.0) * base / (base - clock),
            false if ratio > 1.0 => f64::INFINITY,
            false => 0.0,
        };
        base.into_iter().flat_map(move |base| clock.map(|clock| of(base, clock).max(0.0)))
    };
    let least = each(low).fold(f64::INFINITY, f64::min);
    let most = each(high).fold(0.0, f64::max);
    Some(Ends::bounded((least, most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_without_the_clock_is_further_from_one() {
        let ends = |low: f64, high: f64| Ends { low: Some(low), high: Some(high) };
        // 100 ns, of which 60 are three readings, and a lock that takes 120: 60 to 40.
        let exact = without((1.2, 1.2), ends(100.0, 100.0), ends(20.0, 20.0), [3.0, 3.0]).unwrap();
        assert!(
            (exact.low.unwrap() - 1.5).abs() < 1e-9 && (exact.high.unwrap() - 1.5).abs() < 1e-9
        );
        // By two threads at once, 1.5 to 3 readings.
        let found = without((0.9, 1.2), ends(95.0, 105.0), ends(19.0, 21.0), [1.5, 3.0]).unwrap();
        assert!(found.low.unwrap() < 0.72 && found.high.unwrap() > 1.5, "{found:?}");
        assert!(found.low.unwrap() > 0.6 && found.high.unwrap() < 1.7, "{found:?}");
        // The clock may be all that there is.
        let all = without((0.9, 1.2), ends(50.0, 70.0), ends(20.0, 20.0), [3.0, 3.0]).unwrap();
        assert_eq!((all.low, all.high), (Some(0.0), None));
        assert_eq!(
            without((0.9, 1.2), Ends { low: None, high: None }, ends(1.0, 2.0), [3.0, 3.0]),
            None
        );
    }
}
