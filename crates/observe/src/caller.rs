//! The place where an interposed function was called.
//!
//! # Invariants
//! I1: a [`Caller`] is used only while the call it was made from has not returned, so what it points to is there: a
//!     wait that outlives its call gets another one ([`Blocked::moved_to`]).
//! # Evidence
//! `tests/programs/wait_moves.c`.
//!
//! [`Blocked::moved_to`]: uncontended_events::events::Blocked::moved_to

use crate::frame::{Frame, stack_here, without_signature};

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
        self.fp == 0 || self.frame > stack_here()
    }

    #[inline(always)]
    pub(crate) fn frame_of_caller(self) -> Frame {
        debug_assert!(self.is_there(), "I1");
        let (at, below) = if cfg!(target_arch = "x86_64") { (0, 8) } else { (8, 16) };
        // SAFETY: the entry left the return address there, and the call has not returned (I1).
        let pc = unsafe { *((self.frame + at) as *const usize) };
        Frame { pc: without_signature(pc), sp: self.frame + below, fp: self.fp }
    }
}
