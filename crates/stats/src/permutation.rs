//! The exact permutation test, with as many resamplings as the verdict needs.
//!
//! # Contract
//! Under the null hypothesis the labels A and B mean nothing: every way of dealing them out is as likely. The p-value
//! is the chance that such a dealing gives a difference at least as extreme as the one observed. [`Permutation::test`]
//! deals until it is decided whether that chance is below a level; its estimate is `(b+1)/(m+1)`, never `b/m`, which
//! would reject a true null too often.
//! # What must be exchanged
//! Values that are exchangeable under the null: one number a process or a block, not the timings inside one.
//! # Why it holds
//! Dealings are independent and uniform (`sampling`), so that "as extreme" is a Bernoulli trial, which a [`Question`]
//! judges. Sums are compared with an allowance for their rounding, in favour of "as extreme".
//! # Evidence
//! tests/truth_permutation.rs: all dealings of small samples enumerated; published runs.
//! # Sources
//! Fisher 1935; Phipson and Smyth 2010 for the estimate; Gandy 2009 and Ding, Gandy and Hahn 2016 for stopping.

use std::ops::ControlFlow;

use crate::ball::U;
use crate::drive::{Limits, Stopped, drive};
use crate::judge::{Judge, Question, Report, Verdict};
use crate::quantile::of_sorted;
use crate::rate::{Counts, Invalid, Rate};
use crate::rng::Rng;
use crate::sampling::shuffle_front;

/// What is compared between the two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The median.
    Median,
    /// The largest value.
    Max,
    /// A sample quantile.
    Quantile(Rate),
}

/// Which differences are at least as extreme as the observed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Those where B exceeds A by as much or more.
    #[default]
    Upper,
    /// Those as large in either direction.
    Both,
}

/// Two groups of values and the dealings of their labels.
#[derive(Clone, Debug)]
pub struct Permutation {
    pooled: Vec<f64>,
    /// The smaller group's size: as many values are dealt.
    dealt: usize,
    /// Whether the smaller group is B.
    dealt_is_b: bool,
    statistic: Statistic,
    sides: Sides,
    observed: f64,
    allowance: f64,
    scratch: Vec<f64>,
    rng: Rng,
}

/// What a permutation test found.
#[derive(Clone, Debug, PartialEq)]
pub struct Significance {
    /// The statistic of B minus that of A.
    pub observed: f64,
    /// `(b+1)/(m+1)` for b dealings as extreme out of m.
    pub p_value: f64,
    /// Whether the p-value is below the level (yes), or not (no).
    pub verdict: Verdict,
    /// The judge's report on the chance of a dealing as extreme: its interval is one of the p-value.
    pub report: Report,
    /// Why the dealing ended.
    pub stopped: Stopped,
}

impl Permutation {
    /// The test of `b` against `a`.
    ///
    /// # Errors
    /// [`Invalid::Empty`] if a group has no values, [`Invalid::Value`] if one is not finite.
    pub fn new(
        a: &[f64],
        b: &[f64],
        statistic: Statistic,
        sides: Sides,
        seed: u64,
    ) -> Result<Permutation, Invalid> {
        if a.is_empty() || b.is_empty() {
            return Err(Invalid::Empty);
        }
        if let Some(&value) = a.iter().chain(b).find(|x| !x.is_finite()) {
            return Err(Invalid::Value(value));
        }
        let dealt_is_b = b.len() < a.len();
        let (first, second) = if dealt_is_b { (b, a) } else { (a, b) };
        let pooled = [first, second].concat();
        let total: f64 = pooled.iter().map(|x| x.abs()).sum();
        let allowance = match statistic {
            Statistic::Mean => 4.0 * U * pooled.len() as f64 * total / first.len() as f64,
            _ => 0.0,
        };
        let scratch = Vec::with_capacity(pooled.len());
        let (dealt, rng) = (first.len(), Rng::new(seed));
        let mut test = Permutation {
            pooled,
            dealt,
            dealt_is_b,
            statistic,
            sides,
            observed: 0.0,
            allowance,
            scratch,
            rng,
        };
        test.observed = test.difference();
        Ok(test)
    }

    /// The statistic of B minus that of A, as observed.
    #[must_use]
    pub fn observed(&self) -> f64 {
        self.observed
    }

    /// Deals the labels once more; whether the difference is at least as extreme as the observed one.
    pub fn deal(&mut self) -> bool {
        shuffle_front(&mut self.pooled, self.dealt, &mut self.rng);
        let difference = self.difference();
        match self.sides {
            Sides::Upper => difference >= self.observed - self.allowance,
            Sides::Both => difference.abs() >= self.observed.abs() - self.allowance,
        }
    }

    /// Deals until it is decided whether the p-value is below what `question` asks: *below* its upper threshold, with
    /// an indifference zone down to its lower one.
    pub fn test(
        &mut self,
        question: Question,
        limits: Limits,
        progress: impl FnMut(&Judge) -> ControlFlow<()>,
    ) -> Significance {
        let (report, stopped) = drive(question, limits, progress, || Some(self.deal()));
        let verdict = match report.verdict {
            Verdict::Yes => Verdict::No,
            Verdict::No => Verdict::Yes,
            Verdict::Undecided => Verdict::Undecided,
        };
        Significance {
            observed: self.observed,
            p_value: p_value(report.counts),
            verdict,
            report,
            stopped,
        }
    }

    /// The statistic of the present B minus that of the present A.
    fn difference(&mut self) -> f64 {
        let (front, rest) = self.pooled.split_at(self.dealt);
        let of_front = evaluate(self.statistic, front, &mut self.scratch);
        let of_rest = evaluate(self.statistic, rest, &mut self.scratch);
        if self.dealt_is_b { of_front - of_rest } else { of_rest - of_front }
    }
}

/// The p-value's estimate: the observed dealing counts as one of the dealings.
#[must_use]
pub fn p_value(dealings: Counts) -> f64 {
    (dealings.successes() as f64 + 1.0) / (dealings.trials() as f64 + 1.0)
}

fn evaluate(statistic: Statistic, values: &[f64], scratch: &mut Vec<f64>) -> f64 {
    let mut quantile = |rate: Rate| {
        scratch.clear();
        scratch.extend_from_slice(values);
        partially_sort(scratch, rate);
        of_sorted(scratch, rate).unwrap_or(f64::NAN)
    };
    match statistic {
        Statistic::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Statistic::Median => quantile(Rate::HALF),
        Statistic::Quantile(rate) => quantile(rate),
        Statistic::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Puts the members that [`of_sorted`] reads where sorting would.
fn partially_sort(values: &mut [f64], rate: Rate) {
    let n = values.len();
    let rank = ((n as f64 * rate.get()).ceil() as usize).clamp(1, n);
    let (_, _, above) = values.select_nth_unstable_by(rank - 1, f64::total_cmp);
    if rate == Rate::HALF && !above.is_empty() {
        above.select_nth_unstable_by(0, f64::total_cmp);
    }
}
