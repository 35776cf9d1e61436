//! Mutexes, and through them C++'s `std::mutex` and Python's locks.
//!
//! # Contract
//! The first try is the C library's own trylock, which for a free mutex does what lock does. For any result except
//! success and "busy" the function that the program called decides, so recursive, error-checking and
//! priority-inheriting mutexes keep their meaning. Robust and priority-protected mutexes are not tried: a look at them
//! says whether the call waits ([`look`]). Of one that is taken after the look, the wait is not seen.
//! # Evidence
//! `tests/programs`: `types.c`, `same_results.c`, `not_tried.c`, `trylock_loop.c`, `holder_sleeps.c`.

use crate::caller::Caller;
use crate::deadline::{self, Limit};
use crate::here;
use crate::host::{self, Object};
use crate::local::{Here, current};
use crate::look;
use crate::sharing;
use libc::{EBUSY, EDEADLK, EOWNERDEAD, c_int, c_void, timespec};
use uncontended_atomic::{AtomicU32, Ordering::Relaxed};
use uncontended_events::events;
use uncontended_events::generations;
use uncontended_events::sharing::{had, unseen};
use uncontended_events::site::{Row, Site};
use uncontended_sys::clock::ticks;
use uncontended_trace::layout::kind::MUTEX;

/// Whether a result means that the caller now holds the mutex.
pub(crate) fn is_ours(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}

/// The calling thread's row of the mutex, if it may record.
#[inline(always)]
pub(crate) fn row(mutex: *mut Object, caller: Caller) -> Option<(Here, Row)> {
    here::row(mutex as u64, MUTEX, caller)
}

/// Tries the mutex, and calls `lock` if that fails.
#[inline(always)]
fn acquire(mutex: *mut Object, caller: Caller, limit: Limit, lock: impl Fn() -> c_int) -> c_int {
    // SAFETY: the program locks this mutex, so it is one (P1).
    if unsafe { look::must_not_try(mutex) } {
        return acquire_untried(mutex, caller, limit, lock);
    }
    // SAFETY: the program locks this mutex, so it may be tried (P1, P3).
    let tried = unsafe { host::pthread_mutex_trylock(mutex) };
    if is_ours(tried) {
        acquired(mutex, caller, limit);
        return tried;
    }
    if tried == EBUSY { wait(mutex, caller, limit, lock) } else { lock() }
}

/// The mutex was taken without a wait.
#[inline(always)]
fn acquired(mutex: *mut Object, caller: Caller, limit: Limit) {
    if let Some((at, row)) = row(mutex, caller) {
        events::acquired(at, row);
        at.took(row, limit == Limit::Never);
    }
}

/// Calls `lock` for a mutex that must not be tried first.
#[inline(never)]
fn acquire_untried(
    mutex: *mut Object,
    caller: Caller,
    limit: Limit,
    lock: impl Fn() -> c_int,
) -> c_int {
    let own = row(mutex, caller).map(|(at, _)| at.recorder().thread.number.load(Relaxed));
    // SAFETY: the program locks this mutex, which must not be tried (P1).
    if own.is_some_and(|own| unsafe { look::is_taken(mutex, own) }) {
        return wait(mutex, caller, limit, lock);
    }
    let result = lock();
    if is_ours(result) {
        acquired(mutex, caller, limit);
    }
    result
}

/// Calls `lock` for a mutex that another thread holds.
#[inline(never)]
fn wait(mutex: *mut Object, caller: Caller, limit: Limit, lock: impl Fn() -> c_int) -> c_int {
    let Some((at, row)) = row(mutex, caller) else { return lock() };
    let row = here::wanted(at, row, mutex as u64, MUTEX);
    let blocked = deadline::blocked(at, row, limit);
    // SAFETY: the program waits for this mutex, so it is one (P1).
    let holder = || unsafe { sharing::holder(mutex, MUTEX) };
    let unseen = unseen(at, row.lock, holder);
    let result = lock();
    if at.is_here() {
        had(at.recorder(), row.lock, unseen);
    }
    match result {
        0 => blocked.acquired(),
        EOWNERDEAD => blocked.inherited(),
        EDEADLK => blocked.refused(),
        _ => blocked.gave_up(),
    }
    if is_ours(result) {
        at.took(row, limit == Limit::Never);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn lock(mutex: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let lock = || unsafe { host::pthread_mutex_lock(mutex) };
    acquire(mutex, caller, Limit::Never, lock)
}

pub(crate) unsafe extern "C-unwind" fn timedlock(
    mutex: *mut Object,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let lock = || unsafe { host::pthread_mutex_timedlock(mutex, until) };
    acquire(mutex, caller, Limit::Deadline, lock)
}

pub(crate) unsafe extern "C-unwind" fn clocklock(
    mutex: *mut Object,
    clock: c_int,
    until: *const timespec,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let lock = || unsafe { host::pthread_mutex_clocklock(mutex, clock, until) };
    if !deadline::is_clock(clock) {
        return lock();
    }
    acquire(mutex, caller, Limit::Deadline, lock)
}

pub(crate) unsafe extern "C-unwind" fn trylock(mutex: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_mutex_trylock(mutex) };
    if let Some((at, row)) = row(mutex, caller) {
        if is_ours(result) {
            events::acquired(at, row);
            at.took(row, false);
        } else if result == EBUSY {
            events::try_failed(at, row.cell);
        }
    }
    result
}

/// Whether the C library may have a thread to wake. glibc's lock word is 1 if the mutex has no waiter (in mutexes whose
/// word holds a thread ID it is never 1).
///
/// # Safety
/// `mutex` is a mutex.
unsafe fn has_sleepers(mutex: *mut Object) -> bool {
    // SAFETY: a mutex, by the contract, which begins with its word (L8); that is only ever used atomically.
    let word = unsafe { &*mutex.cast::<AtomicU32>() };
    word.load(Relaxed) != 1
}

pub(crate) unsafe extern "C-unwind" fn unlock(mutex: *mut Object, caller: Caller) -> c_int {
    let Some((at, row)) = here::find(mutex as u64, MUTEX, caller) else {
        return unlock_unseen(mutex);
    };
    // SAFETY: the program is about to unlock this mutex, so it is one (P1).
    let wakes = || unsafe { has_sleepers(mutex) };
    // SAFETY: the program's own call (P1).
    let unlock = || unsafe { host::pthread_mutex_unlock(mutex) };
    events::release(at, row, wakes, unlock)
}

/// Unlocks a mutex that this thread was not seen to lock, and records the time for its waiters.
#[cold]
fn unlock_unseen(mutex: *mut Object) -> c_int {
    let lock = current().and_then(|local| generations::known(&local.recorder, mutex as u64, MUTEX));
    if let Some(lock) = lock {
        lock.release.store(ticks(), Relaxed);
    }
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_mutex_unlock(mutex) }
}

pub(crate) unsafe extern "C-unwind" fn init(
    mutex: *mut Object,
    attributes: *const c_void,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_mutex_init(mutex, attributes) };
    if result == 0 {
        here::created(mutex as u64, MUTEX, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(mutex: *mut Object, _: Caller) -> c_int {
    here::destroyed(mutex as u64);
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_mutex_destroy(mutex) }
}
