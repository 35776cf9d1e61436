//! The ratio of two commands' quantiles: is B's p90 worse than A's beyond a margin?
//!
//! # Contract
//! Values come in pairs, one of A and one of B; infinity means a failure, worse than any other value. With a chance of
//! at least `1 - max_error` the interval contains the ratio of the quantiles, B's over A's, at all times
//! simultaneously, so every claim derived from it may be examined after each pair. *Better* is lower.
//!
//! [`QuantileRatio::of_sessions`] compares values that do not come in pairs, and may be more on one side: those of A
//! were collected first, and their number may depend on them; then those of B may be looked at one by one.
//! # What is assumed
//! The runs of a command are independent and identically distributed, with any distribution. The two runs of a pair are
//! independent or slow together: a disturbance that affects both makes the tests no less sound. Sessions are
//! independent.
//! # Why it holds
//! Let y be A's true quantile. If B's is not above r y, then at most a share p of A's values is below y, and at least p
//! of B's values is at or below r y. Each of the two has a binomial e-process against it; their product is an e-process
//! too: its factors are `1 + a (1[A < y] - p)` and `1 + b (p - 1[B <= r y])` with a, b >= 0 fixed by the past, and the
//! two indicators, both of low values, are not negatively correlated, so the product's mean is at most 1. Since y is
//! unknown, the product must reach the level for every y; the chance that it wrongly does is at most that for one y,
//! the true one. The other three tests are mirror images. Each direction has half of the error.
//!
//! Of sessions, the product alone is weak where one side has few values and the other many: a y beyond all values costs
//! the product the logarithm of the larger number. So the mean of the product (half of the weight) and of both factors
//! (a quarter each) is used, an e-process too.
//! # Evidence
//! tests/truth_quantile_ratio.rs.
//! # Sources
//! Howard and Ramdas, arXiv 1906.09712, section on A/B tests of quantiles, for the question; the product of e-processes
//! and the union over the nuisance parameter are Vovk and Wang's, arXiv 1912.06116.

use crate::eprocess::Prior;
use crate::judge::Verdict;
use crate::paired::{Claim, Margin, Relation};
use crate::quantile::of_sorted;
use crate::rate::{Counts, Invalid, MaxError, Rate};
use std::cell::OnceCell;
use std::f64::consts::LN_2;

/// A comparison of two quantiles that grows by one pair at a time.
///
/// ```
/// use uncontended_stats::{Claim, Margin, MaxError, QuantileRatio, Rate, Verdict};
/// let mut p90 = QuantileRatio::new(Rate::new(0.9)?, Margin::new(0.1)?, MaxError::new(0.01)?);
/// for i in 0..400 {
///     // The same median, but a fifth of B's runs takes twice as long.
///     p90.push(if i % 5 == 0 { 2.0 } else { 1.0 }, 1.0)?;
/// }
/// assert_eq!(p90.verdict(Claim::NoWorse), Verdict::No);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuantileRatio {
    quantile: Rate,
    margin: Margin,
    max_error: MaxError,
    a: Sample,
    b: Sample,
    /// Whether the values do not come in pairs.
    apart: bool,
    /// Whether B's quantile is above the margin, below it, not above it, not below it.
    found: OnceCell<[bool; 4]>,
}

/// The values of one side.
#[derive(Clone, Debug)]
struct Sample {
    quantile: Rate,
    sorted: Vec<f64>,
    /// Logs of the e-processes that a share is above the quantile's rate, and below it, by the number out of all.
    logs: OnceCell<(Vec<f64>, Vec<f64>)>,
}

impl Sample {
    fn new(quantile: Rate) -> Sample {
        Sample { quantile, sorted: Vec::new(), logs: OnceCell::new() }
    }

    fn push(&mut self, value: f64) {
        let at = self.sorted.partition_point(|&x| x <= value);
        self.sorted.insert(at, value);
        self.logs.take();
    }

    fn logs(&self) -> &(Vec<f64>, Vec<f64>) {
        self.logs.get_or_init(|| evidence(self.sorted.len() as u64, self.quantile))
    }

    /// The evidence that more than the quantile's share is where `s` values are.
    fn many(&self, s: usize) -> f64 {
        self.logs().0[s]
    }

    /// The evidence that less than that share is.
    fn few(&self, s: usize) -> f64 {
        self.logs().1[s]
    }
}

impl QuantileRatio {
    /// A comparison without any pairs.
    #[must_use]
    pub fn new(quantile: Rate, margin: Margin, max_error: MaxError) -> QuantileRatio {
        let (a, b) = (Sample::new(quantile), Sample::new(quantile));
        QuantileRatio { quantile, margin, max_error, a, b, apart: false, found: OnceCell::new() }
    }

    /// A comparison of values that do not come in pairs.
    ///
    /// ```
    /// use uncontended_stats::{Claim, Margin, MaxError, QuantileRatio, Rate, Verdict};
    /// let mut medians = QuantileRatio::of_sessions(Rate::HALF, Margin::new(0.1)?, MaxError::new(0.01)?);
    /// (0..100).try_for_each(|_| medians.push_a(1.0))?;
    /// (0..30).try_for_each(|_| medians.push_b(1.5))?;
    /// assert_eq!(medians.verdict(Claim::NoWorse), Verdict::No);
    /// # Ok::<(), uncontended_stats::Invalid>(())
    /// ```
    #[must_use]
    pub fn of_sessions(quantile: Rate, margin: Margin, max_error: MaxError) -> QuantileRatio {
        QuantileRatio { apart: true, ..QuantileRatio::new(quantile, margin, max_error) }
    }

    /// Takes a value of B and a value of A.
    ///
    /// # Errors
    /// [`Invalid::Value`] if one is NaN or negative.
    pub fn push(&mut self, b: f64, a: f64) -> Result<(), Invalid> {
        check(b)?;
        self.push_a(a)?;
        self.push_b(b)
    }

    /// Takes a value of A alone.
    ///
    /// # Errors
    /// [`Invalid::Value`] if it is NaN or negative.
    pub fn push_a(&mut self, a: f64) -> Result<(), Invalid> {
        self.found.take();
        check(a).map(|()| self.a.push(a))
    }

    /// Takes a value of B alone.
    ///
    /// # Errors
    /// [`Invalid::Value`] if it is NaN or negative.
    pub fn push_b(&mut self, b: f64) -> Result<(), Invalid> {
        self.found.take();
        check(b).map(|()| self.b.push(b))
    }

    fn found(&self) -> [bool; 4] {
        *self.found.get_or_init(|| {
            let ((least, most), needed) = (self.margin.bounds(), self.needed());
            [
                self.log_above(most) >= needed,
                self.log_below(least) >= needed,
                self.log_not_above(most) >= needed,
                self.log_not_below(least) >= needed,
            ]
        })
    }

    /// The number of pairs.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.a.sorted.len().min(self.b.sorted.len()) as u64
    }

    /// The value that each log of an e-process has to reach: both directions share the error bound.
    #[must_use]
    pub fn needed(&self) -> f64 {
        -self.max_error.split(2).log()
    }

    /// The ratio of the sample quantiles; none if either is zero or infinite.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        let of = |sample: &Sample| of_sorted(&sample.sorted, self.quantile);
        let (a, b) = (of(&self.a)?, of(&self.b)?);
        Some(if a == b { 1.0 } else { b / a }).filter(|ratio| ratio.is_finite())
    }

    /// How many of B's values are at most `ratio` times A's sample quantile.
    #[must_use]
    pub fn within(&self, ratio: f64) -> u64 {
        let end = of_sorted(&self.a.sorted, self.quantile).map_or(f64::INFINITY, |a| a * ratio);
        self.b.sorted.partition_point(|&b| b <= end) as u64
    }

    /// The logs of the e-processes that the ratio is below, and above, `ratio`; each decides at
    /// [`QuantileRatio::needed`].
    #[must_use]
    pub fn log_evidence(&self, ratio: f64) -> (f64, f64) {
        (self.log_below(ratio), self.log_above(ratio))
    }

    /// Refutes "B's is at most `ratio` times A's".
    fn log_above(&self, ratio: f64) -> f64 {
        self.exceeds(&self.a, &self.b, |a, b| b <= a * ratio)
    }

    /// Refutes "B's is at least `ratio` times A's", which is "A's is at most B's over `ratio`".
    fn log_below(&self, ratio: f64) -> f64 {
        self.exceeds(&self.b, &self.a, |b, a| a * ratio <= b)
    }

    /// Refutes "B's is above `ratio` times A's".
    fn log_not_above(&self, ratio: f64) -> f64 {
        self.does_not_exceed(&self.a, &self.b, |a, b| b <= a * ratio)
    }

    /// Refutes "B's is below `ratio` times A's", which is "A's is above B's over `ratio`".
    fn log_not_below(&self, ratio: f64) -> f64 {
        self.does_not_exceed(&self.b, &self.a, |b, a| a * ratio <= b)
    }

    /// The evidence of both sides together.
    fn joined(&self, x: f64, z: f64) -> f64 {
        match self.apart {
            false => x + z,
            true => (x + z - LN_2.next_up()).max(x.max(z) - 2.0 * LN_2.next_up()),
        }
    }

    /// The least evidence, over every y, that too many of `x` are below y and too few of `z` up to the corresponding
    /// value. Between two values of `x` it is least at the upper one.
    fn exceeds(&self, x: &Sample, z: &Sample, up_to: impl Fn(f64, f64) -> bool) -> f64 {
        let (xs, zs) = (&x.sorted, &z.sorted);
        let Some(last) = xs.len().checked_sub(1) else { return 0.0 };
        let (mut below, mut least) = (0, f64::INFINITY);
        for (rank, &y) in xs.iter().enumerate() {
            if rank > 0 && xs[rank - 1] < y {
                below = rank;
            }
            let corresponding = zs.partition_point(|&z| up_to(y, z));
            least = least.min(self.joined(x.many(below), z.few(corresponding)));
        }
        // Beyond every finite value, and so beyond every finite value of the other side.
        let finite = |values: &[f64]| values.partition_point(|value| value.is_finite());
        let beyond = if xs[last].is_finite() { finite(zs) } else { zs.len() };
        least.min(self.joined(x.many(finite(xs)), z.few(beyond)))
    }

    /// The least evidence, over every y, that too few of `x` are up to y and too many of `z` up to the corresponding
    /// value. Between two values of `x` it is least at the lower one.
    fn does_not_exceed(&self, x: &Sample, z: &Sample, up_to: impl Fn(f64, f64) -> bool) -> f64 {
        let (xs, zs) = (&x.sorted, &z.sorted);
        if xs.is_empty() {
            return 0.0;
        }
        let mut least = self.joined(x.few(0), z.many(0));
        for (rank, &y) in xs.iter().enumerate() {
            if xs.get(rank + 1) != Some(&y) {
                let corresponding = zs.partition_point(|&z| up_to(y, z));
                least = least.min(self.joined(x.few(rank + 1), z.many(corresponding)));
            }
        }
        least
    }

    /// The interval of the ratio, valid at all times simultaneously: from 0 to infinity before anything is known.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        let needed = self.needed();
        let low = last_true(|ratio| self.log_above(ratio) >= needed);
        let high = last_true(|ratio| self.log_not_above(ratio) < needed);
        (low, if high >= f64::MAX { f64::INFINITY } else { high.next_up() })
    }

    /// The relation of B's quantile to A's.
    #[must_use]
    pub fn relation(&self) -> Relation {
        match self.found() {
            [true, ..] => Relation::Worse,
            [_, true, ..] => Relation::Better,
            [_, _, true, true] => Relation::Equivalent,
            _ => Relation::Unknown,
        }
    }

    /// Whether the claim holds (yes) or is refuted (no).
    #[must_use]
    pub fn verdict(&self, claim: Claim) -> Verdict {
        let [above, below, not_above, not_below] = self.found();
        let (holds, refuted) = match claim {
            Claim::NoWorse => (not_above, above),
            Claim::Better => (below, not_below),
            Claim::Equivalent => (not_above && not_below, above || below),
            Claim::Different => (above || below, not_above && not_below),
        };
        match () {
            () if holds => Verdict::Yes,
            () if refuted => Verdict::No,
            () => Verdict::Undecided,
        }
    }

    /// The fewest pairs that can decide any claim, if all of B were on one side of all of A.
    #[must_use]
    pub fn fewest_pairs(quantile: Rate, max_error: MaxError) -> u64 {
        let needed = -max_error.split(2).log();
        let decides = |n: u64| {
            let of = |s: u64| [log_many(n, s, quantile), log_many_not(n, s, quantile)];
            let ([many_0, few_0], [many_n, few_n]) = (of(0), of(n));
            (many_0 + few_0).min(many_n + few_n) >= needed
        };
        let high = (0..40).map(|i| 1u64 << i).find(|&n| decides(n)).unwrap_or(1 << 40);
        let (mut low, mut high) = (high / 2, high);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if decides(middle) { high = middle } else { low = middle }
        }
        high
    }
}

fn check(value: f64) -> Result<(), Invalid> {
    if value.is_nan() || value < 0.0 { Err(Invalid::Value(value)) } else { Ok(()) }
}

/// The log of the e-process that more than the quantile's share is where `s` of `n` are.
fn log_many(n: u64, s: u64, quantile: Rate) -> f64 {
    Counts::new(n, s).map_or(0.0, |counts| Prior::Above(quantile).log_evidence(counts, quantile))
}

/// The log of the e-process that less than the quantile's share is.
fn log_many_not(n: u64, s: u64, quantile: Rate) -> f64 {
    Counts::new(n, s).map_or(0.0, |counts| Prior::Below(quantile).log_evidence(counts, quantile))
}

fn evidence(n: u64, quantile: Rate) -> (Vec<f64>, Vec<f64>) {
    let all = |log: fn(u64, u64, Rate) -> f64| (0..=n).map(|s| log(n, s, quantile)).collect();
    (all(log_many), all(log_many_not))
}

/// The largest ratio for which a monotone predicate holds; 0 if it never does.
fn last_true(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0u64, f64::MAX.to_bits());
    if holds(f64::MAX) {
        return f64::MAX;
    }
    // Doubles of one sign are ordered like their bits.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(f64::from_bits(middle)) { low = middle } else { high = middle }
    }
    f64::from_bits(low)
}
