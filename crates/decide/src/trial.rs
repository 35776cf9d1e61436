//! From runs to a verdict: the one path for live measurements, streams and logs.
//!
//! # Contract
//! A trial is a function of its hypothesis and the runs pushed into it, and of nothing else, so `unc verdict`
//! recomputes a verdict from the log bit for bit.
//! # Evidence
//! `crates/cli/tests/decide_verdict.rs`.

use crate::Failure;
use crate::record::{Head, Run, Stop};
use crate::verdict::{About, Answer, Evidence, Finding, Holds, SCHEMA, Verdict};
use std::fmt::Debug;
use uncontended_figures::{count, progress::State};
use uncontended_stats::{self as stats, Counts, Report};

/// The state of a question under trial.
pub trait Trial: Debug {
    /// Takes one run.
    ///
    /// # Errors
    /// If the run has no meaning for the question.
    fn push(&mut self, run: &Run) -> Result<(), Failure>;

    /// The answer so far.
    fn answer(&self) -> Answer;

    /// Whether no further run could change anything.
    fn is_settled(&self) -> bool {
        self.answer() != Answer::Undecided
    }

    /// Why the runs so far permit no verdict, if so.
    fn refusal(&self) -> Option<Failure> {
        None
    }

    /// The commands, by number, that the next block has to run.
    fn active(&self) -> Vec<usize> {
        vec![0]
    }

    /// The state, with the current interval and an estimate of how many runs are left.
    fn state(&self) -> State;

    /// Which easier question this many more runs would decide, as advice.
    fn decidable(&self, _runs: u64) -> Option<String> {
        None
    }

    /// The state of each test: one finding, or one per candidate.
    fn findings(&self) -> Vec<Finding>;

    /// The findings, with the parts that need a sort of all runs.
    fn findings_in_full(&self) -> Vec<Finding> {
        self.findings()
    }

    /// The ratios of each candidate to the baseline, in the order of the blocks, if there are any.
    fn ratios(&self) -> Vec<Vec<f64>> {
        Vec::new()
    }

    /// The costs of the baseline and of the first candidate, in the order of the blocks, if there are any.
    fn pairs(&self) -> Vec<[f64; 2]> {
        Vec::new()
    }

    /// When the stated error bound holds.
    fn error_holds(&self) -> Holds {
        Holds::AsStated
    }

    /// Evidence that the runs are not sound or not independent.
    fn diagnoses(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Refuses a run of a command that the question does not have, and a value that is not a number.
pub(crate) fn check(run: &Run, commands: usize) -> Result<(), Failure> {
    if run.arm >= commands {
        return Err(Failure::new(format!("there is no command number {}", run.arm), ""));
    }
    match run.value {
        Some(value) if value.is_nan() => Err(Failure::new(
            format!("a run of command number {} has a value that is not a number", run.arm),
            "give a run without a value an outcome other than `Ok`",
        )),
        _ => Ok(()),
    }
}

/// The verdict of a trial so far, with everything that supports it.
#[must_use]
pub fn verdict(trial: &dyn Trial, head: &Head, stop: Stop) -> Verdict {
    let asked = head.hypothesis.asked();
    let findings = trial.findings_in_full();
    debug_assert!(findings.iter().all(Finding::is_in_order), "{findings:?}");
    let finding = worst(&findings);
    let comparisons = if finding.pairs().is_some() { findings } else { Vec::new() };
    let mut warnings = head.warnings.clone();
    warnings.extend(trial.diagnoses());
    Verdict {
        schema: SCHEMA,
        question: asked.sentence(),
        finding,
        max_error: asked.max_error(),
        error_holds: trial.error_holds(),
        stopped_by: stop,
        comparisons,
        hypothesis: head.hypothesis.clone(),
        warnings,
        seed: head.seed.clone(),
        machine: head.machine.clone(),
        origin: head.origin.clone(),
        circumstances: head.circumstances.clone(),
        log: None,
        runs: None,
    }
}

/// The finding that the whole verdict rests on.
fn worst(findings: &[Finding]) -> Finding {
    let worst = findings.iter().rev().max_by_key(|finding| finding.verdict.badness());
    worst.expect("every trial has a finding").clone()
}

/// How many more trials it takes, at least, to decide a question: if they continue as so far or, within the spread of
/// what was seen, in whichever way decides sooner. Allowing for the spread keeps the estimate steady when the rate is
/// near the threshold. None if it is more than a billion.
#[must_use]
pub fn remaining(question: &stats::Question, counts: Counts) -> Option<u64> {
    let n = counts.trials() as f64 + 1.0;
    // Half a failure and half a success are added, so that a perfect start does not promise too much.
    let seen = (counts.successes() as f64 + 0.5) / n;
    let spread = (seen * (1.0 - seen) / n).sqrt();
    let ways =
        [seen - spread, seen + spread].map(|rate| more(question, counts, rate.clamp(0.0, 1.0)));
    ways.into_iter().flatten().min()
}

/// [`remaining`] as a phrase.
#[must_use]
pub fn more_to_decide(remaining: Option<u64>) -> String {
    match remaining {
        Some(more) => format!("about {} more", count(more)),
        None => "more than a billion more".to_string(),
    }
}

/// How many more trials decide, if this share of them succeeds.
fn more(question: &stats::Question, counts: Counts, rate: f64) -> Option<u64> {
    let decides = |more: u64| {
        let trials = counts.trials().saturating_add(more);
        let successes = counts.successes() + (rate * more as f64).round() as u64;
        Counts::new(trials, successes.min(trials))
            .is_ok_and(|counts| question.verdict(counts) != stats::Verdict::Undecided)
    };
    let high = (0..31).map(|power| 1 << power).find(|&more| decides(more))?;
    let (mut low, mut high) = (high / 2, high);
    while high - low > (high / 16).max(1) {
        let middle = low + (high - low) / 2;
        if decides(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The finding about a rate: the report, with the evidence against both sides of its thresholds.
#[must_use]
pub fn finding_about(
    rate: f64,
    or_below: Option<f64>,
    report: &Report,
    decided_by: &str,
    about: About,
) -> Finding {
    Finding {
        verdict: report.verdict.into(),
        n: report.counts.trials(),
        successes: report.counts.successes(),
        decided_by: decided_by.to_string(),
        evidence: evidence_about(rate, or_below, report),
        interval: report.interval.into(),
        credible: report.credible.into(),
        about,
    }
}

/// One entry per threshold: a single one for both sides, or the lower for "above" and the upper for "below".
fn evidence_about(rate: f64, or_below: Option<f64>, report: &Report) -> Vec<Evidence> {
    let [above, below] = report.evidence.map(|side| Some(side.log_evidence));
    let needed = report.evidence[0].needed;
    let entry = |threshold, above, below| Evidence { threshold, above, below, needed };
    match or_below {
        None => vec![entry(rate, above, below)],
        Some(low) => vec![entry(low, above, None), entry(rate, None, below)],
    }
}
