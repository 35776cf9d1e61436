//! The estimate of the runs that are left.

use uncontended_decide::question::{Claim, Compare, Question};
use uncontended_decide::record::{Head, Run, SCHEMA, Stop};
use uncontended_decide::trial::{remaining, verdict};
use uncontended_stats::{self as stats, Counts, MaxError, Method, Rate, Rng};

/// Without a failure so far, about as many are left as decide if all succeed.
#[test]
fn what_remains_is_what_it_takes() {
    for (asked, seen) in [(0.5, 3), (0.9, 20), (0.99, 100)] {
        let rate = Rate::new(asked).unwrap();
        let question =
            stats::Question::about(rate, Method::OneSided, MaxError::new(0.001).unwrap());
        let after = |more| Counts::new(seen + more, seen + more).unwrap();
        let decides = |more: &u64| question.verdict(after(*more)) != stats::Verdict::Undecided;
        let fewest = (1..).find(decides).unwrap();
        let left = remaining(&question, after(0)).expect("less than a billion");
        assert!((fewest..=fewest + fewest / 16 + 1).contains(&left), "{asked}: {left} {fewest}");
    }
    // At a rate that is the threshold itself, with hardly any spread left, nothing decides.
    let question =
        stats::Question::about(Rate::HALF, Method::OneSided, MaxError::new(1e-9).unwrap());
    assert_eq!(remaining(&question, Counts::new(1 << 50, 1 << 49).unwrap()), None);
}

/// A rate of a half is as far from the runs seen as from their mirror image.
#[test]
fn what_remains_favours_neither_side() {
    let question =
        stats::Question::about(Rate::HALF, Method::OneSided, MaxError::new(0.001).unwrap());
    for (trials, successes) in [(3, 1), (10, 4), (40, 18), (200, 95), (1_000, 480)] {
        let [fewer, more] = [successes, trials - successes]
            .map(|seen| remaining(&question, Counts::new(trials, seen).unwrap()));
        assert_eq!(fewer, more, "{successes} of {trials}");
    }
}

/// A verdict rests on the worst finding; of several as bad, on the first.
#[test]
fn a_verdict_rests_on_the_first_of_the_worst() {
    let rests_on = |ratios: [f64; 3]| {
        let compare = Compare::of(Claim::NoWorse, 0.25, 0.01, &["base", "a", "b", "c"]);
        let hypothesis = Question::Compare(compare);
        let mut trial = hypothesis.asked().trial(None).unwrap();
        for _ in 0..40 {
            for (arm, value) in [1.0, ratios[0], ratios[1], ratios[2]].into_iter().enumerate() {
                if trial.active().contains(&arm) {
                    trial.push(&Run::of(arm, value)).unwrap();
                }
            }
        }
        let (schema, seed) = (SCHEMA.to_string(), "1".to_string());
        let head = Head {
            schema,
            hypothesis,
            seed,
            warnings: vec![],
            machine: None,
            origin: None,
            circumstances: None,
        };
        let finding = verdict(trial.as_ref(), &head, Stop::LogCut).finding;
        finding.pairs().unwrap().candidate.clone()
    };
    assert_eq!(rests_on([1.0, 1.0, 1.0]), "a");
    assert_eq!(rests_on([2.0, 2.0, 2.0]), "a");
    assert_eq!(rests_on([1.0, 2.0, 2.0]), "b");
    assert_eq!(rests_on([1.0, 1.0, 2.0]), "c");
}

/// The estimate may fall and rise, but stays steady: no more than half from one hundredth of the runs to the next.
#[test]
fn what_remains_does_not_leap() {
    for (asked, truth) in [(0.9, 0.9), (0.9, 0.93), (0.5, 0.52), (0.99, 0.985)] {
        let rate = Rate::new(asked).unwrap();
        let question =
            stats::Question::about(rate, Method::OneSided, MaxError::new(0.001).unwrap());
        let (mut rng, mut counts, mut last) = (Rng::new(3), Counts::default(), None);
        while question.verdict(counts) == stats::Verdict::Undecided && counts.trials() < 3000 {
            counts.push(rng.chance(truth));
            if counts.trials() < 200 || counts.trials() % (counts.trials() / 100) != 0 {
                continue;
            }
            let now = remaining(&question, counts).expect("less than a billion") as f64;
            if let Some(last) = last.replace(now) {
                let n = counts.trials() as f64;
                let leap = (now + 0.1 * n) / (last + 0.1 * n);
                assert!((0.5..2.0).contains(&leap), "{last} {now} after {counts:?}");
            }
        }
    }
}
