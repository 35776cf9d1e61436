//! Every way in which the driver stops, and its report.

mod common;

use common::{counts, error, rate};
use std::ops::ControlFlow;
use std::time::Duration;
use uncontended_stats::{Limits, Method, Question, Stopped, Verdict, drive};

fn question() -> Question {
    Question::new(rate(0.9), Some(rate(0.8)), Method::OneSided, error(1e-3)).unwrap()
}

#[test]
fn each_limit_ends_the_trials_and_leaves_the_question_open() {
    let go_on = |_: &_| ControlFlow::Continue(());
    let trials = Limits { trials: Some(7), time: None };
    let (report, why) = drive(question(), trials, go_on, || Some(true));
    assert_eq!((report.verdict, why), (Verdict::Undecided, Stopped::Trials));
    assert_eq!(report.counts, counts(7, 7));

    let time = Limits { trials: None, time: Some(Duration::from_millis(5)) };
    let slow = || {
        std::thread::sleep(Duration::from_millis(2));
        Some(true)
    };
    let (report, why) = drive(question(), time, go_on, slow);
    assert_eq!((report.verdict, why), (Verdict::Undecided, Stopped::Time));
    assert!(report.counts.trials() <= 3, "{:?}", report.counts);

    let mut outcomes = [true, false, true].into_iter();
    let (report, why) = drive(question(), Limits::default(), go_on, || outcomes.next());
    assert_eq!((report.verdict, why), (Verdict::Undecided, Stopped::Exhausted));
    assert_eq!(report.counts, counts(3, 2));
}

#[test]
fn the_callback_sees_every_trial_and_may_end_them() {
    let mut seen = Vec::new();
    let progress = |judge: &uncontended_stats::Judge| {
        seen.push(judge.counts().trials());
        if seen.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let (report, why) = drive(question(), Limits::default(), progress, || Some(true));
    assert_eq!((report.verdict, why), (Verdict::Undecided, Stopped::Asked));
    assert_eq!((report.counts, seen), (counts(4, 4), vec![1, 2, 3, 4]));
}

#[test]
fn a_verdict_ends_them_with_everything_that_supports_it() {
    let (report, why) =
        drive(question(), Limits::default(), |_| ControlFlow::Continue(()), || Some(false));
    assert_eq!((report.verdict, why), (Verdict::No, Stopped::Decided));
    // "No" refutes the upper threshold, and took the fewest trials that could.
    assert!(
        report.interval.1 < 0.9 && report.evidence[1].log_evidence >= report.evidence[1].needed
    );
    assert_eq!(question().next_decision(counts(0, 0)), report.counts.trials());
}
