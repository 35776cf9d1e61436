//! A verdict with everything that supports it: schema `uncontended.verdict/1`.
//!
//! # Contract
//! Field names are the JSON contract of `docs/json.md`: within version 1, fields may be added, never renamed or
//! removed.

use crate::circumstances::Circumstances;
use crate::fingerprint::Fingerprint;
use crate::guard::TailFinding;
use crate::origin::Origin;
use crate::question::Question;
use crate::rates::{Dependence, Rest};
use crate::record::{Run, Stop};
use crate::spread::{Spread, Spreads};
use serde::{Deserialize, Serialize};
use uncontended_stats as stats;

/// The value of `schema`.
pub const SCHEMA: &str = "uncontended.verdict/1";

/// The answer, which is also the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The claim holds.
    Yes,
    /// The claim is refuted.
    No,
    /// Neither was certain within the budget.
    Undecided,
    /// The question could not be measured.
    Error,
}

impl Answer {
    /// The documented exit status: 0, 1, 3, 2.
    pub fn exit_status(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::No => 1,
            Answer::Error => 2,
            Answer::Undecided => 3,
        }
    }

    /// The rank that decides when there are several: the greatest wins.
    pub fn badness(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::Undecided => 1,
            Answer::No => 2,
            Answer::Error => 3,
        }
    }

    /// The word in JSON and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Undecided => "undecided",
            Answer::Error => "error",
        }
    }
}

impl From<stats::Verdict> for Answer {
    fn from(verdict: stats::Verdict) -> Answer {
        match verdict {
            stats::Verdict::Yes => Answer::Yes,
            stats::Verdict::No => Answer::No,
            stats::Verdict::Undecided => Answer::Undecided,
        }
    }
}

/// The evidence at one threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The rate (`slo`) or median ratio (`compare`) in question.
    pub threshold: f64,
    /// Log of the e-process for "the truth is above it"; null if that would decide nothing.
    pub above: Option<f64>,
    /// Log of the e-process for "the truth is below it"; null if that would decide nothing.
    pub below: Option<f64>,
    /// The value that either has to reach.
    pub needed: f64,
}

/// The size of an effect: the median of the paired ratios, candidate over baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// The observed median.
    pub ratio: Option<f64>,
    /// Lower end of its confidence sequence; 0 before anything is known.
    pub low: f64,
    /// Upper end; none before anything is known.
    pub high: Option<f64>,
}

/// The interval of a percentile of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// Which one: 0.99 for p99.
    pub rate: f64,
    /// The sample's percentile; none if it is a failed run.
    pub value: Option<f64>,
    /// Lower end of its confidence sequence; none before anything is known.
    pub low: Option<f64>,
    /// Upper end; none before anything is known.
    pub high: Option<f64>,
}

/// How the candidate relates to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Equivalent,
    /// Not certain.
    Unknown,
}

impl Relation {
    /// The word in JSON and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Better => "better",
            Relation::Worse => "worse",
            Relation::Equivalent => "equivalent",
            Relation::Unknown => "unknown",
        }
    }

    /// As people read it.
    pub fn told(self) -> &'static str {
        if self == Relation::Unknown { "not known" } else { self.name() }
    }
}

/// The result of one test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The answer.
    pub verdict: Answer,
    /// Runs (`slo`), pairs (`compare`) or resamples (`permute`) that were judged.
    pub n: u64,
    /// How many of them have the property, support the claim's own threshold, or are as extreme.
    pub successes: u64,
    /// The method.
    pub decided_by: String,
    /// One entry per threshold.
    pub evidence: Vec<Evidence>,
    /// Confidence sequence of the rate, dual to the test that decided: valid over all looks.
    pub interval: [f64; 2],
    /// Credible interval of the same nominal error: a statement about a posterior, not valid over many looks.
    pub credible: [f64; 2],
    /// What the kind of question adds.
    #[serde(flatten, serialize_with = "with_nulls")]
    pub about: About,
}

/// What a kind of question adds to a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum About {
    /// A rate.
    Rate(OfRate),
    /// A candidate against the baseline.
    Pairs(OfPairs),
    /// A p-value.
    Resampling(OfResampling),
    /// Nothing: runs that are kept.
    Recording(OfRecording),
}

/// What a finding about a rate adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfRate {
    /// Robbins' criterion at R, rounded up.
    pub log_criterion: f64,
    /// Whether runs that lack the property come in bursts; none if only counts are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependence: Option<Dependence>,
    /// The values after the answer, of a file that has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// The interval of the percentile asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Percentile>,
    /// A summary of the values of the command's runs, in a verdict's finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Spread>,
}

/// What a finding about a candidate adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfPairs {
    /// The command that it is about.
    pub candidate: String,
    /// The size of the effect.
    pub effect: Effect,
    /// The direction.
    pub relation: Relation,
    /// Whether one command has more slow or lost runs than the other, if that is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tails: Option<TailFinding>,
    /// A summary of both commands' values, in a verdict's finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Spreads>,
    /// Pairs lost on both sides, if runs may be lost. They are not among `n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_pairs: Option<u64>,
    /// What is known of sessions that were not interleaved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Box<OfSessions>>,
    /// The pairs after the answer, of a file that has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// What a finding about two sessions adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfSessions {
    /// What the runs say about the claim, whether the candidate or the machine is the reason.
    pub told: Answer,
    /// Whether the machine is taken to be equally fast in both.
    pub trusted: bool,
    /// Whether runs of a session depend on the previous ones, so that the stated error does not hold.
    pub dependent: bool,
    /// Runs of the baseline.
    pub baseline_runs: u64,
    /// The ratio of the runs, without the control.
    pub measured: Effect,
    /// The ratio of the control in the candidate's session to that in the baseline's, if it was run in both.
    pub control: Option<Effect>,
}

impl OfSessions {
    /// Whether what the runs say is about the candidate: the machine's change is known, or taken to be none, and the
    /// runs are independent.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        (self.trusted || self.control.is_some()) && !self.dependent
    }
}

/// What runs without a question show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfRecording {
    /// A summary of each command's values: of the one that is kept, and of its control.
    pub values: Vec<Spread>,
}

/// What a finding about a p-value adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfResampling {
    /// Robbins' criterion at the level, rounded up.
    pub log_criterion: f64,
    /// The statistic of B minus that of A.
    pub difference: f64,
    /// The estimated p-value, `(b+1)/(m+1)`.
    pub p_value: f64,
}

/// Serialises these keys for every kind, as version 1 of the schema requires.
fn with_nulls<S: serde::Serializer>(about: &About, serializer: S) -> Result<S::Ok, S::Error> {
    let mut keys = serde_json::to_value(about).map_err(serde::ser::Error::custom)?;
    if let Some(keys) = keys.as_object_mut() {
        for key in ["log_criterion", "effect", "relation"] {
            keys.entry(key).or_insert(serde_json::Value::Null);
        }
    }
    keys.serialize(serializer)
}

impl Finding {
    /// What the values or pairs after the answer say, if a file has more.
    #[must_use]
    pub fn rest(&self) -> Option<Rest> {
        match &self.about {
            About::Rate(rate) => rate.rest,
            About::Pairs(pairs) => pairs.rest,
            About::Resampling(_) | About::Recording(_) => None,
        }
    }

    /// Whether what it counts is part of what was judged, and each interval has its ends in order.
    pub(crate) fn is_in_order(&self) -> bool {
        let within = |[low, high]: [f64; 2]| 0.0 <= low && low <= high && high <= 1.0;
        self.successes <= self.n && within(self.interval) && within(self.credible)
    }

    /// What a finding about a rate adds, if this is one.
    #[must_use]
    pub fn rate(&self) -> Option<&OfRate> {
        if let About::Rate(rate) = &self.about { Some(rate) } else { None }
    }

    /// What a finding about a candidate adds, if this is one.
    #[must_use]
    pub fn pairs(&self) -> Option<&OfPairs> {
        if let About::Pairs(pairs) = &self.about { Some(pairs) } else { None }
    }

    /// What kept runs show, if there was no question.
    #[must_use]
    pub fn recording(&self) -> Option<&OfRecording> {
        if let About::Recording(kept) = &self.about { Some(kept) } else { None }
    }

    /// What a finding about a p-value adds, if this is one.
    #[must_use]
    pub fn resampling(&self) -> Option<&OfResampling> {
        if let About::Resampling(found) = &self.about { Some(found) } else { None }
    }
}

/// When the stated error bound holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// As the documentation of the question says.
    #[default]
    AsStated,
    /// If the values are independent: bursts of bad ones may have been missed.
    IfIndependent,
    /// Not: the runs depend on the previous ones.
    No,
}

/// A verdict as it is reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The question as a sentence.
    pub question: String,
    /// The finding that the verdict rests on: the only one, or the worst of several.
    #[serde(flatten)]
    pub finding: Finding,
    /// Largest chance that any statement here is wrong, over all looks.
    pub max_error: f64,
    /// Whether that is so.
    pub error_holds: Holds,
    /// Why no more runs were made.
    pub stopped_by: Stop,
    /// One finding per candidate (`compare` only).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Finding>,
    /// What was asked, in full.
    pub hypothesis: Question,
    /// What makes the verdict weaker than it looks.
    pub warnings: Vec<String>,
    /// Seed of all randomness.
    pub seed: String,
    /// The machine, as the runs began, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fingerprint>,
    /// When and of what revision the runs were made, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The settings of the commands that were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circumstances: Option<Circumstances>,
    /// The raw log's path, if one was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Every run in order, if no log was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<Run>>,
}
