//! Waits that a cancelled thread does not return from.
//!
//! # Contract
//! [`during`] keeps a wait with its thread while the C library waits. One that is left there is closed where the thread
//! gives back the mutex of a condition, which a cancelled thread has again, or ends (`local`), or begins a wait further
//! out or as far out on the stack ([`before_wait`]). A signal handler may wait during a wait: that one is put back.
//! [`cancel`] notes when a thread was cancelled.
//! # Invariants
//! I1: a wait is stored with its thread, not in a frame: unwinding runs nothing here, and a handler that jumps neither.
//! # Evidence
//! `tests/programs`: `cancelled_in_semaphore.c`, `cancelled_mid_wait.c`, `cancelled_in_join.c`, `signal_jumps_out.c`.

use crate::caller::Caller;
use crate::frame::stack_here;
use crate::local::{Here, was_left};
use crate::{here, host};
use libc::{c_int, pthread_t};
use uncontended_events::cancelled::cancels;
pub(crate) use uncontended_events::cancelled::{Away, Wait, joins_no_longer};

pub(crate) unsafe extern "C-unwind" fn cancel(thread: pthread_t, caller: Caller) -> c_int {
    if let Some(at) = here::here(caller) {
        cancels(at, thread);
    }
    // SAFETY: the program's own call (P1).
    unsafe { host::pthread_cancel(thread) }
}

/// The thread is about to begin a wait: closes one that it has left.
#[inline(always)]
pub(crate) fn before_wait(at: Here) {
    let here = stack_here();
    if let Some(left) = at.local.in_wait.take_gone(|place| was_left(place, here)) {
        left.left(at, false);
    }
}

/// Calls `call`, which is the `wait`, and returns its result and the wait; none if that was closed meanwhile.
#[inline(always)]
pub(crate) fn during<R>(
    at: Here,
    wait: Wait<Here>,
    call: impl FnOnce() -> R,
) -> (R, Option<Wait<Here>>) {
    let outer = at.local.in_wait.enter(wait, stack_here());
    let result = call();
    (result, at.local.in_wait.leave(outer))
}
