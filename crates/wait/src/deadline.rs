//! Absolute points in time that bound a wait.

use std::fmt;
use std::time::Duration;

/// A point in time on `CLOCK_MONOTONIC`. It does not move when a wait is retried. With a deadline in the past a wait
/// checks its condition once.
///
/// ```
/// use uncontended_wait::Deadline;
/// use std::time::Duration;
/// let deadline = Deadline::after(Duration::from_millis(5));
/// assert!(!deadline.has_passed() && deadline < Deadline::NEVER);
/// std::thread::sleep(deadline.remaining());
/// assert!(deadline.has_passed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline(u64);

impl Deadline {
    /// No deadline.
    pub const NEVER: Deadline = Deadline(u64::MAX);

    /// At `ns` nanoseconds on the clock, whose epoch the kernel chooses.
    pub const fn at_ns(ns: u64) -> Deadline {
        Deadline(ns)
    }

    /// `time` from now; [`NEVER`](Deadline::NEVER) if that is more than five centuries away.
    pub fn after(time: Duration) -> Deadline {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Deadline(now_ns().saturating_add(ns))
    }

    /// Nanoseconds on the clock.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Whether the deadline has passed.
    pub fn has_passed(self) -> bool {
        self != Deadline::NEVER && self.0 <= now_ns()
    }

    /// The time left; zero if the deadline has passed.
    pub fn remaining(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(now_ns()))
    }

    /// As the kernel's interface takes it: `None` without a deadline.
    pub(crate) fn limit_ns(self) -> Option<u64> {
        (self != Deadline::NEVER).then_some(self.0)
    }
}

impl From<std::time::Instant> for Deadline {
    /// The same point in time; one that has passed stays passed.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let soon = uncontended_wait::Deadline::from(Instant::now() + Duration::from_secs(1));
    /// assert!(!soon.has_passed() && soon.remaining() <= Duration::from_secs(1));
    /// ```
    fn from(instant: std::time::Instant) -> Deadline {
        Deadline::after(instant.saturating_duration_since(std::time::Instant::now()))
    }
}

/// The current time. Under the checker time stands still; a wait with a deadline may end by itself whenever it sleeps.
pub(crate) fn now_ns() -> u64 {
    if cfg!(unc_model) { 1 } else { uncontended_sys::clock::monotonic_ns() }
}

/// The deadline passed before the condition held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

impl std::error::Error for TimedOut {}
