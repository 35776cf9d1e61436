//! Whether the program forbids itself system calls. From then on the observer makes none that a locking program would
//! not make itself.
//!
//! # Contract
//! [`is_filtered`] is true once the process asked for a filter of system calls (seccomp), which may kill it for a
//! forbidden one. From then on facts about ending threads and forked children are missing, and events only if the
//! record needs more memory than it got just before.
//! # State
//! `FILTERED`: set before the filter takes effect, never cleared; forked children inherit it, as they do the filter.
//! # Evidence
//! `tests/programs/sandbox.c`.

use uncontended_atomic::{AtomicBool, Ordering::Relaxed};

static FILTERED: AtomicBool = AtomicBool::new(false);

/// Whether system calls may be forbidden.
pub(crate) fn is_filtered() -> bool {
    FILTERED.load(Relaxed)
}

/// Called just before they may be.
pub(crate) fn set_filtered() {
    FILTERED.store(true, Relaxed);
}
