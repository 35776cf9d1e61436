//! How long ago a deadline was.
//!
//! # Evidence
//! `tests/pieces.rs`; `tests/programs/conditions.c`.

/// A time on some clock, as `struct timespec` has it.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// Whole seconds.
    pub seconds: i64,
    /// The rest, in nanoseconds.
    pub ns: i64,
}

/// How long ago the deadline was, in nanoseconds, by the clock on which it passed last: the time `now` of each clock
/// that it may refer to. 0 if it has passed on none.
pub fn late_ns(deadline: Time, now: impl IntoIterator<Item = Time>) -> u64 {
    let late = now.into_iter().filter_map(|now| {
        let seconds = now.seconds.checked_sub(deadline.seconds)?;
        let ns = seconds.checked_mul(1_000_000_000)?.checked_add(now.ns - deadline.ns)?;
        u64::try_from(ns).ok()
    });
    late.min().unwrap_or(0)
}
