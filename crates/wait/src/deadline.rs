//! Moments to wait until.

use std::fmt;
use std::time::Duration;

/// A moment on `CLOCK_MONOTONIC`: the same one however often a wait is begun again. One that has passed means a single
/// look at what is waited for.
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

    /// So many nanoseconds on the clock, which began at some moment of the kernel's choice.
    pub const fn at_ns(ns: u64) -> Deadline {
        Deadline(ns)
    }

    /// So long from now; [`NEVER`](Deadline::NEVER) if that is more than five centuries.
    pub fn after(time: Duration) -> Deadline {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Deadline(now_ns().saturating_add(ns))
    }

    /// Nanoseconds on the clock.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Whether the moment has come.
    pub fn has_passed(self) -> bool {
        self != Deadline::NEVER && self.0 <= now_ns()
    }

    /// How long until then; zero if it has passed.
    pub fn remaining(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(now_ns()))
    }

    /// In the kernel's words.
    pub(crate) fn limit_ns(self) -> Option<u64> {
        (self != Deadline::NEVER).then_some(self.0)
    }
}

/// Under the checker time stands still; a wait with a deadline may end by itself whenever it sleeps.
pub(crate) fn now_ns() -> u64 {
    if cfg!(unc_model) { 1 } else { uncontended_sys::clock::monotonic_ns() }
}

/// The deadline passed, and what was waited for had not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

impl std::error::Error for TimedOut {}
