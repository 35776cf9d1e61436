//! Paired comparison: does B do worse than A beyond a margin?
//!
//! # Contract
//! Only the ratio B/A of each pair is used, and only the order of the ratios. With a chance of at least `1 - max_error`
//! the interval contains the median of the ratios at all times simultaneously, so every claim derived from it may be
//! examined after each pair, and all claims at once. *Better* is lower: for a metric where higher is better, give A/B.
//! It is the intersection of the intervals of all looks (of those since the median of the ratios seen was last outside
//! it): what was refuted once stays so.
//! # What is assumed
//! The pairs are independent, or at least each ratio is equally likely to be above or below the median given the
//! earlier ones. Drift that both arms share leaves the ratio alone. Nothing is assumed about the distribution of the
//! values.
//! # Evidence
//! tests/truth_paired.rs: A/A over bimodal, heavy-tailed, constant, tied and drifting streams; published lock runs.
//! # Sources
//! The sign test made sequential (Robbins 1970) and inverted over the order statistics (Howard and Ramdas, arXiv
//! 1906.09712).

use crate::eprocess::Prior;
use crate::judge::{Method, Verdict};
use crate::quantile::QuantileSequence;
use crate::rate::{Counts, Invalid, MaxError, Rate};

/// The smallest factor that matters: ratios from `1 / (1 + margin)` to `1 + margin` are equivalent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Margin(f64);

impl Margin {
    /// # Errors
    /// [`Invalid::Value`] unless the margin is finite and not negative.
    pub fn new(margin: f64) -> Result<Margin, Invalid> {
        if (0.0..f64::INFINITY).contains(&margin) {
            Ok(Margin(margin))
        } else {
            Err(Invalid::Value(margin))
        }
    }

    /// The smallest and the largest ratio that count as equivalent.
    #[must_use]
    pub fn bounds(self) -> (f64, f64) {
        (1.0 / (1.0 + self.0), 1.0 + self.0)
    }

    /// The relation of B to A, if their ratio is within this interval.
    #[must_use]
    pub fn relation(self, (low, high): (f64, f64)) -> Relation {
        let (least, most) = self.bounds();
        match () {
            () if high < least => Relation::Better,
            () if low > most => Relation::Worse,
            () if low >= least && high <= most => Relation::Equivalent,
            () => Relation::Unknown,
        }
    }

    /// Whether a claim holds (yes) or is refuted (no) by every ratio within this interval.
    #[must_use]
    pub fn verdict(self, (low, high): (f64, f64), claim: Claim) -> Verdict {
        let (least, most) = self.bounds();
        let (holds, refuted) = match claim {
            Claim::NoWorse => (high <= most, low > most),
            Claim::Better => (high < least, low >= least),
            Claim::Equivalent => (low >= least && high <= most, high < least || low > most),
            Claim::Different => (high < least || low > most, low >= least && high <= most),
        };
        match () {
            () if holds => Verdict::Yes,
            () if refuted => Verdict::No,
            () => Verdict::Undecided,
        }
    }
}

/// The claim about B against A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// B is not worse than A beyond the margin.
    #[default]
    NoWorse,
    /// B is better than A beyond the margin.
    Better,
    /// They are equivalent within the margin.
    Equivalent,
    /// One is better than the other beyond the margin.
    Different,
}

/// The relation of B to A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// B is better beyond the margin.
    Better,
    /// B is worse beyond the margin.
    Worse,
    /// Equivalent within the margin.
    Equivalent,
    /// Unknown as yet.
    Unknown,
}

/// A comparison that grows by one pair at a time.
///
/// ```
/// use uncontended_stats::{Claim, Margin, MaxError, Paired, Relation, Verdict};
/// let mut paired = Paired::new(Margin::new(0.02)?, MaxError::new(0.01)?);
/// while paired.verdict(Claim::NoWorse) == Verdict::Undecided {
///     paired.push(1.30)?; // B takes 30 % longer, every time.
/// }
/// assert_eq!((paired.verdict(Claim::NoWorse), paired.relation()), (Verdict::No, Relation::Worse));
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Paired {
    margin: Margin,
    max_error: MaxError,
    ratios: QuantileSequence,
    interval: (f64, f64),
}

impl Paired {
    /// A comparison without any pairs.
    #[must_use]
    pub fn new(margin: Margin, max_error: MaxError) -> Paired {
        let ratios = QuantileSequence::new(Rate::HALF, Method::OneSided, max_error);
        Paired { margin, max_error, ratios, interval: (f64::NEG_INFINITY, f64::INFINITY) }
    }

    /// Takes the ratio of one pair: of single runs, or of the medians of two blocks. Two failures, or two zeros, give a
    /// ratio of 1; a failure of B alone gives infinity.
    ///
    /// # Errors
    /// [`Invalid::Value`] if the ratio is NaN or negative.
    pub fn push(&mut self, ratio: f64) -> Result<(), Invalid> {
        if ratio < 0.0 {
            return Err(Invalid::Value(ratio));
        }
        self.ratios.push(ratio)?;
        let (low, high) = self.ratios.interval();
        let all = (low.max(0.0).max(self.interval.0), high.min(self.interval.1));
        let has_estimate = self.estimate().is_some_and(|ratio| (all.0..=all.1).contains(&ratio));
        self.interval = if has_estimate { all } else { (low.max(0.0), high) };
        Ok(())
    }

    /// The number of pairs.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.ratios.len() as u64
    }

    /// The median of the ratios seen.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        self.ratios.estimate()
    }

    /// The interval of the median ratio, valid at all times simultaneously. It contains the estimate.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        self.interval
    }

    /// The relation of B to A so far.
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.margin.relation(self.interval)
    }

    /// Whether the claim holds (yes) or is refuted (no).
    #[must_use]
    pub fn verdict(&self, claim: Claim) -> Verdict {
        self.margin.verdict(self.interval, claim)
    }

    /// The log of the e-processes that the median is below, and above, `ratio`, at this look. Each decides once it has
    /// reached [`Paired::needed`].
    #[must_use]
    pub fn log_evidence(&self, ratio: f64) -> (f64, f64) {
        let sorted = self.ratios.sorted();
        let (below, up_to) =
            (sorted.partition_point(|&x| x < ratio), sorted.partition_point(|&x| x <= ratio));
        let evidence = |s: usize| {
            Counts::new(self.pairs(), s as u64)
                .map_or(0.0, |c| Prior::Above(Rate::HALF).log_evidence(c, Rate::HALF))
        };
        (evidence(below), evidence(sorted.len() - up_to))
    }

    /// The value that the log of an e-process has to reach: both sides share the error bound.
    #[must_use]
    pub fn needed(&self) -> f64 {
        -self.max_error.split(2).log()
    }

    /// The fewest pairs that can decide any claim, if every ratio were on one side.
    #[must_use]
    pub fn fewest_pairs(max_error: MaxError) -> u64 {
        let bounded =
            |n: u64| crate::quantile::ranks(n, Rate::HALF, Method::OneSided, max_error).0.is_some();
        let high = (0..40).map(|i| 1u64 << i).find(|&n| bounded(n)).unwrap_or(1 << 40);
        (high / 2..=high).find(|&n| bounded(n)).unwrap_or(high)
    }
}

/// The ratio of two values, as [`Paired::push`] takes it: two zeros are equal.
///
/// # Errors
/// [`Invalid::Value`] for a negative value or NaN.
pub fn ratio(b: f64, a: f64) -> Result<f64, Invalid> {
    for value in [a, b] {
        if value.is_nan() || value < 0.0 {
            return Err(Invalid::Value(value));
        }
    }
    Ok(if a == b { 1.0 } else { b / a })
}
