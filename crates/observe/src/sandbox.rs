//! Whether the program forbids itself system calls. From then on the observer makes none at all: some sandboxes kill
//! for any call but reading, writing and leaving. Its memory for then is in [`pieces`](crate::pieces).
//!
//! # Contract
//! [`is_filtered`] is true once the process asked for a filter of system calls (seccomp), which may kill it for a
//! forbidden one. From then on facts about ending threads and forked children are missing, and events only if the
//! record needs more memory than it got just before, or more threads record than there are pieces of it. A filter that
//! is asked for by an instruction of the program's own is not seen.
//! # State
//! `FILTERED`: set before the filter takes effect, never cleared; forked children inherit it, as they do the filter.
//! # Evidence
//! `tests/programs`: `sandbox.c`, `sandbox_kills.c`.

use uncontended_atomic::{AtomicBool, Ordering::Relaxed};

static FILTERED: AtomicBool = AtomicBool::new(false);

/// Whether system calls may be forbidden.
#[inline(always)]
pub(crate) fn is_filtered() -> bool {
    FILTERED.load(Relaxed)
}

/// Called just before they may be.
pub(crate) fn set_filtered() {
    FILTERED.store(true, Relaxed);
}
