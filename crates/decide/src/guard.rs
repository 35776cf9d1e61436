//! What a comparison asks in addition to the median: does one command have more slow runs, or more lost ones?
//!
//! # Contract
//! A guard is fixed before the first run and recorded in the log's head. It gets its own part of the error bound; the
//! median gets the rest. For `no-worse` and `better`, a heavier tail of the candidate counts; for `equivalent` and
//! `different`, of either command. A heavier tail is `no` whatever the median. Otherwise `yes` waits until a tail of
//! the given size is refuted; the chance of refuting it wrongly is at most `missed`.
//! # Evidence
//! `crates/cli/tests/decide_tails.rs`; the statistics are those of `uncontended_stats::tails`.

use crate::Failure;
use crate::question::{Bursts, Claim};
use crate::verdict::Answer;
use serde::{Deserialize, Serialize};
use uncontended_figures::text::several;
use uncontended_figures::{self as figures, given_percent, percent};
use uncontended_stats::bursts::Stretch;
use uncontended_stats::tails::{Clearance, Level, Side, Tails};
use uncontended_stats::{Invalid, MaxError, Rate};

/// The factors of the levels: from 1.25 to 48 medians, there is one between whatever a run took and twice that.
/// Were they further apart, a tail that doubles could move from one to below the next unseen.
const FACTORS: [f64; 16] =
    [1.5, 1.9, 2.4, 3.0, 3.8, 4.8, 6.0, 7.6, 9.5, 12.0, 15.0, 19.0, 24.0, 30.0, 38.0, 48.0];
/// The part of the error for finding a heavier tail.
const SHARE: f64 = 0.05;
/// The size of the tail in question, as shown to people.
const TAIL: f64 = 0.1;
/// The excess to refute before a yes: a little less than the tail, since noise hides part of it.
const EXCESS: f64 = 0.09;
/// The largest chance that a yes overlooks such a tail.
const MISSED: f64 = 0.05;
/// Standard deviations beyond which slow runs are reported even though they decide nothing.
const SUSPICIOUS: f64 = 3.5;
/// Most levels accepted from a log.
const MOST_LEVELS: usize = 64;

/// What to compare run by run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// A run is slow at a level if it exceeds this many times the median of the baseline's earlier runs.
    pub factors: Vec<f64>,
    /// Whether runs may be lost; if so, these are counted too.
    pub lost: bool,
    /// Whether a run with a nonzero status is lost too; in earlier logs it counts by its value.
    #[serde(default)]
    pub failed: bool,
    /// Its part of the error.
    pub share: f64,
    /// What a yes must refute: that the share of slow runs is larger by this much.
    pub excess: f64,
    /// The largest chance of refuting that wrongly.
    pub missed: f64,
    /// How far slow runs may depend on each other; none in earlier logs, and if they are assumed independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
}

impl Guard {
    /// The guard of a comparison: against slow runs, unless only medians are asked about, and against lost runs
    /// (failed, killed or timed out) if there can be any. None if there is nothing to guard against.
    pub fn new(tails: bool, lost: bool) -> Option<Guard> {
        let guard = Guard {
            factors: if tails { FACTORS.to_vec() } else { Vec::new() },
            lost,
            failed: lost,
            share: SHARE,
            excess: EXCESS,
            missed: MISSED,
            bursts: Bursts::new(None),
        };
        (tails || lost).then_some(guard)
    }

    /// The same guard with bursts of slow runs up to `times` times as long as by chance; 1: they are independent.
    #[must_use]
    pub fn with_bursts(self, times: Option<f64>) -> Guard {
        Guard { bursts: Bursts::new(times), ..self }
    }

    fn clearance(&self) -> Result<Clearance, Invalid> {
        Ok(Clearance {
            by: Rate::new(self.excess)?,
            missed: MaxError::new(self.missed)?,
            bursts: self.bursts.map(Stretch::from),
        })
    }
}

/// The guard of one candidate during a trial.
#[derive(Debug, Clone)]
pub struct Watch {
    tails: Tails,
    sides: &'static [Side],
    share: MaxError,
    asked: Clearance,
    /// Whether a yes must refute a tail first.
    clears: bool,
}

impl Watch {
    /// The watch over a claim, with this part of the error.
    pub fn new(
        guard: &Guard,
        claim: Claim,
        margin: f64,
        share: MaxError,
    ) -> Result<Watch, Failure> {
        let wrong = |cause: &str| Failure::new(format!("the tail guard: {cause}"), "");
        let mut factors = guard.factors.clone();
        if factors.len() > MOST_LEVELS || !factors.iter().all(|&factor| factor > 0.0) {
            return Err(wrong("its factors are not a few positive numbers"));
        }
        let clears = !factors.is_empty();
        factors.extend(guard.lost.then_some(f64::INFINITY));
        let sides: &[Side] = match claim {
            Claim::NoWorse | Claim::Better => &[Side::Heavier],
            Claim::Equivalent | Claim::Different => &[Side::Heavier, Side::Lighter],
        };
        Ok(Watch {
            tails: Tails::new(&factors, 1.0 + margin),
            sides,
            share: share.split(sides.len() as u32),
            asked: guard.clearance().map_err(|error| wrong(&error.to_string()))?,
            clears,
        })
    }

    /// Takes the costs of one pair of runs; infinity means lost.
    pub fn push(&mut self, candidate: f64, baseline: f64) {
        self.tails.push(candidate, baseline);
    }

    fn heavy(&self) -> Option<(Side, &Level)> {
        let found = |&side| self.tails.heavy(side, self.share).map(|level| (side, level));
        self.sides.iter().find_map(found)
    }

    fn is_clear(&self) -> bool {
        !self.clears || self.sides.iter().all(|&side| self.tails.is_clear(side, &self.asked))
    }

    /// The answer to a claim, given the median's own answer.
    pub fn verdict(&self, claim: Claim, median: Answer) -> Answer {
        // `different` claims what `equivalent` refutes.
        let turned = |answer: Answer| match (claim, answer) {
            (Claim::Different, Answer::Yes) => Answer::No,
            (Claim::Different, Answer::No) => Answer::Yes,
            _ => answer,
        };
        turned(match turned(median) {
            Answer::No => Answer::No,
            _ if self.heavy().is_some() => Answer::No,
            Answer::Yes if !self.is_clear() => Answer::Undecided,
            other => other,
        })
    }

    /// Slow runs that do not affect the verdict: the highest level that the candidate's runs exceeded far more often
    /// than the baseline's, by more than chance.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        if self.heavy().is_some() {
            return None;
        }
        let counted = |level: &Level| {
            let counts = level.excess(Side::Heavier);
            let (candidate, baseline) = counts.shares();
            let runs = |share: f64| (share * counts.pairs() as f64).round();
            let (ours, theirs) = (runs(candidate), runs(baseline));
            let z = (ours - theirs) / (ours + theirs).max(1.0).sqrt();
            let finite = level.factor.is_finite() && z > SUSPICIOUS;
            finite.then_some(Seen {
                factor: level.factor,
                candidate: ours as u64,
                baseline: theirs as u64,
                pairs: counts.pairs(),
            })
        };
        let seen = self.tails.levels().iter().filter_map(counted);
        seen.max_by(|one, other| one.factor.total_cmp(&other.factor))
    }

    /// The finding about the tails.
    pub fn finding(&self, median: Answer) -> TailFinding {
        let (state, level) = match self.heavy() {
            Some((Side::Heavier, level)) => (TailState::Heavier, Some((Side::Heavier, level))),
            Some((Side::Lighter, level)) => (TailState::Lighter, Some((Side::Lighter, level))),
            None => {
                let state = match (self.clears, self.is_clear()) {
                    (false, _) => TailState::Untested,
                    (true, true) => TailState::Clear,
                    (true, false) => TailState::Open,
                };
                let open = self.sides.iter().filter_map(|&side| {
                    self.tails.most_open(side, &self.asked).map(|level| (side, level))
                });
                let evidence = |&(side, level): &(Side, &Level)| level.log_clear(side, &self.asked);
                (state, open.min_by(|a, b| evidence(a).total_cmp(&evidence(b))))
            }
        };
        let counts = level.map(|(side, level)| *level.excess(side)).unwrap_or_default();
        let (mut candidate, mut baseline) = counts.shares();
        if let Some((Side::Lighter, _)) = level {
            (candidate, baseline) = (baseline, candidate);
        }
        TailFinding {
            state,
            median,
            factor: level.map(|(_, level)| level.factor).filter(|factor| factor.is_finite()),
            candidate,
            baseline,
            times_slower: level.and_then(|(_, level)| self.tails.times_slower(level)),
            pairs: counts.pairs(),
            more_to_clear: match state {
                TailState::Open => {
                    level.map(|(side, level)| level.more_to_clear(side, &self.asked))
                }
                _ => None,
            },
            missed: self.asked.missed.get(),
            stretch: level.and_then(|(side, level)| level.stretch(side, &self.asked)),
        }
    }

    /// How many more pairs clear the tails if none of them is slow; 0 if they need not be cleared.
    pub fn more_to_clear(&self) -> u64 {
        let of_side = |&side: &Side| {
            let more = |level: &Level| level.more_to_clear(side, &self.asked);
            self.tails.levels().iter().map(more).max().unwrap_or(0)
        };
        if self.clears { self.sides.iter().map(of_side).max().unwrap_or(0) } else { 0 }
    }

    /// The fewest pairs with which a claim that needs clear tails can hold.
    pub fn fewest_pairs(guard: &Guard) -> u64 {
        match guard.clearance() {
            Ok(asked) if !guard.factors.is_empty() => Tails::fewest_clear(&asked),
            _ => 0,
        }
    }
}

/// Slow runs seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// A run is slow beyond this many times the baseline's median.
    pub factor: f64,
    /// The candidate's slow runs.
    pub candidate: u64,
    /// The baseline's slow runs.
    pub baseline: u64,
    /// Runs of each that were compared at that level.
    pub pairs: u64,
}

/// The state of the tails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailState {
    /// There is no tail of the size in question.
    Clear,
    /// The candidate has more slow or lost runs.
    Heavier,
    /// The baseline has more slow or lost runs.
    Lighter,
    /// Not certain.
    Open,
    /// Only medians, and lost runs, are compared.
    Untested,
}

/// The finding about the tails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TailFinding {
    /// The state of the tails.
    pub state: TailState,
    /// The median's own answer to the claim.
    pub median: Answer,
    /// The level in question, in medians of the baseline; none for lost runs.
    pub factor: Option<f64>,
    /// The share of the candidate's runs beyond it.
    pub candidate: f64,
    /// The share of the baseline's.
    pub baseline: f64,
    /// The median of the candidate's slow runs, in medians of the baseline.
    pub times_slower: Option<f64>,
    /// Pairs of runs that were compared at that level.
    pub pairs: u64,
    /// Pairs without a slow run that would clear it; none if it is clear, or heavier.
    pub more_to_clear: Option<u64>,
    /// The largest chance that a clear tail was overlooked.
    pub missed: f64,
    /// How many times as long as by chance bursts of slow runs may be for that to hold; none: they are independent.
    pub stretch: Option<f64>,
}

impl TailFinding {
    /// Whether the verdict rests on the tail, not on the median.
    pub fn decides(&self, claim: Claim, answer: Answer) -> bool {
        let found = matches!(self.state, TailState::Heavier | TailState::Lighter);
        let against = if claim == Claim::Different { Answer::Yes } else { Answer::No };
        found && answer == against && self.median != answer
    }

    /// The tails as a clause that follows what the median says; empty if there is nothing to say.
    pub fn clause(&self, claim: Claim, answer: Answer) -> String {
        let (candidate, baseline) = (percent(self.candidate), percent(self.baseline));
        let what = match (self.factor, self.times_slower) {
            (None, _) => "are lost".to_string(),
            (Some(_), Some(times)) => format!("are {} times slower", figures::number(times)),
            (Some(factor), None) => format!("take more than {factor} times as long"),
        };
        match self.state {
            _ if self.decides(claim, answer) => {
                let (ours, theirs) = match self.state {
                    TailState::Lighter => (baseline, candidate),
                    _ => (candidate, baseline),
                };
                let (whose, other) = match self.state {
                    TailState::Lighter => ("the baseline's runs", "the candidate's"),
                    _ => ("its runs", "the baseline's"),
                };
                let what = match (self.state, self.factor) {
                    (TailState::Lighter, Some(factor)) => {
                        format!("take more than {factor} times its median")
                    }
                    _ => what,
                };
                format!(", but {ours} of {whose} {what} ({theirs} of {other})")
            }
            TailState::Open if self.would_hold(claim) => {
                let beyond = match self.factor {
                    Some(factor) => format!("take more than {factor} times the baseline's median"),
                    None => "are lost".to_string(),
                };
                let bursts = if self.stretch.is_some() { ", also in bursts" } else { "" };
                format!(
                    ", but whether a tail is heavier is open: {candidate} of its runs and {baseline} of the baseline's {beyond}; about {} would decide{bursts}",
                    several(self.more_to_clear.unwrap_or(0), "more pair", "more pairs")
                )
            }
            TailState::Clear if self.would_hold(claim) => {
                let bursts = match self.stretch {
                    None => "unless in bursts".to_string(),
                    Some(stretch) => {
                        format!("also in bursts up to {stretch} times as long as by chance")
                    }
                };
                format!(
                    "; no sign that {} or more of the runs became twice as slow (missed in at most {} of trials, {bursts}; smaller tails are untested)",
                    given_percent(TAIL),
                    given_percent(self.missed)
                )
            }
            _ => String::new(),
        }
    }

    /// Whether the median's own answer needs clear tails.
    fn would_hold(&self, claim: Claim) -> bool {
        let holds = if claim == Claim::Different { Answer::No } else { Answer::Yes };
        self.median == holds
    }
}
