//! Confidence sequences for quantiles of an unknown distribution.
//!
//! # Contract
//! A [`QuantileSequence`]'s interval contains the quantile at all times simultaneously with a chance of at least `1 -
//! max_error`, for independent values of any distribution, including ties, jumps and infinite values.
//! # Why it holds
//! The number of values up to the true quantile is binomial at the quantile's rate or, with ties, between two counts
//! that straddle such a binomial; a value is rejected as the quantile once those counts refute the rate.
//! # Evidence
//! tests/truth_quantile.rs: published ranks, coverage at the stopping time for awkward distributions.
//! # Sources
//! Howard and Ramdas, arXiv 1906.09712; for a fixed quantile the binomial e-process is tighter than its bounds.

use crate::judge::{Method, Question, Verdict};
use crate::rate::{Counts, Invalid, MAX_TRIALS, MaxError, Rate};

/// The ranks, counted from 0, between which the quantile of `n` sorted values lies: `None` if no value bounds it.
///
/// ```
/// use uncontended_stats::{MaxError, Method, Rate, quantile};
/// let median = quantile::ranks(1000, Rate::HALF, Method::OneSided, MaxError::new(0.05)?);
/// assert_eq!(median, (Some(444), Some(555)));
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[must_use]
pub fn ranks(
    n: u64,
    quantile: Rate,
    method: Method,
    max_error: MaxError,
) -> (Option<u64>, Option<u64>) {
    let n = n.min(MAX_TRIALS);
    let question = Question::about(quantile, method, max_error);
    let expected = ((n as f64 * quantile.get()) as u64).min(n);
    // Too few values at or below x: x is below the quantile. Falls with the count.
    let too_few = |s: u64| refuses(&question, Verdict::No, n, s);
    let too_many = |s: u64| refuses(&question, Verdict::Yes, n, s);
    let low = last_true(0, expected, too_few);
    let high = last_true(0, n - expected, |k| too_many(n - k)).map(|k| n - k);
    // The smallest value that has more than `low` values at or below it; the largest with fewer than `high` below.
    (low, high.map(|h| h - 1))
}

/// Whether `s` of `n` are too many (yes) or too few (no) for the quantile's rate.
fn refuses(question: &Question, answer: Verdict, n: u64, s: u64) -> bool {
    let counts = Counts::new(n, s).expect("s is at most n, which a stream in memory keeps small");
    question.says(answer, counts)
}

/// The largest `k` in `from..=to` for which a monotone predicate holds.
fn last_true(from: u64, to: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(from) {
        return None;
    }
    let (mut low, mut high) = (from, to + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// One quantile of a stream of values, with its confidence sequence.
#[derive(Clone, Debug)]
pub struct QuantileSequence {
    quantile: Rate,
    question: Question,
    sorted: Vec<f64>,
    /// How many values, from either end, are rejected as the quantile. Each new value rejects at most one more.
    refused: (u64, u64),
}

impl QuantileSequence {
    /// A sequence without any values yet.
    #[must_use]
    pub fn new(quantile: Rate, method: Method, max_error: MaxError) -> QuantileSequence {
        let question = Question::about(quantile, method, max_error);
        QuantileSequence { quantile, question, sorted: Vec::new(), refused: (0, 0) }
    }

    /// Takes a value; infinity stands for a failure, which is worse than any other value.
    ///
    /// # Errors
    /// [`Invalid::Value`] for NaN.
    pub fn push(&mut self, value: f64) -> Result<(), Invalid> {
        if value.is_nan() {
            return Err(Invalid::Value(value));
        }
        let at = self.sorted.partition_point(|&x| x <= value);
        self.sorted.insert(at, value);
        let n = self.sorted.len() as u64;
        // The smallest value not rejected has `low` values below it: if it were the quantile with no more at or below,
        // too few would be.
        let (low, high) = self.refused;
        self.refused.0 += u64::from(low < n && refuses(&self.question, Verdict::No, n, low));
        self.refused.1 += u64::from(high < n && refuses(&self.question, Verdict::Yes, n, n - high));
        Ok(())
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The values, sorted.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The sample quantile: the smallest value with at least that share of values at or below it (for the median of an
    /// even number, the mean of the two middle values).
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        of_sorted(&self.sorted, self.quantile)
    }

    /// The interval of the quantile; an end that no value bounds yet is infinite.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        let ((low, high), n) = (self.refused, self.sorted.len());
        (
            low.checked_sub(1).map_or(f64::NEG_INFINITY, |i| self.sorted[i as usize]),
            high.checked_sub(1).map_or(f64::INFINITY, |i| self.sorted[n - 1 - i as usize]),
        )
    }
}

/// The sample quantile of sorted values; `None` for none.
#[must_use]
pub fn of_sorted(sorted: &[f64], quantile: Rate) -> Option<f64> {
    let n = sorted.len();
    if n > 0 && quantile == Rate::HALF && n.is_multiple_of(2) {
        return Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]));
    }
    let rank = (n as f64 * quantile.get()).ceil() as usize;
    sorted.get(rank.max(1).min(n.max(1)) - 1).copied()
}
