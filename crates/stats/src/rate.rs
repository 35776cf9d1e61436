//! The types that every test uses: a rate, counts, an error bound. They are validated once, here.
//!
//! # Contract
//! A value of these types is valid; a function that takes one neither fails nor panics because of its value.
//! # Invariants
//! R1: `Rate` holds p and 1 - p as exact pairs of doubles: every double p in (0, 1) has an exact 1 - p of two parts.
//! R2: `Counts` has `successes <= trials <= 2^53`, so that all its numbers are doubles.
//! R3: `MaxError::log` is never above the true logarithm.

use crate::ball::Pair;
use crate::ln::ln;
use std::fmt;

/// Most trials that a certified bound accepts: beyond, a count need not be a double.
pub const MAX_TRIALS: u64 = 1 << 53;

/// Why a number given to the library is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Invalid {
    /// A rate that is not strictly between 0 and 1.
    Rate(f64),
    /// A maximal error that is not strictly between 0 and 1.
    MaxError(f64),
    /// More successes than trials, or more than [`MAX_TRIALS`] trials.
    Counts {
        /// Trials given.
        trials: u64,
        /// Successes given.
        successes: u64,
    },
    /// Two thresholds of which the lower is not below the upper.
    Order {
        /// The one given as lower.
        low: f64,
        /// The one given as upper.
        high: f64,
    },
    /// A value that is not a finite number, or is outside the declared range.
    Value(f64),
    /// Nothing to judge.
    Empty,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Invalid::Rate(p) => write!(f, "{p} is not a rate: it must be above 0 and below 1"),
            Invalid::MaxError(e) => {
                write!(f, "{e} is not an error bound: it must be above 0 and below 1")
            }
            Invalid::Counts { trials, successes } if successes > trials => {
                write!(f, "{successes} successes are more than {trials} trials")
            }
            Invalid::Counts { trials, .. } => write!(f, "{trials} trials are more than 2^53"),
            Invalid::Order { low, high } => {
                write!(f, "the lower threshold {low} is not below the upper one, {high}")
            }
            Invalid::Value(x) => write!(f, "{x} is not a finite number within the declared range"),
            Invalid::Empty => write!(f, "there are no values"),
        }
    }
}

impl std::error::Error for Invalid {}

/// A probability strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The rate.
    pub(crate) p: Pair,
    /// One minus the rate.
    pub(crate) q: Pair,
}

impl Rate {
    /// One half.
    pub const HALF: Rate = Rate { p: Pair { hi: 0.5, lo: 0.0 }, q: Pair { hi: 0.5, lo: 0.0 } };

    /// # Errors
    /// [`Invalid::Rate`] unless `0 < p < 1`.
    pub fn new(p: f64) -> Result<Rate, Invalid> {
        if p > 0.0 && p < 1.0 {
            let q = Pair::sum(1.0, -p);
            debug_assert_eq!((q.hi - 1.0) + q.lo, -p, "R1: both operations are exact");
            Ok(Rate { p: Pair { hi: p, lo: 0.0 }, q })
        } else {
            Err(Invalid::Rate(p))
        }
    }

    /// The rate as a double (exact, unless it is the complement of a rate near 0).
    #[must_use]
    pub fn get(self) -> f64 {
        self.p.hi
    }

    /// One minus the rate, exactly.
    #[must_use]
    pub fn complement(self) -> Rate {
        Rate { p: self.q, q: self.p }
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Rate) -> Option<std::cmp::Ordering> {
        (self.p.hi, self.p.lo).partial_cmp(&(other.p.hi, other.p.lo))
    }
}

/// Trials, and how many of them succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    trials: u64,
    successes: u64,
}

impl Counts {
    /// ```
    /// use uncontended_stats::Counts;
    /// assert_eq!(Counts::new(5, 5)?.observed(), 1.0);
    /// assert_eq!(Counts::new(5, 6).unwrap_err().to_string(), "6 successes are more than 5 trials");
    /// assert!(Counts::new(1 << 54, 6).unwrap_err().to_string().ends_with("trials are more than 2^53"));
    /// # Ok::<(), uncontended_stats::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Counts`] unless `successes <= trials <= 2^53`.
    pub fn new(trials: u64, successes: u64) -> Result<Counts, Invalid> {
        if successes <= trials && trials <= MAX_TRIALS {
            Ok(Counts { trials, successes })
        } else {
            Err(Invalid::Counts { trials, successes })
        }
    }

    /// The number of trials.
    #[must_use]
    pub fn trials(self) -> u64 {
        self.trials
    }

    /// The number of successes.
    #[must_use]
    pub fn successes(self) -> u64 {
        self.successes
    }

    /// The number of failures.
    #[must_use]
    pub fn failures(self) -> u64 {
        self.trials - self.successes
    }

    /// Successes and failures exchanged.
    #[must_use]
    pub fn complement(self) -> Counts {
        Counts { trials: self.trials, successes: self.failures() }
    }

    /// Successes per trial; one half before the first.
    #[must_use]
    pub fn observed(self) -> f64 {
        if self.trials == 0 { 0.5 } else { self.successes as f64 / self.trials as f64 }
    }

    /// Counts one more trial; saturates at [`MAX_TRIALS`].
    pub fn push(&mut self, success: bool) {
        if self.trials < MAX_TRIALS {
            self.trials += 1;
            self.successes += u64::from(success);
            debug_assert!(self.successes <= self.trials, "R2");
        }
    }

    /// These counts with `more` further successes; saturates at [`MAX_TRIALS`].
    #[must_use]
    pub(crate) fn and_good(self, more: u64) -> Counts {
        let more = more.min(MAX_TRIALS - self.trials);
        Counts { trials: self.trials + more, successes: self.successes + more }
    }
}

/// The largest acceptable chance of a wrong answer, over all looks together.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct MaxError {
    epsilon: f64,
    log: f64,
}

impl MaxError {
    /// # Errors
    /// [`Invalid::MaxError`] unless `0 < epsilon < 1`.
    pub fn new(epsilon: f64) -> Result<MaxError, Invalid> {
        if epsilon > 0.0 && epsilon < 1.0 {
            let log = ln(epsilon).lower();
            debug_assert!(log < 0.0, "R3: below the logarithm of a number below 1");
            Ok(MaxError { epsilon, log })
        } else {
            Err(Invalid::MaxError(epsilon))
        }
    }

    /// The bound itself.
    #[must_use]
    pub fn get(self) -> f64 {
        self.epsilon
    }

    /// The natural logarithm of the bound, rounded down.
    #[must_use]
    pub fn log(self) -> f64 {
        self.log
    }

    /// A fraction of the bound, between 0 and 1, rounded down.
    ///
    /// ```
    /// use uncontended_stats::MaxError;
    /// let bound = MaxError::new(0.01)?;
    /// let part = bound.part(0.25)?.get();
    /// assert!(0.002499 < part && part < 0.0025);
    /// assert!(bound.part(0.0).is_err() && bound.part(1.01).is_err());
    /// # Ok::<(), uncontended_stats::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid::MaxError`] unless `0 < share <= 1`.
    pub fn part(self, share: f64) -> Result<MaxError, Invalid> {
        if share > 0.0 && share <= 1.0 {
            MaxError::new((self.epsilon * share).next_down())
        } else {
            Err(Invalid::MaxError(share))
        }
    }

    /// An equal share for each of `tests` tests, rounded down (Bonferroni).
    #[must_use]
    pub fn split(self, tests: u32) -> MaxError {
        let share = self.epsilon / f64::from(tests.max(1));
        let down = if tests <= 1 { share } else { share.next_down() }.max(f64::from_bits(1));
        MaxError { epsilon: down, log: ln(down).lower() }
    }
}
