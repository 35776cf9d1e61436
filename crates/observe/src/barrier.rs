//! Barriers: the wait only, of every thread that comes.

use crate::events::{self, Waited};
use crate::host::{self, Object};
use crate::lives;
use crate::local::current;
use crate::stack::Caller;
use libc::{c_int, c_uint, c_void};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_sys::clock::ticks;
use uncontended_trace::layout::kind::BARRIER;

pub(crate) unsafe extern "C-unwind" fn wait(barrier: *mut Object, caller: Caller) -> c_int {
    let found = events::row(barrier as u64, BARRIER, caller);
    let call = ticks();
    let asleep_since = found.map(|(local, _)| &local.thread.get().asleep_since);
    asleep_since.inspect(|since| since.store(call, Relaxed));
    // SAFETY: the program called this function with this barrier; so for every call of the C library below.
    let result = unsafe { host::pthread_barrier_wait(barrier) };
    asleep_since.inspect(|since| since.store(0, Relaxed));
    if let (Some((local, row)), 0 | libc::PTHREAD_BARRIER_SERIAL_THREAD) = (found, result) {
        let now = ticks();
        let busy = local.begin();
        events::bump(&row.cell.acquisitions);
        events::record_wait(local, row, Waited { call, now, release: 0 }, caller);
        drop(busy);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn init(
    barrier: *mut Object,
    attributes: *const c_void,
    count: c_uint,
    caller: Caller,
) -> c_int {
    // SAFETY: as in `wait`.
    let result = unsafe { host::pthread_barrier_init(barrier, attributes, count) };
    if let (0, Some(local)) = (result, current()) {
        lives::created(local, barrier as u64, BARRIER, caller);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn destroy(barrier: *mut Object, _: Caller) -> c_int {
    if let Some(local) = current() {
        lives::destroyed(local, barrier as u64);
    }
    // SAFETY: as in `wait`.
    unsafe { host::pthread_barrier_destroy(barrier) }
}
