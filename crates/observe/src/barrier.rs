//! Barriers: only the wait, for every thread that arrives.

use crate::caller::Caller;
use crate::here;
use crate::host::{self, Object};
use libc::{c_int, c_uint, c_void};
use uncontended_events::events::{self, End};
use uncontended_events::woken;
use uncontended_trace::layout::kind::BARRIER;

pub(crate) unsafe extern "C-unwind" fn wait(barrier: *mut Object, caller: Caller) -> c_int {
    let found = here::row(barrier as u64, BARRIER, caller);
    // SAFETY: the program's own call (P1).
    let wait = || unsafe { host::pthread_barrier_wait(barrier) };
    let ended =
        |result| matches!(result, 0 | libc::PTHREAD_BARRIER_SERIAL_THREAD).then_some(End::Came);
    events::sleep(found, |at, row| events::ends(at, row.lock, woken::ALL), wait, ended)
}

pub(crate) unsafe extern "C-unwind" fn init(
    barrier: *mut Object,
    attributes: *const c_void,
    count: c_uint,
    caller: Caller,
) -> c_int {
    // SAFETY: the program's own call (P1).
    let result = unsafe { host::pthread_barrier_init(barrier, attributes, count) };
    if result == 0 {
        here::created(barrier as u64, BARRIER, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(barrier: *mut Object, _: Caller) -> c_int {
    here::destroyed(barrier as u64);
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_barrier_destroy(barrier) }
}
