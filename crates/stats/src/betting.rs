//! The mean of values from a declared range, by betting against every mean it might have.
//!
//! # Contract
//! With a chance of at least `1 - max_error` the interval contains the mean at all times together, whatever the
//! distribution within the range. Without a declared range no such sequence exists: ask for quantiles then.
//! # Why it holds
//! Against "the mean is at most m" the gambler stakes a part of his capital on the next value exceeding m, a part that
//! depends on earlier values only. Under the hypothesis the game is not favourable, so that the capital is an
//! e-process. The part is capped at half of what could be lost. Capital against m falls in m, so that what is refuted
//! is an interval.
//! # Evidence
//! tests/truth_betting.rs.
//! # Sources
//! Waudby-Smith and Ramdas, arXiv 2010.09686: hedged capital with the predictable plug-in.

use crate::ball::Ball;
use crate::ln::{ln, ln_ball};
use crate::rate::{Invalid, MaxError};

/// The largest part of the possible loss that is staked.
const CAP: f64 = 0.5;

/// A mean within a declared range, one value at a time.
///
/// ```
/// use uncontended_stats::{MaxError, betting::BoundedMean};
/// let mut mean = BoundedMean::new(0.0, 10.0, MaxError::new(0.05)?)?;
/// for i in 0..1000 {
///     mean.push(f64::from(i % 3) + 1.0)?; // 1, 2, 3, 1, 2, 3
/// }
/// let (low, high) = mean.interval();
/// assert!(1.7 < low && low < 2.0 && 2.0 < high && high < 2.3);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct BoundedMean {
    low: f64,
    width: f64,
    max_error: MaxError,
    /// Each value, scaled to [0, 1], and the stake that was fixed before it.
    rounds: Vec<(f64, f64)>,
    sum: f64,
    squares: f64,
}

impl BoundedMean {
    /// A mean of values from `low..=high`.
    ///
    /// # Errors
    /// [`Invalid::Order`] unless `low < high`, both finite.
    pub fn new(low: f64, high: f64, max_error: MaxError) -> Result<BoundedMean, Invalid> {
        let width = high - low;
        if width > 0.0 && width.is_finite() {
            Ok(BoundedMean { low, width, max_error, rounds: Vec::new(), sum: 0.5, squares: 0.25 })
        } else {
            Err(Invalid::Order { low, high })
        }
    }

    /// Takes a value.
    ///
    /// # Errors
    /// [`Invalid::Value`] for a value outside the declared range, and the sequence is left as it was: to drop such
    /// values and go on would change the question.
    pub fn push(&mut self, value: f64) -> Result<(), Invalid> {
        if !(self.low..=self.low + self.width).contains(&value) {
            return Err(Invalid::Value(value));
        }
        let x = ((value - self.low) / self.width).clamp(0.0, 1.0);
        let i = (self.rounds.len() + 1) as f64;
        // All of this is known before `x`: i - 1 values, and half a value of 1/2.
        let variance = self.squares / i;
        let stake = (-2.0 * self.share().log() / (variance * i * ln(1.0 + i).mid)).sqrt();
        self.rounds.push((x, stake));
        self.sum += x;
        let mean = self.sum / (i + 1.0);
        self.squares += (x - mean) * (x - mean);
        Ok(())
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rounds.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Lower bounds of the logs of the e-processes that the mean is above, and below, `mean`; each decides at
    /// [`BoundedMean::needed`].
    #[must_use]
    pub fn log_evidence(&self, mean: f64) -> (f64, f64) {
        let m = (mean - self.low) / self.width;
        (self.log_capital(m, 1.0), self.log_capital(1.0 - m, -1.0))
    }

    /// What the log of an e-process has to reach.
    #[must_use]
    pub fn needed(&self) -> f64 {
        -self.share().log()
    }

    /// Where the mean lies.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        // A hair outwards makes up for the scaling's own rounding.
        let hair = 1e-14 * (self.width + self.low.abs());
        let below = self.width * self.refuted(1.0);
        let above = self.width * self.refuted(-1.0);
        let high = self.low + self.width;
        ((self.low + below - hair).max(self.low), (high - above + hair).min(high))
    }

    /// Half for either side.
    fn share(&self) -> MaxError {
        self.max_error.split(2)
    }

    /// The log of the capital of a gambler on values above `m` (sign 1), or, of the mirrored values, on those above the
    /// mirrored mean (sign -1).
    fn log_capital(&self, m: f64, sign: f64) -> f64 {
        if m <= 0.0 {
            return 0.0;
        }
        let mut sum = Ball::exact(0.0);
        for &(x, stake) in &self.rounds {
            let y = if sign > 0.0 { Ball::exact(x) } else { Ball::exact(1.0) - x };
            sum = sum + ln_ball((y - m) * stake.min(CAP / m) + 1.0);
        }
        sum.lower()
    }

    /// The largest mean, on the scale of [0, 1], that is certainly refuted from below.
    fn refuted(&self, sign: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if self.log_capital(middle, sign) >= self.needed() {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }
}
