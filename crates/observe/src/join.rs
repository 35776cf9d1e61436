//! Waiting for other threads to end: not a lock, but futex waiting that has to be accounted for.
//!
//! # Contract
//! `pthread_join` and its timed forms, C11's, and C++'s and Rust's joins built on them. The time is the thread's own;
//! there is no row. Which thread it was for is known even if that one is not in the record. A wait that was cancelled
//! is the thread's time up to then.
//! # Evidence
//! `tests/programs`: `joins.c`, `computes.c`, `cancelled_in_join.c`.

use crate::caller::Caller;
use crate::cancelled::{self, Wait};
use crate::here;
use crate::host;
use crate::joined;
use libc::{c_int, c_void, pthread_t, timespec};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::site::Site;
use uncontended_events::{log, wants};
use uncontended_sys::clock::ticks;

pub(crate) unsafe extern "C-unwind" fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    waits(thread, false, caller, || unsafe { host::pthread_join(thread, result) })
}

pub(crate) unsafe extern "C-unwind" fn timedjoin(
    thread: pthread_t,
    result: *mut *mut c_void,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let join = || unsafe { host::pthread_timedjoin_np(thread, result, until) };
    waits(thread, !until.is_null(), caller, join)
}

pub(crate) unsafe extern "C-unwind" fn clockjoin(
    thread: pthread_t,
    result: *mut *mut c_void,
    clock: c_int,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let join = || unsafe { host::pthread_clockjoin_np(thread, result, clock, until) };
    waits(thread, !until.is_null(), caller, join)
}

/// C11's, whose threads are POSIX's own in glibc.
pub(crate) unsafe extern "C-unwind" fn thrd_join(
    thread: pthread_t,
    result: *mut c_int,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    waits(thread, false, caller, || unsafe { host::thrd_join(thread, result) })
}

/// Records that `join` waits for the end of `thread`. It returns 0 if it has ended.
fn waits(
    thread: pthread_t,
    has_deadline: bool,
    caller: Caller,
    join: impl FnOnce() -> c_int,
) -> c_int {
    let Some(at) = here::here(caller) else { return join() };
    cancelled::before_wait(at);
    let stack = at.site();
    let call = ticks();
    at.recorder().thread.asleep_since.store(call, Relaxed);
    wants::begin_join(at.recorder(), thread, call, stack);
    if has_deadline {
        wants::has_deadline(at.recorder());
    }
    let tid = joined::tid(thread);
    let (answer, waited) = cancelled::during(at, Wait::Join(call), join);
    if waited.is_none() || !at.is_here() {
        return answer;
    }
    let now = cancelled::joins_no_longer(at, call);
    if answer == 0 {
        let busy = at.begin();
        log::join(at.recorder(), (thread, tid), (call, now));
        drop(busy);
    }
    answer
}
