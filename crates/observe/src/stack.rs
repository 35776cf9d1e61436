//! Stacks of the calling thread.
//!
//! # Contract
//! [`Cache::number`] returns the number of the stack from the interposed function's caller outwards. A call site at the
//! same stack depth is unwound once per thread and found again by return address and stack pointer, so a stack that
//! differs only in outer frames of the same depth is taken for the first one.
//! # State
//! The thread's [`Cache`].
//! # Invariants
//! I1: a [`Caller`] is used only while the call it was made from has not returned, so what it points to is there: a
//!     wait that outlives its call gets another one ([`Blocked::moved_to`]).
//! I2: a site changes only while the thread is marked as recording. A read that a handler interrupts may mix two sites,
//!     which blurs whose stack it was; every number that was ever stored is a stack's.
//! # Evidence
//! `tests/programs/wait_moves.c`.
//!
//! [`Blocked::moved_to`]: uncontended_events::events::Blocked::moved_to

use crate::local;
use crate::unwind::{Frame, unwind, without_signature};
use std::cell::Cell as Own;
use uncontended_events::site::Recorder;
use uncontended_events::stacks;
use uncontended_trace::layout::FRAMES;

/// The place where an interposed function was called, as its entry passes it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Caller {
    /// Address of the return address (x86-64), or of the pair of frame pointer and return address (AArch64).
    frame: usize,
    /// The frame pointer register at the call.
    fp: usize,
}

impl Caller {
    /// Of no call: its stack is empty.
    pub(crate) fn nowhere() -> Self {
        static NOWHERE: [usize; 2] = [0; 2];
        Caller { frame: NOWHERE.as_ptr() as usize, fp: 0 }
    }

    /// Whether the call may still be running: its frame is further out than this one.
    fn is_there(self) -> bool {
        self.fp == 0 || self.frame > local::stack_here()
    }

    #[inline(always)]
    fn frame_of_caller(self) -> Frame {
        debug_assert!(self.is_there(), "I1");
        let (at, below) = if cfg!(target_arch = "x86_64") { (0, 8) } else { (8, 16) };
        // SAFETY: the entry left the return address there, and the call has not returned (I1).
        let pc = unsafe { *((self.frame + at) as *const usize) };
        Frame { pc: without_signature(pc), sp: self.frame + below, fp: self.fp }
    }
}

/// Recently used call sites of one thread.
pub(crate) struct Cache {
    sites: [Own<(usize, usize, u32)>; 64],
}

impl Cache {
    pub(crate) fn new() -> Self {
        Cache { sites: [const { Own::new((0, 0, 0)) }; 64] }
    }

    fn site(&self, caller: Frame) -> &Own<(usize, usize, u32)> {
        &self.sites[(caller.pc ^ (caller.pc >> 7) ^ (caller.sp >> 4)) % 64]
    }

    /// The number of the caller's stack if the call site is known.
    #[inline]
    pub(crate) fn known(&self, caller: Caller) -> Option<u32> {
        let frame = caller.frame_of_caller();
        let (pc, sp, stack) = self.site(frame).get();
        (pc == frame.pc && sp == frame.sp).then_some(stack)
    }

    /// The number of the caller's stack; 0 if there is no room. The thread must be marked as recording.
    pub(crate) fn number(&self, caller: Caller, recorder: &Recorder) -> u32 {
        if let Some(stack) = self.known(caller) {
            return stack;
        }
        let frame = caller.frame_of_caller();
        let mut frames = [0; FRAMES];
        let count = unwind(frame, recorder, &mut frames);
        let stack = stacks::enter(recorder, &frames[..count]);
        self.site(frame).set((frame.pc, frame.sp, stack));
        stack
    }
}
