//! Futex waits through `syscall`, as Rust's std and parking_lot make them.
//!
//! # Contract
//! Only waits that slept count: a call that finds the word changed (EAGAIN) did not wait. Every other system call
//! passes through unobserved.
//! # Evidence
//! `tests/programs/futex.c`.

use crate::caller::Caller;
use crate::errno::errno;
use crate::here;
use crate::host;
use crate::{limit, seccomp};
use libc::{EAGAIN, ETIMEDOUT, FUTEX_CLOCK_REALTIME, FUTEX_PRIVATE_FLAG, c_int, c_long};
use uncontended_events::events::{self, End};
use uncontended_events::site::Site;
use uncontended_events::wants;
use uncontended_trace::layout::kind::FUTEX;

/// `syscall(SYS_futex, word, operation, …)`.
#[allow(clippy::too_many_arguments, reason = "the system call's own")]
pub(crate) unsafe extern "C-unwind" fn futex(
    number: c_long,
    word: usize,
    operation: usize,
    value: usize,
    timeout: usize,
    second: usize,
    third: usize,
    caller: Caller,
) -> c_long {
    let command = operation as c_int & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    let wakes = matches!(
        command,
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET | libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE
    );
    let most = u64::from(value as u32);
    if wakes && most != 0 {
        here::wakes(word as u64, FUTEX, most, caller);
    }
    let waits = matches!(
        command,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_WAIT_REQUEUE_PI
    );
    let found = if waits { here::row(word as u64, FUTEX, caller) } else { None };
    let wait = || {
        if let (Some((at, _)), true) = (found, timeout != 0) {
            wants::has_deadline(at.recorder());
        }
        // SAFETY: the program's own call (P1).
        unsafe { host::syscall(number, word, operation, value, timeout, second, third) }
    };
    events::sleep(
        found,
        |at, _| at.ticks(),
        wait,
        |result| match (result, errno()) {
            (-1, EAGAIN) => None,
            (-1, ETIMEDOUT) => Some(End::TimedOut),
            _ => Some(End::Came),
        },
    )
}

/// Any other system call.
pub(crate) unsafe extern "C-unwind" fn other(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    limit::inspect_call(number, [a, b, c]);
    // SAFETY: the program's own call (P1).
    seccomp::make(number, (a, b), || unsafe { host::syscall(number, a, b, c, d, e, f) })
}
