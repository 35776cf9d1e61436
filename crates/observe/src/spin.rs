//! POSIX spinlocks. Annotated and inlined spinlocks do not pass through here.

use crate::caller::Caller;
use crate::here;
use crate::host::{self, Object};
use libc::{EBUSY, c_int};
use uncontended_events::events::{self, Blocked};
use uncontended_trace::layout::kind::SPIN;

pub(crate) unsafe extern "C-unwind" fn lock(lock: *mut Object, caller: Caller) -> c_int {
    let found = here::row(lock as u64, SPIN, caller);
    let Some((at, row)) = found else {
        // SAFETY: the program's own call (P1).
        return unsafe { host::pthread_spin_lock(lock) };
    };
    // SAFETY: the program takes this lock, so it may be tried (P1, P3).
    if unsafe { host::pthread_spin_trylock(lock) } == 0 {
        events::acquired(at, row);
        at.took(row, true);
        return 0;
    }
    let blocked = Blocked::begin(at, row);
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_spin_lock(lock) };
    if result == 0 {
        blocked.acquired();
        at.took(row, true);
    } else {
        blocked.gave_up();
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn trylock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_spin_trylock(lock) };
    let found = here::row(lock as u64, SPIN, caller);
    match (found, result) {
        (Some((at, row)), 0) => {
            events::acquired(at, row);
            at.took(row, false);
        }
        (Some((at, row)), EBUSY) => events::try_failed(at, row.cell),
        _ => {}
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn unlock(lock: *mut Object, caller: Caller) -> c_int {
    // SAFETY: the program's own call (P1).
    let unlock = || unsafe { host::pthread_spin_unlock(lock) };
    match here::find(lock as u64, SPIN, caller) {
        Some((at, row)) => events::release(at, row, || true, unlock),
        None => unlock(),
    }
}

pub(crate) unsafe extern "C-unwind" fn init(
    lock: *mut Object,
    shared: c_int,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_spin_init(lock, shared) };
    match (result, shared) {
        (0, libc::PTHREAD_PROCESS_PRIVATE) => here::created_private(lock as u64, SPIN, caller),
        (0, _) => here::created(lock as u64, SPIN, caller),
        _ => {}
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(lock: *mut Object, _: Caller) -> c_int {
    here::destroyed(lock as u64);
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_spin_destroy(lock) }
}
