//! The calls by which a program forbids itself system calls. Just before them, the observer asks the kernel for what it
//! will need.
//!
//! # Contract
//! A thread in strict mode records nothing from then on: the kernel also forbids it to read the processor's clock.
//! # Sources
//! Linux, kernel/seccomp.c: `seccomp_set_mode_strict` disables the time stamp counter.

use crate::{create, host, image, local, module, sandbox};
use libc::{PR_SET_SECCOMP, c_int, c_long, c_uint};

/// Whether this system call asks for a filter, and for the strict one.
fn asks(number: c_long, first: usize, second: usize) -> Option<bool> {
    match number {
        libc::SYS_seccomp => match first as c_uint {
            libc::SECCOMP_SET_MODE_STRICT => Some(true),
            libc::SECCOMP_SET_MODE_FILTER => Some(false),
            _ => None,
        },
        libc::SYS_prctl if first as c_int == PR_SET_SECCOMP => {
            Some(second as c_uint == libc::SECCOMP_MODE_STRICT)
        }
        _ => None,
    }
}

/// Makes the program's system call, which has these first arguments.
pub(crate) fn make(
    number: c_long,
    (first, second): (usize, usize),
    call: impl FnOnce() -> c_long,
) -> c_long {
    let Some(is_strict) = asks(number, first, second) else { return call() };
    if !sandbox::is_filtered() {
        image::provide();
        module::learn_all();
        local::provide();
        create::provide();
        sandbox::set_filtered();
    }
    let was = is_strict.then(local::shut);
    let answer = call();
    if let (Some(was), true) = (was, answer != 0) {
        local::reopen(was);
    }
    answer
}

/// The C library's `prctl`.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: the program's own call (P1).
    let call = || c_long::from(unsafe { host::prctl(option, a, b, c, d) });
    make(libc::SYS_prctl, (option as usize, a), call) as c_int
}
