//! A histogram of durations with buckets of equal relative width.
//!
//! # Contract
//! A bucket is at most `2^-bits` of its lower edge wide; values below `2^(bits+1)` have a bucket each. Every query
//! returns the two edges between which the result lies, so rounding widens an interval and never shifts it.
//! Recording allocates nothing; merging is exact.
//! # Drawing (bits = 2)
//! ```text
//! 0 1 2 3 4 5 6 7 | 8-9 10-11 12-13 14-15 | 16-19 20-23 24-27 28-31 | 32-39 ...
//! ```
//! # Evidence
//! tests/truth_histogram.rs.
//! # Sources
//! Tene's HdrHistogram for the layout.

use crate::judge::Method;
use crate::quantile;
use crate::rate::{MaxError, Rate};

/// Counts of values by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bits: u32,
    counts: Vec<u64>,
    total: u64,
    least: u64,
    most: u64,
}

/// Two histograms of different precision cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentPrecision;

impl std::fmt::Display for DifferentPrecision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the histograms have buckets of different width")
    }
}

impl std::error::Error for DifferentPrecision {}

impl Histogram {
    /// An empty histogram with a relative error of `2^-bits`; `bits` is clamped to 1..=16. It has `(65 - bits) 2^bits`
    /// buckets: 7,424 (58 KiB) for 7 bits, an error below 0.8 %.
    #[must_use]
    pub fn new(bits: u32) -> Histogram {
        let bits = bits.clamp(1, 16);
        Histogram {
            bits,
            counts: vec![0; (65 - bits as usize) << bits],
            total: 0,
            least: u64::MAX,
            most: 0,
        }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times > 0 {
            let bucket = self.bucket(value);
            self.counts[bucket] += times;
            self.total += times;
            self.least = self.least.min(value);
            self.most = self.most.max(value);
        }
    }

    /// Adds all counts of another histogram.
    ///
    /// # Errors
    /// [`DifferentPrecision`]; nothing is added.
    pub fn merge(&mut self, other: &Histogram) -> Result<(), DifferentPrecision> {
        if self.bits != other.bits {
            return Err(DifferentPrecision);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        Ok(())
    }

    /// The number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The smallest value, exactly.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        (self.total > 0).then_some(self.least)
    }

    /// The largest value, exactly.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        (self.total > 0).then_some(self.most)
    }

    /// The two values, both inclusive, between which the `rank`-th smallest (from 0) lies.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<(u64, u64)> {
        let mut before = 0;
        self.counts.iter().enumerate().find_map(|(bucket, &count)| {
            before += count;
            (before > rank).then(|| {
                let (low, high) = self.edges(bucket);
                (low.max(self.least), high.min(self.most))
            })
        })
    }

    /// The two values between which the sample quantile lies.
    #[must_use]
    pub fn estimate(&self, quantile: Rate) -> Option<(u64, u64)> {
        let rank = (self.total as f64 * quantile.get()).ceil() as u64;
        self.at_rank(rank.max(1).min(self.total.max(1)) - 1)
    }

    /// The anytime-valid interval of a quantile, widened to the edges; `None` if nothing bounds it yet.
    #[must_use]
    pub fn interval(
        &self,
        quantile: Rate,
        method: Method,
        max_error: MaxError,
    ) -> (Option<u64>, Option<u64>) {
        let (low, high) = quantile::ranks(self.total, quantile, method, max_error);
        (
            low.and_then(|rank| Some(self.at_rank(rank)?.0)),
            high.and_then(|rank| Some(self.at_rank(rank)?.1)),
        )
    }

    /// Lower and upper bounds of the number of values not above `value`.
    #[must_use]
    pub fn at_most(&self, value: u64) -> (u64, u64) {
        let bucket = self.bucket(value);
        let before: u64 = self.counts[..bucket].iter().sum();
        let with = before + self.counts[bucket];
        let whole = value >= self.edges(bucket).1.min(self.most);
        (if whole { with } else { before }, with)
    }

    /// Every nonempty bucket: its edges, both inclusive, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(bucket, &count)| {
            let (low, high) = self.edges(bucket);
            (low, high, count)
        })
    }

    fn bucket(&self, value: u64) -> usize {
        let octave = (value | 1).ilog2();
        let shift = octave.saturating_sub(self.bits);
        ((u64::from(shift) << self.bits) + (value >> shift)) as usize
    }

    fn edges(&self, bucket: usize) -> (u64, u64) {
        let shift = ((bucket as u64) >> self.bits).saturating_sub(1);
        let low = (bucket as u64 - (shift << self.bits)) << shift;
        (low, low + ((1u64 << shift) - 1))
    }
}
