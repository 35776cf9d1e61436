//! What is asked, fixed before the first run: thresholds, error, metric, margin.
//!
//! # Contract
//! The verdict depends only on the hypothesis and the runs. The hypothesis is echoed to the user and written as the
//! head of the log before anything is measured; `unc verdict` reads it back from there.

use crate::Failure;
use crate::guard::Guard;
use crate::pairs::PairTrial;
pub use crate::permuting::{Expected, Permute};
use crate::rates::RateTrial;
use crate::recording::Recording;
use crate::resampling::ResampleTrial;
use crate::sessions::{Sessions, SessionsTrial};
use crate::trial::Trial;
use crate::verdict::Answer;
use serde::{Deserialize, Serialize};
use uncontended_figures::{Dimension, at_most_percent, given, given_percent, percentile};
use uncontended_stats::bursts::Stretch;
use uncontended_stats::{self as stats, MaxError, Method, Rate};

/// What a command asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Question {
    /// Is a property true of at least a share of all runs?
    Slo(Slo),
    /// How does one command's metric compare with another's?
    Compare(Compare),
    /// Do two sets of values differ by more than chance?
    Permute(Permute),
    /// None: runs are only kept.
    Record(Recording),
}

/// What every kind of question provides.
pub trait Asked {
    /// As a sentence.
    fn sentence(&self) -> String;

    /// Largest chance of anything said being wrong.
    fn max_error(&self) -> f64;

    /// Base unit of the values.
    fn unit(&self) -> &str;

    /// A trial without any runs yet. A permutation test runs at once: `resamples` times, or to the end of its budget.
    ///
    /// # Errors
    /// If the question makes no sense.
    fn trial(&self, resamples: Option<u64>) -> Result<Box<dyn Trial>, Failure>;
}

impl Question {
    /// Applies the function for the question's kind: the only place that distinguishes kinds.
    #[must_use]
    pub fn each<'a, T>(
        &'a self,
        slo: fn(&'a Slo) -> T,
        compare: fn(&'a Compare) -> T,
        permute: fn(&'a Permute) -> T,
        record: fn(&'a Recording) -> T,
    ) -> T {
        match self {
            Question::Slo(question) => slo(question),
            Question::Compare(question) => compare(question),
            Question::Permute(question) => permute(question),
            Question::Record(question) => record(question),
        }
    }

    /// Takes the unit that the runs print, where it was not known when the question was asked.
    pub fn learn_unit(&mut self, printed: Option<&str>) {
        let unit = match self {
            Question::Compare(question) => &mut question.unit,
            Question::Record(question) => &mut question.unit,
            // The threshold has a unit, and values have none of their own.
            Question::Slo(_) | Question::Permute(_) => return,
        };
        if let Some(printed) = printed.filter(|_| unit == Dimension::Number.unit()) {
            printed.clone_into(unit);
        }
    }

    /// The common interface of all kinds.
    #[must_use]
    pub fn asked(&self) -> &dyn Asked {
        self.each(|slo| slo, |compare| compare, |permute| permute, |record| record)
    }
}

impl Asked for Slo {
    fn sentence(&self) -> String {
        Slo::sentence(self)
    }
    fn max_error(&self) -> f64 {
        self.max_error
    }
    fn unit(&self) -> &str {
        &self.unit
    }
    fn trial(&self, _: Option<u64>) -> Result<Box<dyn Trial>, Failure> {
        Ok(Box::new(RateTrial::new(self)?))
    }
}

impl Asked for Compare {
    fn sentence(&self) -> String {
        Compare::sentence(self)
    }
    fn max_error(&self) -> f64 {
        self.max_error
    }
    fn unit(&self) -> &str {
        &self.unit
    }
    fn trial(&self, _: Option<u64>) -> Result<Box<dyn Trial>, Failure> {
        Ok(match &self.sessions {
            Some(sessions) => Box::new(SessionsTrial::new(self, sessions)?),
            None => Box::new(PairTrial::new(self)?),
        })
    }
}

impl Asked for Permute {
    fn sentence(&self) -> String {
        Permute::sentence(self)
    }
    fn max_error(&self) -> f64 {
        self.max_error
    }
    fn unit(&self) -> &str {
        &self.unit
    }
    fn trial(&self, resamples: Option<u64>) -> Result<Box<dyn Trial>, Failure> {
        Ok(Box::new(ResampleTrial::again(self, resamples)?))
    }
}

/// Which side of a threshold is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Values at most the threshold.
    AtMost,
    /// Values at least the threshold.
    AtLeast,
}

/// A bound on one value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Which side is good.
    pub side: Side,
    /// In the base unit.
    pub threshold: f64,
}

impl Bound {
    /// Whether a value has the property. Equality has it on both sides.
    pub fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::AtMost => value <= self.threshold,
            Side::AtLeast => value >= self.threshold,
        }
    }
}

/// Which e-process decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// The confidence sequence method: uniform prior, two-sided.
    Csm,
    /// A prior on either side of the threshold: fewest runs.
    #[default]
    OneSided,
    /// Beta(1/2, 1/2), two-sided.
    Beta,
}

impl Decider {
    /// All of them by their names.
    pub const ALL: [(&str, Decider); 3] =
        [("csm", Decider::Csm), ("one-sided", Decider::OneSided), ("beta", Decider::Beta)];

    /// The name in flags, logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Decider::Csm => "csm",
            Decider::OneSided => "one-sided",
            Decider::Beta => "beta",
        }
    }

    /// The corresponding method of `stats`.
    pub fn method(self) -> Method {
        match self {
            Decider::Csm => Method::Csm,
            Decider::OneSided => Method::OneSided,
            Decider::Beta => Method::Jeffreys,
        }
    }
}

/// How many times as long as chance makes them bursts of runs without the property may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// For a `no`.
    pub no: f64,
    /// For a yes; none: only if the runs are clustered.
    pub yes: Option<f64>,
}

impl Bursts {
    /// The meaning of the flag: 1 is independence, another number applies to both answers, and by default a no is
    /// guarded.
    pub fn new(given: Option<f64>) -> Option<Bursts> {
        match given {
            None => {
                let Stretch { no, yes } = Stretch::default();
                Some(Bursts { no, yes })
            }
            Some(1.0) => None,
            Some(stretch) => Some(Bursts { no: stretch, yes: Some(stretch) }),
        }
    }
}

impl From<Bursts> for Stretch {
    fn from(bursts: Bursts) -> Stretch {
        Stretch { no: bursts.no, yes: bursts.yes }
    }
}

/// "Is the rate of runs with this property at least R?"
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// The metric's name; `counts` if only counts are known.
    pub metric: String,
    /// Base unit of the values.
    pub unit: String,
    /// The property of one value; none for counts.
    pub bound: Option<Bound>,
    /// R.
    pub rate: f64,
    /// Lower end of the indifference zone.
    pub or_below: Option<f64>,
    /// Largest chance of a wrong verdict, over all looks.
    pub max_error: f64,
    /// What decides.
    pub method: Decider,
    /// How far runs may depend on each other; none in older logs, and if runs are assumed independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// After how many runs it may be decided each time: those of a set that is resampled. None: after each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<u64>,
    /// The percentile, if the question is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// The command, if one is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Slo {
    /// The question as `stats` asks it.
    pub fn question(&self) -> Result<stats::Question, Failure> {
        let max_error = max_error(self.max_error)?;
        let rate = |rate| Rate::new(rate).map_err(|error| Failure::new(error.to_string(), ""));
        let or_below = self.or_below.map(rate).transpose()?;
        stats::Question::new(rate(self.rate)?, or_below, self.method.method(), max_error).map_err(
            |error| {
                Failure::new(error.to_string(), "`SloPlan::or_below` must be below `Asked::Rate`")
            },
        )
    }

    /// The question as a sentence.
    pub fn sentence(&self) -> String {
        let rate = given_percent(self.rate);
        let asked = match &self.bound {
            None => format!("is the rate at least {rate}?"),
            Some(bound) => {
                let side = match bound.side {
                    Side::AtMost => "at most",
                    Side::AtLeast => "at least",
                };
                let threshold = given(bound.threshold, self.dimension());
                let metric = spoken(&self.metric);
                format!("is {metric} {side} {threshold} in at least {rate} of the runs?")
            }
        };
        match self.or_below {
            Some(low) => {
                format!(
                    "{asked} (between {} and {rate} either answer is right)",
                    given_percent(low)
                )
            }
            None => asked,
        }
    }

    /// The dimension of its values.
    pub fn dimension(&self) -> Dimension {
        Dimension::of_unit(&self.unit).unwrap_or(Dimension::Number)
    }
}

/// The claim about B against A.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// Not worse by more than the margin.
    #[default]
    NoWorse,
    /// Better by more than the margin.
    Better,
    /// Within the margin, either way.
    Equivalent,
    /// Outside the margin, either way.
    Different,
}

impl Claim {
    /// All of them by their names.
    pub const ALL: [(&str, Claim); 4] = [
        ("no-worse", Claim::NoWorse),
        ("better", Claim::Better),
        ("equivalent", Claim::Equivalent),
        ("different", Claim::Different),
    ];

    /// The name in flags, logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Claim::NoWorse => "no-worse",
            Claim::Better => "better",
            Claim::Equivalent => "equivalent",
            Claim::Different => "different",
        }
    }

    /// What is claimed of the candidate: "no worse than the baseline by more than 2 %".
    pub fn with(self, margin: f64) -> String {
        let within = given_percent(margin);
        match self {
            Claim::NoWorse => format!("no worse than the baseline by more than {within}"),
            Claim::Better if margin == 0.0 => "better than the baseline".to_string(),
            Claim::Better => format!("better than the baseline by more than {within}"),
            Claim::Equivalent => format!("within {within} of the baseline"),
            Claim::Different => format!("more than {within} away from the baseline"),
        }
    }
}

/// "Does the claim about the median ratio of each candidate to the baseline hold?"
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// The metric's name.
    pub metric: String,
    /// Base unit of the values.
    pub unit: String,
    /// The claim about each candidate.
    pub claim: Claim,
    /// Ratios from `1/(1+margin)` to `1+margin`, ends included, are equivalent.
    pub margin: f64,
    /// Whether larger values are better.
    pub higher_is_better: bool,
    /// Largest chance of any wrong statement, over all looks and all candidates.
    pub max_error: f64,
    /// Runs of each command in a block.
    pub block: u64,
    /// The commands, as given, or the names that they were given.
    pub commands: Vec<String>,
    /// The commands, if they were given names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// Which of them is the baseline.
    pub baseline: usize,
    /// Whether the trial continues after a run that fails. Such a run is lost, unless the guard says otherwise.
    pub ignore_failure: bool,
    /// The percentile that is compared, instead of the median of the paired ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// What is asked in addition to the median; none in logs from before there was a guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// How sessions are compared, if the runs were not interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
}

/// How a candidate's error bound is spent.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// On the median.
    pub median: MaxError,
    /// On finding a heavier tail.
    pub tails: MaxError,
}

impl Compare {
    /// The plainest question about these commands: of their wall times, by the median of the paired ratios, against the
    /// first, without a guard. Others are this one with other fields.
    #[must_use]
    pub fn of(claim: Claim, margin: f64, max_error: f64, commands: &[&str]) -> Compare {
        Compare {
            metric: "wall".to_owned(),
            unit: "ns".to_owned(),
            claim,
            margin,
            higher_is_better: false,
            max_error,
            block: 1,
            commands: commands.iter().map(|&command| command.to_owned()).collect(),
            baseline: 0,
            lines: Vec::new(),
            ignore_failure: false,
            quantile: None,
            guard: None,
            sessions: None,
        }
    }

    /// The error bound of each candidate's comparison, split between the median and the tails.
    pub fn shares(&self) -> Result<Shares, Failure> {
        let candidates = u32::try_from(self.commands.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let own = max_error(self.max_error)?.split(candidates);
        let part = |share: f64| {
            own.part(share).map_err(|error| Failure::new(format!("the tail guard: {error}"), ""))
        };
        match &self.guard {
            None => Ok(Shares { median: own, tails: own }),
            Some(guard) => {
                let shares = Shares { median: part(1.0 - guard.share)?, tails: part(guard.share)? };
                let spent = shares.median.get() + shares.tails.get();
                debug_assert!(spent <= own.get(), "the error bound is spent once");
                Ok(shares)
            }
        }
    }

    /// The percentile of the costs that is compared: if higher is better, p10 of the values is p90 of the costs.
    pub fn cost_quantile(&self) -> Option<f64> {
        self.quantile.map(|rate| if self.higher_is_better { 1.0 - rate } else { rate })
    }

    /// The compared quantity, in words.
    pub fn effect_name(&self) -> String {
        match self.quantile {
            None if self.sessions.is_some() => "ratio of medians".to_string(),
            None => "median ratio".to_string(),
            Some(rate) => format!("ratio of {}", percentile(rate)),
        }
    }

    /// The ends of the band of equivalent ratios.
    pub fn band(&self) -> (f64, f64) {
        (1.0 / (1.0 + self.margin), 1.0 + self.margin)
    }

    /// What an answer says about a candidate, which has this name in the sentence.
    pub fn said(&self, subject: &str, answer: Answer) -> String {
        let by = match self.margin {
            0.0 => String::new(),
            margin => format!(" by more than {}", given_percent(margin)),
        };
        let within = match self.margin {
            0.0 => "the same".to_string(),
            margin => format!("within {}", given_percent(margin)),
        };
        let (claim, opposite) = match self.claim {
            Claim::NoWorse => (format!("not worse{by}"), format!("worse{by}")),
            Claim::Better => (format!("better{by}"), format!("not better{by}")),
            Claim::Equivalent => (within.clone(), format!("not {within}")),
            Claim::Different => (format!("different{by}"), within),
        };
        match answer {
            Answer::Yes => format!("{subject} is {claim}"),
            Answer::No => format!("{subject} is {opposite}"),
            _ => format!("whether {subject} is {claim} is not certain"),
        }
    }

    /// The claim as a question.
    pub fn sentence(&self) -> String {
        let claim = self.claim.with(self.margin);
        let good = if self.higher_is_better { "higher" } else { "lower" };
        let subject = if self.commands.len() > 2 { "each candidate" } else { "the candidate" };
        let by = self.effect_name();
        let metric = spoken(&self.metric);
        format!("is {subject} {claim}, by the {by} of {metric} ({good} is better)?")
    }
}

/// A metric as part of a sentence: `the wall time`.
#[must_use]
pub fn spoken(metric: &str) -> &str {
    match metric {
        "wall" => "the wall time",
        "user" => "the user time",
        "sys" => "the system time",
        "cpu" => "the CPU time",
        "max-rss" => "the peak memory (max-rss)",
        "minor-faults" => "the number of page faults without input (minor-faults)",
        "major-faults" => "the number of page faults that read a disk (major-faults)",
        "voluntary-switches" => "the number of voluntary context switches",
        "involuntary-switches" => "the number of involuntary context switches",
        "cpu-migrations" => "the number of moves to another CPU (cpu-migrations)",
        "instructions" => "the number of instructions in user mode",
        "cycles" => "the number of cycles in user mode",
        "branches" => "the number of branches in user mode",
        "branch-misses" => "the number of wrongly predicted branches in user mode",
        "cache-references" => {
            "the number of accesses to the last cache in user mode (cache-references)"
        }
        "cache-misses" => "the number of misses of the last cache in user mode (cache-misses)",
        "exit-status" => "the exit status",
        "value" => "the value",
        other => other,
    }
}

fn max_error(epsilon: f64) -> Result<MaxError, Failure> {
    MaxError::new(epsilon)
        .map_err(|error| Failure::new(error.to_string(), "see `Limits::max_error`"))
}

/// An error bound as people read it, rounded up.
#[deprecated(note = "use `uncontended_figures::at_most_percent`")]
#[must_use]
pub fn error_bound(share: f64) -> String {
    at_most_percent(share)
}

/// A share as people read it.
#[deprecated(note = "use `uncontended_figures::given_percent`")]
#[must_use]
pub fn percent(share: f64) -> String {
    given_percent(share)
}
