//! The trial of a permutation test: it resamples the labels itself, from a seed, and takes no runs.
//!
//! # Contract
//! The result is a function of the hypothesis (values, statistic, level, budget, seed) and, where the clock or the user
//! stopped the test, of the number of resamples.

use crate::Failure;
use crate::question::Permute;
use crate::record::Run;
use crate::trial::{Trial, finding_about};
use crate::verdict::{About, Answer, Finding, OfResampling};
use std::ops::ControlFlow;
use std::time::Duration;
use uncontended_figures::progress::State;
use uncontended_stats::{
    self as stats, Limits, MaxError, Method, Permutation, Rate, Report, Sides, Significance,
    Statistic, Stopped,
};

/// A finished permutation test.
#[derive(Debug, Clone)]
pub struct ResampleTrial {
    permute: Permute,
    found: Significance,
}

impl Permute {
    /// The question as `stats` asks it.
    pub fn question(&self) -> Result<stats::Question, Failure> {
        let invalid = |error: uncontended_stats::Invalid| {
            Failure::new(error.to_string(), "see `PermutePlan::level` and `PermutePlan::or_below`")
        };
        let rate = |rate| Rate::new(rate).map_err(invalid);
        let max_error = MaxError::new(self.max_error).map_err(invalid)?;
        let or_below = self.or_below.map(rate).transpose()?;
        stats::Question::new(rate(self.level)?, or_below, Method::OneSided, max_error)
            .map_err(invalid)
    }

    fn statistic(&self) -> Result<Statistic, Failure> {
        match self.statistic.as_str() {
            "mean" => Ok(Statistic::Mean),
            "median" => Ok(Statistic::Median),
            "max" => Ok(Statistic::Max),
            other => {
                let rate = uncontended_figures::read::percentile(other)
                    .ok()
                    .and_then(|rate| Rate::new(rate).ok());
                let unknown = || {
                    Failure::new(
                        format!("there is no statistic '{other}'"),
                        "use mean, median, max or a percentile such as p99",
                    )
                };
                rate.map(Statistic::Quantile).ok_or_else(unknown)
            }
        }
    }

    /// The test of the question's own values.
    fn own_test(&self, seed: u64) -> Result<Permutation, Failure> {
        let a: Vec<f64> = self.a.iter().map(|value| self.expected_of(*value)).collect();
        if self.more.is_empty() {
            return self.test(&a, &self.b, seed);
        }
        let more = self.more.iter().map(Vec::as_slice);
        let groups: Vec<&[f64]> = [a.as_slice(), &self.b].into_iter().chain(more).collect();
        Permutation::among(&groups, self.statistic()?, seed).map_err(unsuitable)
    }

    /// The test of these values.
    pub fn test(&self, a: &[f64], b: &[f64], seed: u64) -> Result<Permutation, Failure> {
        let sides = if self.two_sided { Sides::Both } else { Sides::Upper };
        Permutation::new(a, b, self.statistic()?, sides, seed).map_err(unsuitable)
    }
}

fn unsuitable(error: stats::Invalid) -> Failure {
    Failure::new(error.to_string(), "each group needs finite values")
}

impl ResampleTrial {
    /// Runs the test. `progress` is called after every resample and may stop it; so does the time limit `most`.
    pub fn new(
        permute: &Permute,
        most: Option<Duration>,
        progress: impl FnMut(&uncontended_stats::Judge) -> ControlFlow<()>,
    ) -> Result<ResampleTrial, Failure> {
        let seed: u64 =
            permute.seed.parse().map_err(|_| Failure::new("the seed is not a whole number", ""))?;
        let limits = Limits { trials: Some(permute.most_resamples), time: most };
        let mut test = permute.own_test(seed)?;
        let found = test.test(permute.question()?, limits, progress);
        Ok(ResampleTrial { permute: permute.clone(), found })
    }

    /// Runs the test again up to `resamples`, or to the end of its budget if that number is not known.
    pub fn again(permute: &Permute, resamples: Option<u64>) -> Result<ResampleTrial, Failure> {
        ResampleTrial::new(permute, None, |judge| match resamples {
            Some(resamples) if judge.counts().trials() >= resamples => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    }

    /// Why the test stopped.
    pub fn stopped(&self) -> Stopped {
        self.found.stopped
    }
}

impl Trial for ResampleTrial {
    fn push(&mut self, _: &Run) -> Result<(), Failure> {
        Err(Failure::new("a permutation test has no runs of its own", ""))
    }

    fn answer(&self) -> Answer {
        self.found.verdict.into()
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn state(&self) -> State {
        State { text: self.permute.sentence(), ..State::default() }
    }

    fn findings(&self) -> Vec<Finding> {
        let Significance { observed, p_value, report, .. } = &self.found;
        vec![Finding {
            verdict: self.answer(),
            ..finding(&self.permute, report, *observed, *p_value)
        }]
    }
}

/// The finding about the p-value: the rate of resamples at least as extreme as the observed difference.
#[must_use]
pub fn finding(permute: &Permute, report: &Report, difference: f64, p_value: f64) -> Finding {
    let about = OfResampling { log_criterion: report.log_criterion, difference, p_value };
    let about = About::Resampling(about);
    // The judge's "yes" is "the p-value is at least the level", from above the lower threshold.
    Finding {
        verdict: Answer::Undecided,
        ..finding_about(permute.level, permute.or_below, report, "permutation", about)
    }
}
