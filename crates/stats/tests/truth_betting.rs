//! Means of bounded values and pairs of streams: coverage over all looks, direction, bad input.

mod common;

use common::error;
use uncontended_stats::Rng;
use uncontended_stats::betting::BoundedMean;
use uncontended_stats::two_streams::{Higher, TwoStreams};

#[test]
fn the_mean_is_covered_at_all_times_whatever_the_distribution() {
    let runs = common::depth("the_mean_is_covered_at_all_times", 300, 10_000);
    // Two points, a rare large value, the same value always, and an even spread; with the mean of each.
    type Draw = fn(&mut Rng) -> f64;
    let distributions: [(&str, Draw, f64); 4] = [
        ("two points", |rng| if rng.chance(0.3) { 1.0 } else { 0.0 }, 0.3),
        ("a rare large one", |rng| if rng.chance(0.02) { 1.0 } else { 0.01 }, 0.0298),
        ("constant", |_| 0.7, 0.7),
        ("even", |rng| rng.unit(), 0.5),
    ];
    for (name, draw, mean) in distributions {
        let mut rng = Rng::new(5);
        let mut missed = 0;
        for _ in 0..runs {
            let mut sequence = BoundedMean::new(0.0, 1.0, error(0.1)).unwrap();
            let mut out = false;
            for _ in 0..150 {
                sequence.push(draw(&mut rng)).unwrap();
                let (above, below) = sequence.log_evidence(mean);
                out |= above.max(below) >= sequence.needed();
            }
            missed += u64::from(out);
        }
        println!("{name}: missed {missed} times in {runs}, bound 0.1");
        assert!((missed as f64) <= 0.1 * runs as f64 + 3.0 * (0.09 * runs as f64).sqrt());
    }
}

#[test]
fn the_interval_is_what_is_not_refuted_and_narrows() {
    let mut rng = Rng::new(8);
    let mut sequence = BoundedMean::new(-5.0, 15.0, error(0.05)).unwrap();
    let mut last = 21.0;
    for n in [10, 100, 1000, 4000] {
        while sequence.len() < n {
            sequence.push(3.0 + 2.0 * rng.unit()).unwrap();
        }
        let (low, high) = sequence.interval();
        assert!(low <= 4.0 && 4.0 <= high && high - low < last, "{low} {high}");
        let inside = |mean: f64| {
            let (above, below) = sequence.log_evidence(mean);
            above.max(below) < sequence.needed()
        };
        assert!(inside(low + 1e-9) && inside(high - 1e-9) && (low == -5.0 || !inside(low - 1e-9)));
        last = high - low;
    }
    assert!(last < 0.6, "{last}");
    assert!(
        sequence.push(15.1).is_err() && sequence.push(f64::NAN).is_err() && sequence.len() == 4000
    );
    assert!(
        BoundedMean::new(1.0, 1.0, error(0.1)).is_err()
            && BoundedMean::new(0.0, f64::INFINITY, error(0.1)).is_err()
    );
}

#[test]
fn two_streams_are_told_apart_and_equal_ones_are_not() {
    let runs = common::depth("two_streams", 1000, 10_000);
    for (a, b) in [(0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (0.9, 0.8), (0.1, 0.12)] {
        let mut rng = Rng::new(21);
        let (mut wrong, mut missed, mut right) = (0, 0, 0);
        for _ in 0..runs {
            let mut streams = TwoStreams::new(error(0.1));
            for _ in 0..400 {
                streams.push(rng.chance(a), rng.chance(b));
                if streams.higher() != Higher::Unknown {
                    break;
                }
            }
            let truth = if a > b { Higher::A } else { Higher::B };
            match streams.higher() {
                Higher::Unknown => {}
                found if found == truth && a != b => right += 1,
                _ => wrong += 1,
            }
            let (low, high) = streams.difference();
            missed += u64::from(b - a < low || b - a > high);
        }
        println!(
            "{a} against {b}: {right} right, {wrong} wrong, {missed} intervals without the truth, of {runs}"
        );
        assert!(wrong * 10 <= runs && missed * 10 <= runs);
        assert!((a, b) != (0.9, 0.8) || right * 10 > runs * 5);
    }
}
