//! Runs trials until a question is decided or a limit is reached.
//!
//! # Contract
//! The verdict is the judge's; a limit can only leave it undecided. Limits must not depend on the outcomes.
//! # Evidence
//! tests/driver_stops.rs.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::judge::{Judge, Question, Report, Verdict};

/// When to give up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most trials.
    pub trials: Option<u64>,
    /// Longest time, checked between trials.
    pub time: Option<Duration>,
}

/// Why the trials stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A verdict was reached.
    Decided,
    /// The limit of trials was reached.
    Trials,
    /// The limit of time was reached.
    Time,
    /// The progress callback asked to stop.
    Asked,
    /// There were no more outcomes.
    Exhausted,
}

/// Calls `trial` until its chance of success answers `question`, a limit is reached, it has no more outcomes (`None`),
/// or `progress`, called after every trial, breaks.
///
/// ```
/// use std::ops::ControlFlow;
/// use uncontended_stats::{Limits, MaxError, Method, Question, Rate, Stopped, Verdict, drive};
/// let question = Question::new(Rate::new(0.99)?, Some(Rate::new(0.9)?), Method::OneSided, MaxError::new(1e-3)?)?;
/// let (report, why) = drive(question, Limits::default(), |_| ControlFlow::Continue(()), || Some(true));
/// assert_eq!((report.verdict, why), (Verdict::Yes, Stopped::Decided));
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
pub fn drive(
    question: Question,
    limits: Limits,
    mut progress: impl FnMut(&Judge) -> ControlFlow<()>,
    mut trial: impl FnMut() -> Option<bool>,
) -> (Report, Stopped) {
    let start = Instant::now();
    let mut judge = Judge::new(question);
    let why = loop {
        if limits.trials.is_some_and(|most| judge.counts().trials() >= most) {
            break Stopped::Trials;
        }
        if limits.time.is_some_and(|most| start.elapsed() >= most) {
            break Stopped::Time;
        }
        let Some(success) = trial() else { break Stopped::Exhausted };
        if judge.push(success) != Verdict::Undecided {
            break Stopped::Decided;
        }
        if progress(&judge).is_break() {
            break Stopped::Asked;
        }
    };
    (question.report(judge.counts()), why)
}
