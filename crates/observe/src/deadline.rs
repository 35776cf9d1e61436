//! Which deadlines the C library accepts: it looks at them before it tries a lock.
//!
//! # Evidence
//! `tests/programs/same_results.c`.
//! # Sources
//! glibc 2.36, nptl: `pthread_rwlock_common.c`, `pthread_mutex_timedlock.c`, `sem_timedwait.c`, `sem_clockwait.c`.

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, c_int, timespec};

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
