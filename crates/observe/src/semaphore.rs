//! Semaphores: the wait; holds and idle time as long as the semaphore is used as a lock.
//!
//! # Contract
//! A semaphore is a lock once the thread that took it has posted it, while every post is made by the thread whose wait
//! it matches and its value never exceeds one. One that no thread has posted yet may be either, and has no holder.
//! An initial value above one, or two holders at once, mark it as one of several permits, and a post by a thread that
//! had not taken it marks it as a signal: from then on its idle times mean nothing, and the reader omits them. Trying
//! first is not all that a wait does in the C library: it is a cancellation point even if the semaphore is free, and
//! looks at the deadline. A cancelled wait is given up (`cancelled`).
//! # Evidence
//! `tests/programs`: `semaphore_lock.c`, `semaphore_pool.c`, `cancelled_in_semaphore.c`, `same_results.c`.

use crate::caller::Caller;
use crate::cancelled::{self, Wait};
use crate::deadline::{self, Limit};
use crate::errno::{Errno, errno};
use crate::here;
use crate::host::{self, Object};
use crate::local::Here;
use libc::{EAGAIN, c_int, c_uint, timespec};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::events;
use uncontended_events::passing;
use uncontended_events::site::{Row, Site};
use uncontended_events::woken;
use uncontended_trace::layout::{crossed, kind::SEMAPHORE};

fn row(semaphore: *mut Object, caller: Caller) -> Option<(Here, Row)> {
    here::row(semaphore as u64, SEMAPHORE, caller)
}

/// Whether the last call failed because the semaphore was zero.
fn was_empty() -> bool {
    errno() == EAGAIN
}

#[inline(always)]
fn wait_by(
    semaphore: *mut Object,
    caller: Caller,
    limit: Limit,
    wait: impl Fn() -> c_int,
) -> c_int {
    let Some((at, row)) = row(semaphore, caller) else { return wait() };
    let before = Errno::keep();
    // SAFETY: the program waits for this semaphore, so it may be tried (P1, P3).
    if unsafe { host::sem_trywait(semaphore) } == 0 {
        events::acquired(at, row);
        return 0;
    }
    drop(before); // The failed try is ours, not the program's.
    cancelled::before_wait(at);
    let blocked = Wait::Semaphore(deadline::blocked(at, row, limit));
    let (result, waited) = cancelled::during(at, blocked, wait);
    let Some(Wait::Semaphore(blocked)) = waited else { return result };
    if result == 0 {
        blocked.acquired()
    } else {
        blocked.gave_up()
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn wait(semaphore: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let wait = || unsafe { host::sem_wait(semaphore) };
    // SAFETY: a cancellation point as in the program's own call (P1); nothing here remains to be done.
    unsafe { host::pthread_testcancel() };
    wait_by(semaphore, caller, Limit::Never, wait)
}

pub(crate) unsafe extern "C-unwind" fn timedwait(
    semaphore: *mut Object,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let wait = || unsafe { host::sem_timedwait(semaphore, until) };
    // SAFETY: a deadline of the program's (P1).
    if !unsafe { deadline::is_valid(libc::CLOCK_REALTIME, until) } {
        return wait();
    }
    // SAFETY: a cancellation point as in the program's own call (P1); nothing here remains to be done.
    unsafe { host::pthread_testcancel() };
    wait_by(semaphore, caller, Limit::Deadline, wait)
}

pub(crate) unsafe extern "C-unwind" fn clockwait(
    semaphore: *mut Object,
    clock: c_int,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let wait = || unsafe { host::sem_clockwait(semaphore, clock, until) };
    // SAFETY: a deadline of the program's (P1).
    if !unsafe { deadline::is_valid(clock, until) } {
        return wait();
    }
    wait_by(semaphore, caller, Limit::Deadline, wait)
}

pub(crate) unsafe extern "C-unwind" fn trywait(semaphore: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::sem_trywait(semaphore) };
    let failed = result != 0 && was_empty();
    if let Some((at, row)) = row(semaphore, caller) {
        if result == 0 {
            events::acquired(at, row);
        } else if failed {
            events::try_failed(at, row.cell);
        }
    }
    result
}

/// Marks what the semaphore is, besides a lock.
fn mark(row: Row, as_what: u8) {
    if row.lock.crossed.load(Relaxed) < as_what {
        row.lock.crossed.fetch_max(as_what, Relaxed);
    }
}

pub(crate) unsafe extern "C-unwind" fn post(semaphore: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let post = || unsafe { host::sem_post(semaphore) };
    let Some((at, row)) = row(semaphore, caller) else { return post() };
    let is_owner = row.lock.owner.load(Relaxed) == events::id(at.recorder(), row.cell);
    match row.cell.depth.load(Relaxed) {
        0 => mark(row, crossed::SIGNAL),
        1 if is_owner => passing::gives_back(row.lock),
        _ => mark(row, crossed::SEVERAL),
    }
    let crossed = row.lock.crossed.load(Relaxed);
    if crossed == crossed::SEVERAL {
        events::permit_back(at, row);
    }
    if crossed != 0 {
        events::ends(at, row.lock, woken::ONE);
    }
    events::release(at, row, || true, post)
}

pub(crate) unsafe extern "C-unwind" fn init(
    semaphore: *mut Object,
    shared: c_int,
    value: c_uint,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::sem_init(semaphore, shared, value) };
    if result == 0 {
        here::created(semaphore as u64, SEMAPHORE, caller);
        if let (true, Some((_, row))) = (value > 1, row(semaphore, caller)) {
            mark(row, crossed::SEVERAL);
        }
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(semaphore: *mut Object, _: Caller) -> c_int {
    here::destroyed(semaphore as u64);
    // SAFETY: the program's own call (P1).
    unsafe { host::sem_destroy(semaphore) }
}
