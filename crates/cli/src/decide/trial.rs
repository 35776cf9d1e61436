//! From runs to a verdict: the one path that live measurements, streams and logs all take.
//!
//! # Contract
//! A trial is a function of its hypothesis and the runs pushed into it, and of nothing else, so that `unc verdict`
//! recomputes a verdict from the log bit for bit.
//! # Evidence
//! `tests/decide_verdict.rs`.

use super::dealing::DealTrial;
use super::hypothesis::Hypothesis;
use super::pairs::PairTrial;
use super::rates::RateTrial;
use super::record::{Head, Run, Stop};
use super::verdict::{Answer, Evidence, Finding, SCHEMA, Verdict};
use crate::failure::Failure;
use uncontended_stats::{self as stats, Counts, Question, Report};

/// A hypothesis being tried.
#[derive(Debug, Clone)]
pub(crate) enum Trial {
    /// A rate.
    Slo(RateTrial),
    /// Paired ratios.
    Compare(PairTrial),
    /// Dealings of labels.
    Permute(DealTrial),
}

impl Trial {
    /// A trial that has seen nothing; that of a permutation test is made at once.
    pub(crate) fn new(hypothesis: &Hypothesis) -> Result<Trial, Failure> {
        match hypothesis {
            Hypothesis::Slo(slo) => Ok(Trial::Slo(RateTrial::new(slo)?)),
            Hypothesis::Compare(compare) => Ok(Trial::Compare(PairTrial::new(compare)?)),
            Hypothesis::Permute(permute) => Ok(Trial::Permute(DealTrial::again(permute, None)?)),
        }
    }

    /// Takes one run.
    pub(crate) fn push(&mut self, run: &Run) -> Result<(), Failure> {
        match self {
            Trial::Slo(trial) => {
                trial.push(run);
                Ok(())
            }
            Trial::Compare(trial) => trial.push(run),
            Trial::Permute(_) => Err(Failure::new("a permutation test has no runs of its own", "")),
        }
    }

    /// The answer so far.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Trial::Slo(trial) => trial.answer(),
            Trial::Compare(trial) => trial.answer(),
            Trial::Permute(trial) => trial.answer(),
        }
    }

    /// Whether further runs could not change anything.
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Trial::Slo(_) => self.answer() != Answer::Undecided,
            Trial::Compare(trial) => trial.is_settled(),
            Trial::Permute(_) => true,
        }
    }

    /// Why no verdict can be given of what was run, if so.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        match self {
            Trial::Compare(trial) => trial.refusal(),
            Trial::Slo(_) | Trial::Permute(_) => None,
        }
    }

    /// The question as a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Trial::Slo(trial) => trial.asked().sentence(),
            Trial::Compare(trial) => trial.asked().sentence(),
            Trial::Permute(trial) => trial.asked().sentence(),
        }
    }

    /// One line about how it stands, with the current interval and about how many runs are left.
    pub(crate) fn state(&self) -> String {
        match self {
            Trial::Slo(trial) => trial.state(),
            Trial::Compare(trial) => trial.state(),
            Trial::Permute(trial) => trial.asked().sentence(),
        }
    }

    /// What each test says so far: one finding, or in `compare` one for each candidate.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        match self {
            Trial::Slo(trial) => vec![trial.finding()],
            Trial::Compare(trial) => trial.findings(),
            Trial::Permute(trial) => vec![trial.finding()],
        }
    }

    /// The verdict so far, with everything that supports it.
    pub(crate) fn verdict(&self, head: &Head, stop: Stop) -> Verdict {
        let findings = self.findings();
        let max_error = match self {
            Trial::Slo(trial) => trial.asked().max_error,
            Trial::Compare(trial) => trial.asked().max_error,
            Trial::Permute(trial) => trial.asked().max_error,
        };
        let mut finding = worst(&findings);
        let comparisons = if matches!(self, Trial::Compare(_)) { findings } else { Vec::new() };
        let mut warnings = head.warnings.clone();
        match self {
            Trial::Slo(trial) => {
                finding.quantile = trial.percentile();
                warnings.extend(trial.diagnoses());
            }
            Trial::Compare(trial) => warnings.extend(trial.diagnoses()),
            Trial::Permute(_) => {}
        }
        Verdict {
            schema: SCHEMA,
            question: self.sentence(),
            finding,
            max_error,
            stopped_by: stop,
            comparisons,
            hypothesis: head.hypothesis.clone(),
            warnings,
            seed: head.seed.clone(),
            log: None,
            runs: None,
        }
    }
}

/// Of several findings the one that the whole verdict rests on.
fn worst(findings: &[Finding]) -> Finding {
    let worst = findings.iter().rev().max_by_key(|finding| finding.verdict.badness());
    worst.expect("every trial has a finding").clone()
}

/// How many more trials decide a question at least, as a phrase: if they go on as they did so far or, within the spread of
/// what was seen, in whichever way decides sooner. The spread keeps the number from leaping where the rate is near the threshold.
pub(crate) fn remaining(question: &Question, counts: Counts) -> String {
    let n = counts.trials() as f64 + 1.0;
    // Half a failure and half a success are added, so that a pure start does not promise too much.
    let seen = (counts.successes() as f64 + 0.5) / n;
    let spread = (seen * (1.0 - seen) / n).sqrt();
    let ways =
        [seen - spread, seen + spread].map(|rate| more(question, counts, rate.clamp(0.0, 1.0)));
    match ways.into_iter().flatten().min() {
        Some(more) => format!("at least about {more} more to decide"),
        None => "more than a billion more to decide".to_string(),
    }
}

/// How many more trials decide, if so many of them succeed.
fn more(question: &Question, counts: Counts, rate: f64) -> Option<u64> {
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

/// The finding about a rate: what `report` says, with the evidence against both sides of its thresholds.
pub(crate) fn finding_about(
    rate: f64,
    or_below: Option<f64>,
    report: &Report,
    decided_by: &str,
) -> Finding {
    Finding {
        candidate: None,
        verdict: report.verdict.into(),
        n: report.counts.trials(),
        successes: report.counts.successes(),
        log_criterion: Some(report.log_criterion),
        decided_by: decided_by.to_string(),
        evidence: evidence_about(rate, or_below, report),
        interval: report.interval.into(),
        credible: report.credible.into(),
        effect: None,
        relation: None,
        tails: None,
        lost_pairs: None,
        dependence: None,
        difference: None,
        p_value: None,
        quantile: None,
    }
}

/// One entry a threshold: a single one for both sides, or the lower for "above" and the upper for "below".
fn evidence_about(rate: f64, or_below: Option<f64>, report: &Report) -> Vec<Evidence> {
    let [above, below] = report.evidence.map(|side| Some(side.log_evidence));
    let needed = report.evidence[0].needed;
    let entry = |threshold, above, below| Evidence { threshold, above, below, needed };
    match or_below {
        None => vec![entry(rate, above, below)],
        Some(low) => vec![entry(low, above, None), entry(rate, None, below)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_stats::{MaxError, Method, Rate, Rng};

    /// The estimate may fall and rise, but does not leap: not by more than half from one hundredth of the runs to the next.
    #[test]
    fn what_remains_does_not_leap() {
        for (asked, truth) in [(0.9, 0.9), (0.9, 0.93), (0.5, 0.52), (0.99, 0.985)] {
            let rate = Rate::new(asked).unwrap();
            let question = Question::about(rate, Method::OneSided, MaxError::new(0.001).unwrap());
            let (mut rng, mut counts, mut last) = (Rng::new(3), Counts::default(), None);
            while question.verdict(counts) == stats::Verdict::Undecided && counts.trials() < 3000 {
                counts.push(rng.chance(truth));
                if counts.trials() < 200 || counts.trials() % (counts.trials() / 100) != 0 {
                    continue;
                }
                let text = remaining(&question, counts);
                let words: Vec<&str> = text.split(' ').collect();
                assert_eq!(words[..2], ["at", "least"], "{text} after {counts:?}");
                let now: f64 = words[3].parse().unwrap();
                if let Some(last) = last.replace(now) {
                    let n = counts.trials() as f64;
                    let leap = (now + 0.1 * n) / (last + 0.1 * n);
                    assert!((0.5..2.0).contains(&leap), "{last} {now} after {counts:?}");
                }
            }
        }
    }
}
