//! Programs that forbid themselves system calls: from then on we make none that a locking program would not make itself.
//!
//! # Contract
//! [`shut`] is true once the process asked for a filter of system calls (seccomp), which may kill for a forbidden one. What
//! is left out then are facts of threads at their end and of forked children; events only when the record needs more memory
//! than it was given just before.
//! # State
//! `SHUT`: set before the filter is in force, never cleared; inherited by forked children as the filter is.
//! # Evidence
//! `tests/programs/sandbox.c`.

use crate::{host, image, module};
use libc::{PR_SET_SECCOMP, c_int, c_long};
use uncontended_atomic::{AtomicBool, Ordering::Relaxed};

static SHUT: AtomicBool = AtomicBool::new(false);

/// Whether system calls may be forbidden.
pub(crate) fn shut() -> bool {
    SHUT.load(Relaxed)
}

/// The program makes this system call through `syscall`.
pub(crate) fn look_at(number: c_long, first: usize) {
    if number == libc::SYS_seccomp || number == libc::SYS_prctl && first as c_int == PR_SET_SECCOMP
    {
        image::provide();
        module::learn_all();
        SHUT.store(true, Relaxed);
    }
}

/// The C library's `prctl`.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    look_at(libc::SYS_prctl, option as usize);
    // SAFETY: the program called this function with these arguments.
    unsafe { host::prctl(option, a, b, c, d) }
}
