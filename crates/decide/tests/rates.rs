//! The trial of a rate, run by run: bursts, failures and percentiles.

use uncontended_decide::question::{Bound, Bursts, Decider, Question, Side, Slo};
use uncontended_decide::record::{Outcome, Run};
use uncontended_decide::trial::Trial;
use uncontended_decide::verdict::Answer;

fn asked(side: Side, rate: f64, bursts: Option<f64>, quantile: Option<f64>) -> Slo {
    Slo {
        metric: "wall".to_string(),
        unit: "ns".to_string(),
        bound: Some(Bound { side, threshold: 5.0 }),
        rate,
        or_below: None,
        max_error: 0.01,
        method: Decider::OneSided,
        bursts: Bursts::new(bursts),
        set: None,
        quantile,
        command: None,
    }
}

fn open(slo: Slo) -> Box<dyn Trial> {
    Question::Slo(slo).asked().trial(None).unwrap()
}

/// Bursts of 30 in every 200 runs: no for independent runs, open if they may be bursts.
#[test]
fn a_finding_has_the_answer_that_minds_bursts() {
    let after = |bursts| {
        let mut trial = open(asked(Side::AtMost, 0.93, bursts, None));
        for at in 0..800 {
            if trial.is_settled() {
                break;
            }
            trial
                .push(&Run::of(0, if (30..60).contains(&(at % 200)) { 9.0 } else { 1.0 }))
                .unwrap();
        }
        let found = trial.findings().swap_remove(0);
        assert_eq!(found.verdict, trial.answer());
        assert_eq!((trial.active(), trial.ratios().len()), (vec![0], 0));
        let told = trial.diagnoses().join("\n");
        (found.verdict, found.rate().unwrap().dependence.unwrap(), told)
    };
    let (answer, known, told) = after(None);
    assert_eq!((answer, known.would_be), (Answer::Undecided, Some(Answer::No)));
    let bursts = "the 120 runs that lack the property came in 4 bursts, fewer than by chance: the runs are not";
    assert_eq!(told, format!("{bursts} independent, which the verdict takes into account"));
    assert_eq!((known.bad, known.bursts), (120, 4));
    assert!(known.log_evidence.unwrap() < known.needed.unwrap() && known.clustered < 1e-6);
    let (answer, known, told) = after(Some(1.0));
    assert!(
        told.ends_with(
            "fewer than by chance: the runs are not independent, so the stated error does not hold"
        ),
        "{told}"
    );
    assert_eq!((answer, known.would_be, known.needed), (Answer::No, None, None));
}

/// A run that fails lacks the property, and is beyond every value, whatever it shows.
#[test]
fn a_failed_run_is_the_worst() {
    for (side, good, worst) in [(Side::AtMost, 4.0, 9.0), (Side::AtLeast, 9.0, 4.0)] {
        let mut trial = open(asked(side, 0.75, Some(1.0), Some(0.75)));
        for at in 0..40 {
            let outcome = match at % 8 {
                0 => Outcome::TimedOut,
                1 => Outcome::Failed(1),
                _ => Outcome::Ok,
            };
            let value = if at % 8 == 2 { worst } else { good };
            trial.push(&Run { outcome, ..Run::of(0, value) }).unwrap();
        }
        let found = trial.findings_in_full().swap_remove(0);
        assert_eq!((found.n, found.successes), (40, 25), "{side:?}");
        let place = found.rate().unwrap().quantile.unwrap();
        // A quarter failed: they are at the end where the worst values are.
        let (value, bounded) = match side {
            Side::AtMost => (Some(worst), place.high.is_none()),
            Side::AtLeast => (Some(good), place.high == Some(good)),
        };
        assert_eq!((place.value, bounded), (value, true), "{side:?} {place:?}");
        let told = trial.diagnoses().join("\n");
        assert!(told.contains("10 of 40 runs failed"), "{told}");
    }
    let mut trial = open(asked(Side::AtMost, 0.75, Some(1.0), Some(0.75)));
    for failed in ["the only run failed: it lacks", "all 2 runs failed: they lack"] {
        trial.push(&Run { outcome: Outcome::Failed(1), ..Run::of(0, 1.0) }).unwrap();
        let told = trial.diagnoses().join("\n");
        assert!(told.contains(failed), "{told}");
    }
}

/// The interval comes before what a narrow terminal cuts; once the answer is known, nothing is left to estimate.
#[test]
fn progress_shows_the_interval_and_the_rest_of_a_file() {
    let mut trial = open(asked(Side::AtMost, 0.5, None, None));
    let push = |trial: &mut Box<dyn Trial>, value| trial.push(&Run::of(0, value)).unwrap();
    push(&mut trial, 1.0);
    let state = trial.state();
    assert!(state.text.starts_with("1 run, 1 good, [") && state.left.is_some(), "{state:?}");
    while !trial.is_settled() {
        push(&mut trial, 1.0);
    }
    let decided = trial.findings()[0].n;
    (0..5).for_each(|_| push(&mut trial, 1.0));
    let state = trial.state();
    let begins = format!("{0} runs, {0} good, [", decided + 5);
    assert!(state.text.starts_with(&begins) && state.left.is_none(), "{state:?}");
    assert!(state.text.ends_with("; yes, and the rest is read"), "{state:?}");
    // What bursts may explain is said next to the figures.
    let mut trial = open(asked(Side::AtMost, 0.93, None, None));
    (0..60).for_each(|_| push(&mut trial, 9.0));
    let state = trial.state();
    assert!(state.text.contains("; no, unless bad runs come in bursts"), "{state:?}");
    assert!(state.text.len() <= 77, "{state:?}");
}

/// A set that is resampled is whole before it decides; what is begun is not counted.
#[test]
fn only_whole_sets_decide() {
    let of_sets = |size| Slo { set: Some(size), ..asked(Side::AtMost, 0.5, Some(1.0), None) };
    let alone = {
        let mut trial = open(of_sets(1));
        while !trial.is_settled() {
            trial.push(&Run::of(0, 1.0)).unwrap();
        }
        trial.findings()[0].n
    };
    let mut trial = open(of_sets(alone + 3));
    for run in 1..alone + 3 {
        trial.push(&Run::of(0, 1.0)).unwrap();
        assert_eq!((trial.answer(), trial.findings()[0].n), (Answer::Undecided, 0), "{run}");
    }
    let said = trial.diagnoses();
    let runs = alone + 2;
    assert_eq!(said, [format!("the last set is not whole, and its {runs} runs are not counted")]);
    trial.push(&Run::of(0, 1.0)).unwrap();
    assert_eq!((trial.answer(), trial.findings()[0].n), (Answer::Yes, alone + 3));
    assert!(trial.diagnoses().is_empty());
}
