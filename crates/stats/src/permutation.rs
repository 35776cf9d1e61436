//! The exact permutation test, with as many resamples as the verdict needs.
//!
//! # Contract
//! Under the null hypothesis the labels A and B carry no information: every assignment of them is equally likely. The
//! p-value is the chance that a random assignment (a resample) gives a difference at least as extreme as the observed
//! one. [`Permutation::test`] resamples until it is decided whether that chance is below a level. The estimate is
//! `(b+1)/(m+1)`, never `b/m`, which would reject a true null too often.
//! # What must be exchanged
//! Values that are exchangeable under the null: one number per process or block, not the timings inside one.
//! # Why it holds
//! Resamples are independent and uniform (`sampling`), so "as extreme" is a Bernoulli trial, which a [`Question`]
//! judges. Sums are compared with an allowance for rounding, in favour of "as extreme".
//! # Evidence
//! tests/truth_permutation.rs: every relabeling of small samples enumerated; published runs.
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

/// Groups of values whose labels are resampled.
#[derive(Clone, Debug)]
pub struct Permutation {
    pooled: Vec<f64>,
    /// The smaller group's size: each resample draws that many values to the front of `pooled`.
    front_len: usize,
    /// Whether the smaller group is B.
    front_is_b: bool,
    /// The sizes of more than two groups, in the order of `pooled`; else none.
    several: Vec<usize>,
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
    /// `(b+1)/(m+1)` for b resamples as extreme out of m.
    pub p_value: f64,
    /// Whether the p-value is below the level (yes), or not (no).
    pub verdict: Verdict,
    /// The judge's report on the chance of a resample as extreme: its interval covers the p-value.
    pub report: Report,
    /// Why the resampling stopped.
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
        let front_is_b = b.len() < a.len();
        let (first, second) = if front_is_b { (b, a) } else { (a, b) };
        let pooled = [first, second].concat();
        let total: f64 = pooled.iter().map(|x| x.abs()).sum();
        let allowance = match statistic {
            Statistic::Mean => 4.0 * U * pooled.len() as f64 * total / first.len() as f64,
            _ => 0.0,
        };
        let scratch = Vec::with_capacity(pooled.len());
        let (front_len, rng) = (first.len(), Rng::new(seed));
        let mut test = Permutation {
            pooled,
            front_len,
            front_is_b,
            several: Vec::new(),
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

    /// The test of three groups or more: the greatest statistic of one minus the least of another.
    ///
    /// # Errors
    /// [`Invalid::Empty`] if a group has no values or there are fewer than two, [`Invalid::Value`] if one is not
    /// finite.
    pub fn among(
        groups: &[&[f64]],
        statistic: Statistic,
        seed: u64,
    ) -> Result<Permutation, Invalid> {
        let [first, others @ ..] = groups else { return Err(Invalid::Empty) };
        if groups.iter().any(|group| group.is_empty()) {
            return Err(Invalid::Empty);
        }
        let mut test = Permutation::new(first, &others.concat(), statistic, Sides::Upper, seed)?;
        test.pooled = groups.concat();
        test.front_len = test.pooled.len();
        test.several = groups.iter().map(|group| group.len()).collect();
        let total: f64 = test.pooled.iter().map(|x| x.abs()).sum();
        let least = groups.iter().map(|group| group.len()).min().unwrap_or(1);
        test.allowance = match statistic {
            Statistic::Mean => 4.0 * U * test.pooled.len() as f64 * total / least as f64,
            _ => 0.0,
        };
        test.observed = test.difference();
        Ok(test)
    }

    /// The statistic of B minus that of A, as observed.
    #[must_use]
    pub fn observed(&self) -> f64 {
        self.observed
    }

    /// Resamples the labels once; returns whether the difference is at least as extreme as the observed one.
    #[deprecated(note = "renamed to `resample`")]
    pub fn deal(&mut self) -> bool {
        self.resample()
    }

    /// Resamples the labels once; returns whether the difference is at least as extreme as the observed one.
    pub fn resample(&mut self) -> bool {
        shuffle_front(&mut self.pooled, self.front_len, &mut self.rng);
        let difference = self.difference();
        match self.sides {
            Sides::Upper => difference >= self.observed - self.allowance,
            Sides::Both => difference.abs() >= self.observed.abs() - self.allowance,
        }
    }

    /// Resamples until it is decided whether the p-value is below the upper threshold of `question`, with an
    /// indifference zone down to its lower threshold.
    pub fn test(
        &mut self,
        question: Question,
        limits: Limits,
        progress: impl FnMut(&Judge) -> ControlFlow<()>,
    ) -> Significance {
        let (report, stopped) = drive(question, limits, progress, || Some(self.resample()));
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

    /// The statistic of the current B minus that of the current A; of several, the greatest minus the least.
    fn difference(&mut self) -> f64 {
        if !self.several.is_empty() {
            let (mut least, mut most, mut from) = (f64::INFINITY, f64::NEG_INFINITY, 0);
            for &size in &self.several {
                let group = &self.pooled[from..from + size];
                let found = evaluate(self.statistic, group, &mut self.scratch);
                (least, most, from) = (least.min(found), most.max(found), from + size);
            }
            return most - least;
        }
        let (front, rest) = self.pooled.split_at(self.front_len);
        let of_front = evaluate(self.statistic, front, &mut self.scratch);
        let of_rest = evaluate(self.statistic, rest, &mut self.scratch);
        if self.front_is_b { of_front - of_rest } else { of_rest - of_front }
    }
}

/// The p-value's estimate: the observed assignment counts as one of the resamples.
#[must_use]
pub fn p_value(resamples: Counts) -> f64 {
    (resamples.successes() as f64 + 1.0) / (resamples.trials() as f64 + 1.0)
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

/// Moves the elements that [`of_sorted`] reads to where sorting would put them.
fn partially_sort(values: &mut [f64], rate: Rate) {
    let n = values.len();
    let rank = ((n as f64 * rate.get()).ceil() as usize).clamp(1, n);
    let (_, _, above) = values.select_nth_unstable_by(rank - 1, f64::total_cmp);
    if rate == Rate::HALF && !above.is_empty() {
        above.select_nth_unstable_by(0, f64::total_cmp);
    }
}
