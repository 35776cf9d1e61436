//! Deadlines of waits: which ones the C library accepts (it looks at them before it tries a lock), and waits that have
//! one.
//!
//! # Evidence
//! `tests/programs/same_results.c`.
//! # Sources
//! glibc 2.36, nptl: `pthread_rwlock_common.c`, `pthread_mutex_timedlock.c`, `sem_timedwait.c`, `sem_clockwait.c`.

use crate::local::Here;
use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, c_int, timespec};
use uncontended_events::events::Blocked;
use uncontended_events::site::Row;

/// Whether a time can be waited for on this clock.
pub(crate) fn is_clock(clock: c_int) -> bool {
    matches!(clock, CLOCK_REALTIME | CLOCK_MONOTONIC)
}

/// Whether the C library's waits accept the clock and the time. A null pointer is left to them.
///
/// # Safety
/// `until` is null, or what the program passed to a wait.
pub(crate) unsafe fn is_valid(clock: c_int, until: *const timespec) -> bool {
    // SAFETY: by the contract, and it stays until the interposed function returns (P2).
    let until = unsafe { until.as_ref() };
    is_clock(clock) && until.is_some_and(|until| (0..1_000_000_000).contains(&until.tv_nsec))
}

/// What limits a wait.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    Never,
    Deadline,
}

impl Limit {
    /// Of a call with these arguments that are deadlines.
    pub(crate) const fn of(deadlines: &[&str]) -> Limit {
        if deadlines.is_empty() { Limit::Never } else { Limit::Deadline }
    }
}

/// Begins a wait.
pub(crate) fn blocked(at: Here, row: Row, limit: Limit) -> Blocked<Here> {
    let blocked = Blocked::begin(at, row);
    if limit == Limit::Deadline {
        blocked.has_deadline();
    }
    blocked
}
