//! Several metrics and percentiles of the same runs.
//!
//! # Contract
//! Each aspect is a question of its own with an equal share of the error (Bonferroni), so that the chance of any wrong
//! verdict is bounded, whatever the aspects have in common. All read the same runs; an aspect that is settled no longer
//! takes any.
//! # Evidence
//! `crates/cli/tests/decide_aspects.rs`.

use super::compare::Source;
use super::{ComparePlan, DEFAULT_METRIC, Limits, Runs, Told};
use crate::metric::Metric;
use crate::progress::Silent;
use crate::question::{Compare, Question};
use crate::session::Session;
use crate::verdict::Verdict;
use crate::{Failure, value};
use uncontended_figures::percentile;
use uncontended_stats::MaxError;

/// How the values of a metric are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// By the median of the paired ratios.
    Median,
    /// By this percentile of all runs, as a share.
    Percentile(f64),
}

impl Statistic {
    /// Reads `median`, or a percentile such as `p90`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Statistic, String> {
        match text {
            "median" => Ok(Statistic::Median),
            _ => value::percentile(text).map(Statistic::Percentile),
        }
    }
}

/// What is compared of the runs: a metric, by its paired ratios or by a percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct Aspect {
    /// The metric, by its name.
    pub metric: String,
    /// The percentile, instead of the median of the paired ratios.
    pub quantile: Option<f64>,
}

impl Aspect {
    /// Each of these metrics by each of these statistics; without any, the usual metric, or by the median.
    #[must_use]
    pub fn all(metrics: &[String], statistics: &[Statistic]) -> Vec<Aspect> {
        let statistics = if statistics.is_empty() { &[Statistic::Median] } else { statistics };
        let aspect = |metric: &String, statistic: &Statistic| Aspect {
            metric: metric.clone(),
            quantile: match statistic {
                Statistic::Median => None,
                Statistic::Percentile(rate) => Some(*rate),
            },
        };
        let usual = [DEFAULT_METRIC.to_owned()];
        let metrics = if metrics.is_empty() { &usual } else { metrics };
        let of_metric = |metric| statistics.iter().map(move |statistic| aspect(metric, statistic));
        metrics.iter().flat_map(of_metric).collect()
    }

    /// As it is called: "max-rss", "p90 of wall".
    #[must_use]
    pub fn name(&self) -> String {
        match self.quantile {
            None => self.metric.clone(),
            Some(rate) => format!("{} of {}", percentile(rate), self.metric),
        }
    }
}

/// The verdict about one of several questions, with its name.
pub type Judged = (String, Result<Verdict, Failure>);

impl ComparePlan {
    /// The verdicts about all aspects of the same runs, by their names.
    ///
    /// # Errors
    /// If the question makes no sense. What ends the runs is an error of those aspects that were not settled.
    pub fn verdicts(&self, told: Told) -> Result<Vec<Judged>, Failure> {
        let Source::Commands(commands) = &self.source else {
            return Err(Failure::new(
                "several metrics or percentiles are read from runs, which are made now",
                "name commands, or ask one question at a time",
            ));
        };
        if self.limits.log.is_some() {
            return Err(Failure::new(
                "a log is about one metric and one percentile",
                "leave out `Limits::log` (JSON has the runs), or ask one question at a time",
            ));
        }
        let aspects = self.aspects();
        if let Some(twice) = (1..aspects.len()).find(|&at| aspects[..at].contains(&aspects[at])) {
            let cause = format!("{} is asked about twice", aspects[twice].name());
            return Err(Failure::new(cause, "name each once"));
        }
        let verdicts = self.judge_commands(commands, told)?;
        Ok(aspects.iter().map(Aspect::name).zip(verdicts).collect())
    }

    /// Everything that is asked about, the first first.
    fn aspects(&self) -> Vec<Aspect> {
        let first = Aspect { metric: self.runs.metric_name().to_owned(), quantile: self.quantile };
        std::iter::once(first).chain(self.also.iter().cloned()).collect()
    }

    /// The plan and the metric of each aspect.
    pub(super) fn parts(&self) -> Result<Vec<(ComparePlan, Metric)>, Failure> {
        let aspects = self.aspects();
        let part = |aspect: &Aspect| {
            let plan = self.about(aspect, aspects.len())?;
            let metric = plan.runs.metric()?;
            Ok((plan, metric))
        };
        let parts: Vec<(ComparePlan, Metric)> =
            aspects.iter().map(part).collect::<Result<_, Failure>>()?;
        if parts.len() > 1 && parts.iter().any(|(_, metric)| metric.is_exit_status()) {
            return Err(Failure::new(
                "with exit-status, runs that fail are values; with other metrics, they are lost",
                "ask about exit-status alone",
            ));
        }
        Ok(parts)
    }

    /// The plan of one of `of` aspects, with its share of the error.
    fn about(&self, aspect: &Aspect, of: usize) -> Result<ComparePlan, Failure> {
        let share = MaxError::new(self.limits.max_error)
            .map_err(|error| Failure::new(error.to_string(), "see `Limits::max_error`"))?
            .split(u32::try_from(of).unwrap_or(u32::MAX));
        Ok(ComparePlan {
            quantile: aspect.quantile,
            runs: Runs { metric: Some(aspect.metric.clone()), ..self.runs.clone() },
            limits: Limits { max_error: share.get(), ..self.limits.clone() },
            ..self.clone()
        })
    }
}

impl Limits {
    /// A session for each question, with its warnings; the first shows its progress.
    pub(super) fn sessions(
        &self,
        asked: Vec<(Compare, Vec<String>)>,
        runs: &Runs,
        seed: u64,
        told: Told,
    ) -> Result<Vec<Session>, Failure> {
        let (mut sessions, mut progress) = (Vec::new(), told.progress);
        for (compare, warnings) in asked {
            let setting = self.setting(seed, None, warnings, told.keep_runs).of_commands(runs);
            let mut session = Session::open(Question::Compare(compare), setting, progress)?;
            progress = std::mem::replace(&mut session.progress, Box::new(Silent));
            sessions.push(session);
        }
        if let Some(first) = sessions.first_mut() {
            first.progress = progress;
        }
        Ok(sessions)
    }
}
