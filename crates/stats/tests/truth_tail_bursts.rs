//! Tails whose slow runs come in bursts: with a stated stretch they are cleared wrongly in at most one trial in twenty;
//! without one, those that were seen to be clustered are; and what equals pay.

mod common;

use common::{assert_at_most, error, rate};
use uncontended_figures::table::{Column, Table};
use uncontended_figures::{percent, whole};
use uncontended_stats::Rng;
use uncontended_stats::bursts::Stretch;
use uncontended_stats::tails::{Clearance, Side, Tails};
use uncontended_testkit::repetitions;

const LEVELS: [f64; 4] = [1.5, 1.9, 2.4, 3.0];

/// Runs that are slow in bursts of this mean length, in a tenth of all cases.
struct Bursts {
    length: f64,
    is_slow: bool,
}

impl Bursts {
    fn new(rng: &mut Rng, length: f64) -> Bursts {
        Bursts { length, is_slow: rng.chance(0.1) }
    }

    /// By how much the next run is slower.
    fn next(&mut self, rng: &mut Rng) -> f64 {
        let factor = if self.is_slow { 2.2 } else { 1.0 };
        let ends = 1.0 / self.length;
        self.is_slow = if self.is_slow { !rng.chance(ends) } else { rng.chance(ends * 0.1 / 0.9) };
        factor
    }
}

fn even(rng: &mut Rng) -> f64 {
    0.95 + 0.1 * rng.unit()
}

/// The number of trials that clear the tail, and the mean number of pairs.
fn cleared(
    trials: u64,
    pairs: u64,
    bursts: Option<Stretch>,
    pair: impl Fn(&mut Rng, &mut [Bursts; 2]) -> (f64, f64),
    length: f64,
) -> (u64, u64) {
    let asked = Clearance { by: rate(0.09), missed: error(0.05), bursts };
    let (mut rng, mut count, mut taken) = (Rng::new(29), 0, 0);
    for _ in 0..trials {
        let mut tails = Tails::new(&LEVELS, 1.02);
        let mut slow = [Bursts::new(&mut rng, length), Bursts::new(&mut rng, length)];
        let clears = (0..pairs).find(|_| {
            let (candidate, baseline) = pair(&mut rng, &mut slow);
            tails.push(candidate, baseline);
            tails.is_clear(Side::Heavier, &asked)
        });
        count += u64::from(clears.is_some());
        taken += clears.map_or(pairs, |at| at + 1);
    }
    (count, taken / trials)
}

const LOOKS: [(&str, Option<Stretch>); 3] = [
    ("independent", None),
    ("default", Some(Stretch { no: 20.0, yes: None })),
    ("bursts up to 20 times", Some(Stretch { no: 20.0, yes: Some(20.0) })),
];

#[test]
fn a_tail_in_bursts_is_not_cleared_where_bursts_are_stated() {
    let trials = repetitions("a tail in bursts", 400, 4_000);
    let columns = ["guard", "cleared", "mean pairs"].map(Column::figure);
    let mut table = Table::new(std::iter::once(Column::word("bursts of")).chain(columns).collect());
    for length in [1.2, 5.0, 20.0] {
        for (name, bursts) in LOOKS {
            let slower = |rng: &mut Rng, [slow, _]: &mut [Bursts; 2]| {
                (even(rng) * slow.next(rng), even(rng))
            };
            let (count, pairs) = cleared(trials, 1500, bursts, slower, length);
            table.row([
                length.to_string(),
                name.to_string(),
                percent(count as f64 / trials as f64),
                whole(pairs),
            ]);
            if bursts.is_some_and(|bursts| bursts.yes.is_some()) {
                assert_at_most(&format!("bursts of {length}: cleared"), trials, count, 0.05);
            }
        }
    }
    println!("{}", table.markdown());
}

#[test]
fn equals_are_cleared_with_and_without_bursts() {
    let trials = repetitions("equals in bursts", 50, 1_000);
    let columns = ["guard", "cleared", "mean pairs"].map(Column::figure);
    let mut table =
        Table::new(std::iter::once(Column::word("two equals")).chain(columns).collect());
    type Pair = fn(&mut Rng, &mut [Bursts; 2]) -> (f64, f64);
    let noises: [(&str, Pair); 3] = [
        ("even", |rng, _| (even(rng), even(rng))),
        ("a neighbour, both slow in bursts of 20", |rng, [slow, _]| {
            let both = slow.next(rng);
            (even(rng) * both, even(rng) * both)
        }),
        ("each slow in bursts of 20 of its own", |rng, [ours, theirs]| {
            (even(rng) * ours.next(rng), even(rng) * theirs.next(rng))
        }),
    ];
    for (noise, pair) in noises {
        for (name, bursts) in LOOKS {
            let (count, pairs) = cleared(trials, 3000, bursts, pair, 20.0);
            table.row([
                noise.to_string(),
                name.to_string(),
                percent(count as f64 / trials as f64),
                whole(pairs),
            ]);
            if !noise.starts_with("each") {
                assert_eq!(count, trials, "{noise}, {name}");
            }
        }
    }
    println!("{}", table.markdown());
}

/// Slow runs of the candidate in one burst: enough pairs for independent runs are too few once they are seen to be
/// clustered, and what is said to be missing clears it.
#[test]
fn a_burst_that_was_seen_takes_more_pairs() {
    let asked = |bursts| Clearance { by: rate(0.09), missed: error(0.05), bursts };
    let [independent, default, stated] = LOOKS.map(|(_, bursts)| asked(bursts));
    let mut tails = Tails::new(&LEVELS, 1.02);
    for pair in 0..300 {
        tails.push(if (100..108).contains(&pair) { 2.2 } else { 1.0 }, 1.0);
    }
    let level = &tails.levels()[0];
    assert_eq!(level.stretch(Side::Heavier, &default), Some(20.0));
    assert_eq!(level.stretch(Side::Lighter, &default), None, "the baseline had no burst");
    assert!(tails.is_clear(Side::Heavier, &independent));
    assert!(!tails.is_clear(Side::Heavier, &default));
    let more = tails.most_open(Side::Heavier, &default).unwrap();
    let more = more.more_to_clear(Side::Heavier, &default);
    for left in (0..more).rev() {
        assert!(!tails.is_clear(Side::Heavier, &default), "{left} of {more} left");
        tails.push(1.0, 1.0);
    }
    assert!(tails.is_clear(Side::Heavier, &default) && tails.is_clear(Side::Heavier, &stated));
    assert!(Tails::fewest_clear(&stated) > 10 * Tails::fewest_clear(&default));
}
