//! Whether the program forbids itself system calls: from then on we make none that a locking program would not make
//! itself.
//!
//! # Contract
//! [`shut`] is true once the process asked for a filter of system calls (seccomp), which may kill for a forbidden one.
//! What is left out then are facts of threads at their end and of forked children; events only when the record needs
//! more memory than it was given just before.
//! # State
//! `SHUT`: set before the filter is in force, never cleared; inherited by forked children as the filter is.
//! # Evidence
//! `tests/programs/sandbox.c`.

use uncontended_atomic::{AtomicBool, Ordering::Relaxed};

static SHUT: AtomicBool = AtomicBool::new(false);

/// Whether system calls may be forbidden.
pub(crate) fn shut() -> bool {
    SHUT.load(Relaxed)
}

/// They may be from now on.
pub(crate) fn shut_now() {
    SHUT.store(true, Relaxed);
}
