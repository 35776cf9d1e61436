//! Stacks of the calling thread.
//!
//! # Contract
//! [`number`] returns the number of the stack from the interposed function's caller outwards. A call at the same stack
//! depth is unwound once per thread and found again ([`known`]) among the thread's [`Calls`].
//! # Invariants
//! I1: a word above the stack pointer of a running call is read only where a frame of its callers was (I2 of
//!     `events::calls`), so it is in the stack.
//! # Evidence
//! `tests/programs`: `blame_wrapped.c`, `coroutine.c`.

use crate::caller::Caller;
use crate::frame::{Frame, without_signature};
use crate::unwind::unwind;
use uncontended_events::calls::{Call, Calls, Seen};
use uncontended_events::site::Recorder;
use uncontended_events::stacks;
use uncontended_trace::layout::FRAMES;

#[inline(always)]
fn call(frame: Frame) -> Call {
    Call { pc: frame.pc, sp: frame.sp }
}

/// The number of the caller's stack if the call is known.
#[inline(always)]
pub(crate) fn known(calls: &Calls, caller: Caller) -> Option<u32> {
    // SAFETY: an aligned word of the calling thread's stack (I1).
    let word = |at: usize| without_signature(unsafe { *(at as *const usize) });
    calls.known(call(caller.frame_of_caller()), word)
}

/// The number of the caller's stack; 0 if there is no room. The thread must be marked as recording.
pub(crate) fn number(calls: &Calls, caller: Caller, recorder: &Recorder) -> u32 {
    if let Some(stack) = known(calls, caller) {
        return stack;
    }
    let frame = caller.frame_of_caller();
    let mut seen = Seen::new(call(frame));
    let mut frames = [0; FRAMES];
    let outer = |nth, caller| seen.note_caller(nth, caller);
    let count = unwind(frame, recorder, &mut frames, outer);
    let stack = stacks::enter(recorder, &frames[..count]);
    calls.keep(&seen, stack);
    stack
}
