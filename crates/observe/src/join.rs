//! Waiting for other threads to end: not a lock, but futex waiting that has to be accounted for.
//!
//! # Contract
//! `pthread_join`, and C++'s and Rust's joins built on it. The time is the thread's own; there is no row. Which thread
//! it was for is known even if that one is not in the record, because it took no lock.
//! # Evidence
//! `tests/programs/joins.c`.

use crate::caller::Caller;
use crate::here;
use crate::host;
use crate::joined;
use libc::{c_int, c_void, pthread_t};
use uncontended_atomic::Ordering::Relaxed;
use uncontended_events::site::Site;
use uncontended_events::{log, stacks, wants};
use uncontended_sys::clock::ticks;

pub(crate) unsafe extern "C-unwind" fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    caller: Caller,
) -> c_int {
    let Some(at) = here::here(caller) else {
        // SAFETY: the program's own call (P1).
        return unsafe { host::pthread_join(thread, result) };
    };
    let own = at.recorder().thread;
    let stack = at.site();
    let call = ticks();
    own.asleep_since.store(call, Relaxed);
    wants::begin_join(at.recorder(), thread, call, stack);
    let (tid, function) = joined::of(thread);
    // SAFETY: the program's own call (P1).
    let answer = unsafe { host::pthread_join(thread, result) };
    if !at.is_here() {
        return answer;
    }
    own.asleep_since.store(0, Relaxed);
    wants::end(at.recorder());
    let now = ticks();
    let joined = own.joined.load(Relaxed);
    own.joined.store(joined.wrapping_add(now.saturating_sub(call)), Relaxed);
    if answer == 0 {
        let busy = at.begin();
        // A stack has return addresses.
        let began_in =
            if function == 0 { 0 } else { stacks::enter(at.recorder(), &[function + 1]) };
        let joined = log::Joined { handle: thread, tid, began_in };
        log::join(at.recorder(), joined, (call, now));
        drop(busy);
    }
    answer
}
