//! Waiting for other threads to end: not a lock, but futex waiting that has to be accounted for.
//!
//! # Contract
//! `pthread_join`, and C++'s and Rust's joins built on it. The time is the thread's own; there is no row.
//! # Evidence
//! `tests/programs/joins.c`.

use crate::caller::Caller;
use crate::host;
use crate::local::current;
use libc::{c_int, c_void, pthread_t};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::log;
use uncontended_sys::clock::ticks;

pub(crate) unsafe extern "C-unwind" fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    _: Caller,
) -> c_int {
    let Some(local) = current() else {
        // SAFETY: the program's own call (P1).
        return unsafe { host::pthread_join(thread, result) };
    };
    let own = local.recorder.thread;
    let call = ticks();
    own.asleep_since.store(call, Relaxed);
    // SAFETY: the program's own call (P1).
    let answer = unsafe { host::pthread_join(thread, result) };
    if !local.is_here() {
        return answer;
    }
    own.asleep_since.store(0, Relaxed);
    let now = ticks();
    let joined = own.joined.load(Relaxed);
    own.joined.store(joined.wrapping_add(now.saturating_sub(call)), Relaxed);
    if answer == 0 {
        let busy = local.begin();
        log::join(&local.recorder, thread, (call, now));
        drop(busy);
    }
    answer
}
