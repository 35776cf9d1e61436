//! Quantile sequences: published ranks, the stream against the formula, coverage at the stopping time.
//!
//! Each simulation, in its short form too, detects a chance of three times the promise with 99 %;
//! `assert_at_most` computes it.

mod common;

use common::{assert_at_most, error};
use uncontended_stats::{Method, QuantileSequence, Rate, Rng, quantile};
use uncontended_testkit::repetitions;

#[test]
fn the_published_ranks_hold_within_one() {
    // The reference spends half of 5 % on either end.
    let cases = [
        (1000, 0.5, Some(441), Some(558)),
        (10_000, 0.9, Some(8873), Some(9122)),
        (20_000, 0.99, Some(19_734), Some(19_860)),
        (10_000, 0.999, Some(9972), None),
    ];
    let close = |ours: Option<u64>, theirs: Option<u64>| match (ours, theirs) {
        (Some(a), Some(b)) => a.abs_diff(b) <= 1,
        (None, None) => true,
        _ => false,
    };
    for (n, p, low, high) in cases {
        let ours = quantile::ranks(n, Rate::new(p).unwrap(), Method::Csm, error(0.025));
        assert!(close(ours.0, low) && close(ours.1, high), "({n}, {p}): {ours:?}");
    }
}

#[test]
fn a_stream_refuses_exactly_what_the_formula_does() {
    for (p, method) in [
        (0.5, Method::OneSided),
        (0.9, Method::OneSided),
        (0.5, Method::Csm),
        (0.97, Method::Jeffreys),
    ] {
        let rate = Rate::new(p).unwrap();
        let mut sequence = QuantileSequence::new(rate, method, error(0.01));
        let mut rng = Rng::new(3);
        for n in 1..=700u64 {
            sequence.push(rng.unit()).unwrap();
            let (low, high) = quantile::ranks(n, rate, method, error(0.01));
            let at = |rank: u64| sequence.sorted()[rank as usize];
            let expected = (low.map_or(f64::NEG_INFINITY, at), high.map_or(f64::INFINITY, at));
            assert_eq!(sequence.interval(), expected, "{method:?} {p} n = {n}");
        }
    }
    assert!(QuantileSequence::new(Rate::HALF, Method::Csm, error(0.1)).push(f64::NAN).is_err());
}

/// A distribution: a value of it, the quantile asked for, and the least and the largest value that is that quantile.
type Case = (&'static str, fn(&mut Rng) -> f64, f64, (f64, f64));

const CASES: [Case; 6] = [
    ("even, median", |rng| rng.unit(), 0.5, (0.5, 0.5)),
    ("heavy-tailed, p99", |rng| 1.0 / (1.0 - rng.unit()), 0.99, (100.0, 100.0)),
    (
        "bimodal, median in the gap",
        |rng| if rng.chance(0.5) { rng.unit() } else { 5.0 + rng.unit() },
        0.5,
        (1.0, 5.0),
    ),
    ("tied, p90", |rng| rng.below(3) as f64, 0.9, (2.0, 2.0)),
    ("constant, p90", |_| 4.0, 0.9, (4.0, 4.0)),
    (
        "with failures, p75",
        |rng| if rng.chance(0.2) { f64::INFINITY } else { rng.unit() },
        0.75,
        (0.9375, 0.9375),
    ),
];

#[test]
fn the_quantile_is_covered_at_all_times_whatever_the_distribution() {
    let runs = repetitions("the_quantile_is_covered_at_all_times", 300, 10_000);
    for (name, draw, p, (least, most)) in CASES {
        for method in [Method::OneSided, Method::Csm] {
            let mut rng = Rng::new(404);
            let mut missed = 0;
            for _ in 0..runs {
                let mut sequence = QuantileSequence::new(Rate::new(p).unwrap(), method, error(0.1));
                let covered = (0..300).all(|_| {
                    sequence.push(draw(&mut rng)).unwrap();
                    let (low, high) = sequence.interval();
                    low <= most && high >= least
                });
                missed += u64::from(!covered);
            }
            assert_at_most(&format!("{name}, {method:?}, missed"), runs, missed, 0.1);
        }
    }
}
