//! The trial of a rate: how many runs have the property, where the percentile lies, whether runs depend on each other.
//!
//! # Contract
//! The verdict is the judge's. A percentile that was asked about has an interval of its own beside it, valid over all
//! looks; without an indifference zone both are right together with one and the same error, since either is wrong only if
//! too many, or too few, values lie at or below the true percentile. That runs which lack the property follow upon each
//! other is a warning, wrong at most once in a thousand trials.
//! # Evidence
//! `tests/decide_slo.rs`, `truth.rs`.

use super::hypothesis::{Bound, Side, Slo};
use super::record::{Outcome, Run};
use super::trial::{finding_about, remaining};
use super::value;
use super::verdict::{Answer, Finding, Percentile};
use crate::failure::Failure;
use uncontended_stats::two_streams::{Higher, TwoStreams};
use uncontended_stats::{Counts, Judge, MaxError, Rate, Report, quantile};

/// The trial of a rate.
#[derive(Debug, Clone)]
pub(crate) struct RateTrial {
    slo: Slo,
    judge: Judge,
    /// Every value, where a percentile is asked about. A run that failed is worse than any value.
    values: Option<Vec<f64>>,
    links: Links,
    runs: u64,
    failed: u64,
}

impl RateTrial {
    /// A trial that has seen nothing.
    pub(crate) fn new(slo: &Slo) -> Result<RateTrial, Failure> {
        Ok(RateTrial {
            slo: slo.clone(),
            judge: Judge::new(slo.question()?),
            values: slo.quantile.map(|_| Vec::new()),
            links: Links::new()?,
            runs: 0,
            failed: 0,
        })
    }

    /// Takes one run.
    pub(crate) fn push(&mut self, run: &Run) {
        // A run that failed or was killed for its time does not have the property, whatever it shows.
        let value = run.value.filter(|_| run.outcome == Outcome::Ok);
        let bound = self.slo.bound.as_ref();
        let good = |bound: &Bound| value.is_some_and(|value| bound.holds(value));
        let success = bound.is_some_and(good);
        if let Some(values) = &mut self.values {
            let worst = match bound {
                Some(Bound { side: Side::AtLeast, .. }) => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            };
            values.push(value.unwrap_or(worst));
        }
        self.runs += 1;
        self.failed += u64::from(run.outcome != Outcome::Ok);
        self.links.push(success);
        self.judge.push(success);
    }

    /// What is asked.
    pub(crate) fn asked(&self) -> &Slo {
        &self.slo
    }

    /// The answer so far.
    pub(crate) fn answer(&self) -> Answer {
        self.judge.verdict().into()
    }

    /// One line about how it stands.
    pub(crate) fn state(&self) -> String {
        let (question, counts) = (self.judge.question(), self.judge.counts());
        let (low, high) = question.report(counts).interval;
        let left = remaining(question, counts);
        format!(
            "{} runs, {} good: the rate is within {}; {left}",
            counts.trials(),
            counts.successes(),
            value::rate_interval(low, high, 4)
        )
    }

    /// The finding, but for the percentile, which takes a sort.
    pub(crate) fn finding(&self) -> Finding {
        finding(&self.slo, &self.judge.question().report(self.judge.counts()))
    }

    /// Where the percentile lies that was asked about.
    pub(crate) fn percentile(&self) -> Option<Percentile> {
        let rate = Rate::new(self.slo.quantile?).ok()?;
        let max_error = MaxError::new(self.slo.max_error).ok()?;
        let mut sorted = self.values.clone()?;
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as u64;
        let (low, high) = quantile::ranks(n, rate, self.slo.method.method(), max_error);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let at = |rank: Option<u64>| finite(*sorted.get(usize::try_from(rank?).ok()?)?);
        let value = quantile::of_sorted(&sorted, rate).and_then(finite);
        Some(Percentile { rate: rate.get(), value, low: at(low), high: at(high) })
    }

    /// What speaks against the runs' being sound and independent.
    pub(crate) fn diagnoses(&self) -> Vec<String> {
        let failed = (self.failed > 0).then(|| {
            format!(
                "{} of {} runs failed: they lack the property, whatever they show",
                self.failed, self.runs
            )
        });
        failed.into_iter().chain(self.links.diagnosis()).collect()
    }
}

/// How an outcome depends on the one before it: outcomes after a good run against outcomes after a bad one.
#[derive(Debug, Clone)]
struct Links {
    last: Option<bool>,
    /// What came after a bad run, and after a good one.
    after: [Counts; 2],
    /// The first outcome of either kind since the last pair. A later one must not replace it: which one stands here would
    /// depend on what it is.
    waiting: [Option<bool>; 2],
    streams: TwoStreams,
}

impl Links {
    /// Chance of a warning where there is nothing to warn of.
    const FALSE_ALARM: f64 = 1e-3;

    fn new() -> Result<Links, Failure> {
        let max_error = MaxError::new(Links::FALSE_ALARM)
            .map_err(|error| Failure::new(error.to_string(), ""))?;
        Ok(Links {
            last: None,
            after: [Counts::default(); 2],
            waiting: [None; 2],
            streams: TwoStreams::new(max_error),
        })
    }

    fn push(&mut self, success: bool) {
        if let Some(last) = self.last.replace(success).map(usize::from) {
            self.after[last].push(success);
            self.waiting[last].get_or_insert(success);
            if let [Some(bad), Some(good)] = self.waiting {
                self.waiting = [None; 2];
                // Evidence is gathered until it suffices.
                if self.streams.higher() == Higher::Unknown {
                    self.streams.push(bad, good);
                }
            }
        }
    }

    fn diagnosis(&self) -> Option<String> {
        let clustered = match self.streams.higher() {
            Higher::Unknown => return None,
            Higher::A => "less",
            Higher::B => "more",
        };
        let [after_bad, after_good] = self.after.map(|counts| {
            format!("{} of {}", counts.trials() - counts.successes(), counts.trials())
        });
        Some(format!(
            "a run that lacks the property makes the next one {clustered} likely to lack it ({after_bad} lacked it after such a run, {after_good} after a good one): the runs are not independent, so the error is not bounded as said"
        ))
    }
}

/// The finding about a rate after certain counts.
pub(crate) fn finding(slo: &Slo, report: &Report) -> Finding {
    finding_about(slo.rate, slo.or_below, report, slo.method.name())
}
