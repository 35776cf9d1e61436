//! Ratios of quantiles: simultaneous coverage at every look, over streams that break common tests; directions; ties;
//! failures.
//!
//! The short form's own power: of 400 trials it rejects 39 or more where 5 % is promised, and a true chance of 15 %
//! gives that many with 99.9 %, as `assert_at_most` computes.

mod common;

use common::{assert_at_most, error, rate};
use uncontended_stats::{Claim, Margin, QuantileRatio, Relation, Rng, Verdict};
use uncontended_testkit::repetitions;

fn margin(m: f64) -> Margin {
    Margin::new(m).unwrap()
}

/// A pair of values, B's and A's.
type Pair = fn(&mut Rng) -> (f64, f64);

const PAIRS: [(&str, f64, Pair); 5] = [
    ("p90, even", 0.9, |rng| (rng.unit(), rng.unit())),
    ("p90, heavy-tailed", 0.9, |rng| (1.0 / (1e-9 + rng.unit()), 1.0 / (1e-9 + rng.unit()))),
    ("median, bimodal", 0.5, |rng| {
        let mut value = || if rng.chance(0.5) { 1.0 } else { 5.0 } + 0.1 * rng.unit();
        (value(), value())
    }),
    ("p75, tied", 0.75, |rng| (rng.below(4) as f64, rng.below(4) as f64)),
    ("p90, slow together", 0.9, |rng| {
        let both = if rng.chance(0.2) { 3.0 } else { 1.0 };
        (both * (1.0 + 0.1 * rng.unit()), both * (1.0 + 0.1 * rng.unit()))
    }),
];

#[test]
fn equals_are_hardly_ever_told_apart() {
    let trials = repetitions("quantiles of equals", 400, 4000);
    for (name, quantile, pair) in PAIRS {
        let (mut rng, mut differ) = (Rng::new(5), 0);
        for _ in 0..trials {
            let mut ratio = QuantileRatio::new(rate(quantile), margin(0.0), error(0.05));
            let found = (0..90).any(|_| {
                let (b, a) = pair(&mut rng);
                ratio.push(b, a).unwrap();
                ratio.verdict(Claim::Different) == Verdict::Yes
            });
            differ += u64::from(found);
        }
        assert_at_most(&format!("{name}, told apart"), trials, differ, 0.05);
    }
}

#[test]
fn the_interval_has_the_truth_and_agrees_with_the_verdict() {
    let mut rng = Rng::new(8);
    for truth in [0.7, 1.0, 1.4] {
        let mut ratio = QuantileRatio::new(rate(0.9), margin(0.1), error(0.01));
        for pair in 0..500 {
            ratio.push(truth * (0.5 + rng.unit()), 0.5 + rng.unit()).unwrap();
            if pair % 25 != 0 {
                continue;
            }
            let ((low, high), (least, most)) = (ratio.interval(), margin(0.1).bounds());
            assert!(low <= truth && truth <= high, "{truth}: {low} {high}");
            assert_eq!(low > most, ratio.verdict(Claim::NoWorse) == Verdict::No, "{low}");
            assert!(high > most || ratio.verdict(Claim::NoWorse) == Verdict::Yes, "{high}");
            let (below, above) = ratio.log_evidence(most);
            assert_eq!(above >= ratio.needed(), low > most);
            assert!(below < ratio.needed() || high <= most.next_up());
            if let Some(estimate) = ratio.estimate() {
                assert!(low <= estimate && estimate <= high, "{low} {estimate} {high} {least}");
            }
        }
        let expected = match truth {
            0.7 => Relation::Better,
            1.4 => Relation::Worse,
            _ => Relation::Equivalent,
        };
        assert_eq!(ratio.relation(), expected, "{truth}: {:?}", ratio.interval());
    }
}

/// Sessions of equal commands: the number of A's runs depends on them, and B's are looked at again and again.
/// Where A has few values and B many, both directions have the error that is promised, and a real difference is found.
#[test]
fn sessions_of_different_sizes() {
    let trials = repetitions("sessions of equals", 400, 4000);
    for (name, quantile, pair) in [PAIRS[0], PAIRS[2], PAIRS[3]] {
        for (least, most, ours) in [(20, 40, 120), (80, 100, 15)] {
            let (mut rng, mut differ) = (Rng::new(11), 0);
            for _ in 0..trials {
                let (rate, error) = (rate(quantile), error(0.05));
                let mut ratio = QuantileRatio::of_sessions(rate, margin(0.0), error);
                // It stops after a value that is low, as a trial does that stops once it is content.
                for taken in 1.. {
                    let (_, a) = pair(&mut rng);
                    ratio.push_a(a).unwrap();
                    if taken >= most || taken >= least && a < 0.3 {
                        break;
                    }
                }
                let found = (1..=ours).any(|taken| {
                    ratio.push_b(pair(&mut rng).0).unwrap();
                    let is_looked_at = taken % if taken < 20 { 3 } else { 20 } == 0;
                    is_looked_at && ratio.verdict(Claim::Different) == Verdict::Yes
                });
                differ += u64::from(found);
            }
            assert_at_most(&format!("{name}, {least} to {ours}"), trials, differ, 0.05);
        }
    }
    let mut ratio = QuantileRatio::of_sessions(rate(0.5), margin(0.02), error(0.001));
    let mut rng = Rng::new(3);
    (0..20).for_each(|_| ratio.push_a(1.0 + 0.1 * rng.unit()).unwrap());
    (0..1000).for_each(|_| ratio.push_b(1.3 + 0.1 * rng.unit()).unwrap());
    assert_eq!(ratio.verdict(Claim::NoWorse), Verdict::No, "few values against many");
    let (low, high) = ratio.interval();
    assert!(low > 1.02 && low < 1.3 && high > 1.3 && high < 1.5, "{low} {high}");
}

#[test]
fn ties_failures_and_the_fewest_pairs() {
    for (quantile, e) in [(0.5, 0.001), (0.9, 0.05), (0.9, 0.001)] {
        let fewest = QuantileRatio::fewest_pairs(rate(quantile), error(e));
        for (b, claim) in [(1.0, Claim::Equivalent), (2.0, Claim::Different), (0.5, Claim::Better)]
        {
            let mut ratio = QuantileRatio::new(rate(quantile), margin(0.0), error(e));
            let taken = (1..).find(|_| {
                ratio.push(b, 1.0).unwrap();
                ratio.verdict(claim) == Verdict::Yes
            });
            assert_eq!(taken, Some(fewest), "{quantile} {e} {b}");
        }
    }
    // A fifth of B's runs fails: its p90 is a failure, whatever A's is.
    let mut ratio = QuantileRatio::new(rate(0.9), margin(0.0), error(0.001));
    for i in 0..600 {
        ratio.push(if i % 5 == 0 { f64::INFINITY } else { 1.0 }, 1.0).unwrap();
    }
    assert_eq!((ratio.verdict(Claim::NoWorse), ratio.estimate()), (Verdict::No, None));
    assert_eq!(ratio.interval().1, f64::INFINITY);
    assert!(ratio.push(-1.0, 1.0).is_err() && ratio.push(f64::NAN, 1.0).is_err());
    assert_eq!((ratio.pairs(), ratio.within(1.0)), (600, 480));
}
