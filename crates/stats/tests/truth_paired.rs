//! Comparisons of equals over streams that break common tests; directions; edge cases of input.
//!
//! Each simulation, in its short form too, detects a chance of three times the promise with 99 %;
//! `assert_at_most` computes it.

mod common;

use common::{assert_at_most, error};
use uncontended_stats::paired::ratio;
use uncontended_stats::{Claim, Margin, Paired, Relation, Rng, Verdict};
use uncontended_testkit::repetitions;

fn margin(m: f64) -> Margin {
    Margin::new(m).unwrap()
}

/// A generator of a stream's values, from random numbers and the time that both arms share.
type Stream = fn(&mut Rng, f64) -> f64;

const STREAMS: [(&str, Stream); 7] = [
    ("even", |rng, _| 1.0 + rng.unit()),
    (
        "bimodal",
        |rng, _| if rng.chance(0.5) { 1.0 + 0.01 * rng.unit() } else { 2.0 + 0.01 * rng.unit() },
    ),
    ("heavy-tailed", |rng, _| 1.0 / (1e-9 + rng.unit() * rng.unit())),
    ("constant", |_, _| 1.0),
    ("tied", |rng, _| 10.0 + rng.below(3) as f64),
    ("drifting", |rng, time| (1.0 + 3.0 * time) * (1.0 + 0.1 * rng.unit())),
    ("swinging", |rng, time| (2.0 + (40.0 * time).sin()) * (1.0 + 0.1 * rng.unit())),
];

#[test]
fn a_thing_is_hardly_ever_found_better_or_worse_than_itself() {
    let runs = repetitions("a_thing_against_itself", 500, 10_000);
    let pairs = 200;
    for (name, stream) in STREAMS {
        let mut rng = Rng::new(99);
        let (mut differ, mut missed) = (0, 0);
        for _ in 0..runs {
            let mut paired = Paired::new(margin(0.0), error(0.1));
            let (mut found, mut out) = (false, false);
            for i in 0..pairs {
                // The order within a block is random; both runs of a pair share the drift.
                let time = f64::from(i) / f64::from(pairs);
                let (a, b) = (stream(&mut rng, time), stream(&mut rng, time));
                paired.push(ratio(b, a).unwrap()).unwrap();
                found |= matches!(paired.relation(), Relation::Better | Relation::Worse);
                let (low, high) = paired.interval();
                out |= low > 1.0 || high < 1.0;
            }
            differ += u64::from(found);
            missed += u64::from(out);
        }
        assert_at_most(&format!("{name} against itself, told apart"), runs, differ, 0.1);
        assert_eq!(missed, differ, "{name}: the interval lacks 1 exactly then");
    }
}

#[test]
fn a_real_difference_is_found_in_its_direction_through_drift_and_tails() {
    let mut rng = Rng::new(31);
    for (name, stream) in
        STREAMS.into_iter().filter(|(name, _)| !["bimodal", "heavy-tailed"].contains(name))
    {
        for (factor, relation, verdict) in
            [(1.5, Relation::Worse, Verdict::No), (0.6, Relation::Better, Verdict::Yes)]
        {
            let mut paired = Paired::new(margin(0.05), error(0.001));
            for i in 0..600 {
                let time = f64::from(i) / 600.0;
                let (a, b) = (stream(&mut rng, time), factor * stream(&mut rng, time));
                paired.push(ratio(b, a).unwrap()).unwrap();
            }
            assert_eq!(
                (paired.relation(), paired.verdict(Claim::NoWorse)),
                (relation, verdict),
                "{name}"
            );
            assert_eq!(paired.verdict(Claim::Different), Verdict::Yes, "{name}");
            assert_eq!(paired.verdict(Claim::Equivalent), Verdict::No, "{name}");
            let better = if relation == Relation::Better { Verdict::Yes } else { Verdict::No };
            assert_eq!(paired.verdict(Claim::Better), better, "{name}");
        }
    }
}

#[test]
fn equals_are_equivalent_and_the_evidence_agrees_with_the_interval() {
    let mut paired = Paired::new(margin(0.05), error(0.01));
    let mut rng = Rng::new(2);
    const EDGES: [f64; 5] = [0.97, 0.995, 1.0, 1.005, 1.03];
    let mut were = [(false, false); EDGES.len()];
    for _ in 0..300 {
        paired.push(0.99 + 0.02 * rng.unit()).unwrap();
        let ((low, high), needed) = (paired.interval(), paired.needed());
        for (edge, (was_below, was_above)) in EDGES.into_iter().zip(&mut were) {
            let (below, above) = paired.log_evidence(edge);
            (*was_below, *was_above) =
                (*was_below || below >= needed, *was_above || above >= needed);
            assert_eq!((*was_below, *was_above), (high < edge, low > edge), "{edge}: {low} {high}");
        }
    }
    assert_eq!(
        (paired.relation(), paired.verdict(Claim::Equivalent)),
        (Relation::Equivalent, Verdict::Yes)
    );
    assert_eq!(
        (paired.verdict(Claim::NoWorse), paired.verdict(Claim::Better)),
        (Verdict::Yes, Verdict::No)
    );
    assert_eq!(paired.verdict(Claim::Different), Verdict::No);
    let (low, high) = paired.interval();
    assert!(low <= paired.estimate().unwrap() && paired.estimate().unwrap() <= high);
}

/// The looks of a trial intersect: an end that was certain once stays so, unless the estimate leaves the interval.
#[test]
fn what_was_refuted_once_stays_refuted_while_the_estimate_agrees() {
    let mut paired = Paired::new(margin(0.05), error(0.01));
    (0..40).for_each(|i| paired.push(if i % 2 == 0 { 0.99 } else { 1.01 }).unwrap());
    let (low, high) = paired.interval();
    assert_eq!((low, high), (0.99, 1.01));
    // Half of the ratios spread out: looked at for the first time now, they would say less.
    let spread: Vec<f64> = (0..30).map(|i| if i % 2 == 0 { 0.9 } else { 1.1 }).collect();
    spread.iter().for_each(|&ratio| paired.push(ratio).unwrap());
    assert_eq!((paired.interval(), paired.relation()), ((low, high), Relation::Equivalent));
    // The median moves: what was seen before no longer counts.
    (0..200).for_each(|_| paired.push(1.5).unwrap());
    let (low, high) = paired.interval();
    assert!((low..=high).contains(&paired.estimate().unwrap()) && low > 1.01, "{low} {high}");
}

#[test]
fn the_fewest_pairs_are_what_a_one_sided_run_of_luck_takes() {
    for e in [0.2, 0.05, 0.001, 1e-6] {
        let mut paired = Paired::new(margin(0.0), error(e));
        while paired.relation() == Relation::Unknown {
            paired.push(2.0).unwrap();
        }
        assert_eq!(paired.pairs(), Paired::fewest_pairs(error(e)), "{e}");
    }
}

#[test]
fn failures_zeros_and_nonsense() {
    assert_eq!(ratio(0.0, 0.0), Ok(1.0));
    assert_eq!(ratio(f64::INFINITY, f64::INFINITY), Ok(1.0));
    assert_eq!((ratio(1.0, 0.0), ratio(0.0, 2.0)), (Ok(f64::INFINITY), Ok(0.0)));
    assert!(ratio(-1.0, 1.0).is_err() && ratio(f64::NAN, 1.0).is_err());
    assert!(Margin::new(-0.1).is_err() && Margin::new(f64::NAN).is_err());
    let mut paired = Paired::new(margin(0.0), error(0.01));
    assert!(paired.push(-1.0).is_err() && paired.push(f64::NAN).is_err() && paired.pairs() == 0);
    for _ in 0..40 {
        paired.push(f64::INFINITY).unwrap();
    }
    assert_eq!(paired.relation(), Relation::Worse);
}
