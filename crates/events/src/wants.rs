//! What a thread waits for, as the record of a program that hangs shows it.
//!
//! # Contract
//! From [`begin`] or [`begin_join`] to [`end`] the thread's entry names the lock or other object, the side, the call
//! and whether it has a deadline; or the thread whose end it waits for. Only the thread writes this, and no other
//! thread reads it: it is for the reader of the record, who finds cycles in it. A thread that leaves the call by a jump
//! leaves it there; `wants_since` then differs from `asleep_since` as soon as the thread sleeps again, or a hold of the
//! thread began later.
//! # Evidence
//! `tests/places.rs`; `tests/programs`: `deadlock.c`.

use crate::site::Recorder;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{Lock, wants};

/// The calling thread, which called at `call`, waits for `lock`; `shared`: to share it.
pub fn begin(recorder: &Recorder, lock: &Lock, call: u64, shared: bool) {
    let thread = recorder.thread;
    let how = if shared { wants::SHARED } else { 0 };
    thread.wants_since.store(call, Relaxed);
    thread.wants_how.store(how, Relaxed);
    thread.wants_stack.store(0, Relaxed);
    thread.wants.store(recorder.arena.unit_of(lock), Relaxed);
}

/// The calling thread, which called at `call` with this stack, waits for the end of the thread with this `handle`.
pub fn begin_join(recorder: &Recorder, handle: u64, call: u64, stack: u32) {
    let thread = recorder.thread;
    thread.wants_since.store(call, Relaxed);
    thread.wants_how.store(wants::JOIN, Relaxed);
    thread.wants_stack.store(stack, Relaxed);
    thread.wants_end_of.store(handle, Relaxed);
}

/// The stack of that call.
pub fn called_in(recorder: &Recorder, stack: u32) {
    recorder.thread.wants_stack.store(stack, Relaxed);
}

/// That call has a deadline.
pub fn has_deadline(recorder: &Recorder) {
    let how = &recorder.thread.wants_how;
    how.store(how.load(Relaxed) | wants::DEADLINE, Relaxed);
}

/// The calling thread waits no longer.
pub fn end(recorder: &Recorder) {
    recorder.thread.wants.store(0, Relaxed);
    recorder.thread.wants_how.store(0, Relaxed);
}
