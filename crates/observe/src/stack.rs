//! Stacks of the calling thread, and their numbers in the record.
//!
//! # Contract
//! [`Caller::stack`] gives the number of the stack from the interposed function's caller outwards. A call site at the same
//! depth of the stack is unwound once a thread and found again by return address and stack pointer, so a stack that differs
//! only in outer frames with the same depth is taken for the first one.
//! # State
//! The thread's [`Cache`]; the image's table of stacks in the record.
//! # Edges
//! index: `enter` stores a slot of the table -> `enter` in another thread loads it. Carries the stack.

use crate::local::Local;
use crate::unwind::{Frame, unwind, without_signature};
use std::cell::Cell as Own;
use uncontended_atomic::Ordering::*;
use uncontended_trace::layout::{self, FRAMES, STACK_SLOTS, Stack};

/// Where an interposed function was called, as its entry passes it on.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Caller {
    /// Address of the return address (x86-64), or of the pair of frame pointer and return address (AArch64).
    frame: usize,
    /// The frame pointer's register at the call.
    fp: usize,
}

impl Caller {
    #[inline(always)]
    fn frame_of_caller(self) -> Frame {
        let (at, below) = if cfg!(target_arch = "x86_64") { (0, 8) } else { (8, 16) };
        // SAFETY: the entry of every interposed function leaves the return address there.
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
}

impl Caller {
    /// The number of this stack if the call site is known.
    #[inline]
    pub(crate) fn known_stack(self, local: &Local) -> Option<u32> {
        let frame = self.frame_of_caller();
        let (pc, sp, stack) = local.stacks.site(frame).get();
        (pc == frame.pc && sp == frame.sp).then_some(stack)
    }

    /// The number of this stack; 0 if there is no room for it. The thread must be marked as recording.
    pub(crate) fn stack(self, local: &Local) -> u32 {
        if let Some(stack) = self.known_stack(local) {
            return stack;
        }
        let frame = self.frame_of_caller();
        let mut frames = [0; FRAMES];
        let count = unwind(frame, local, &mut frames);
        let stack = enter(local, &frames[..count]);
        local.stacks.site(frame).set((frame.pc, frame.sp, stack));
        stack
    }
}

/// The number of a stack in the record: that of an equal one, or a fresh one; 0 if there is no room.
fn enter(local: &Local, frames: &[u64]) -> u32 {
    let (arena, process) = (local.arena, local.process.get());
    let hash = frames.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &frame| {
        (hash ^ frame).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    });
    let table = process.stack_index.load(Relaxed);
    if frames.is_empty() || table == 0 {
        return 0;
    }
    let slots = arena.words(table, STACK_SLOTS);
    let mut fresh = 0;
    for probe in 0..64 {
        let Some(slot) = slots.get((hash as usize).wrapping_add(probe) % STACK_SLOTS) else {
            return 0;
        };
        // EDGE index (acquire): the stack behind the slot.
        let mut found = slot.load(Acquire);
        if found == 0 {
            if fresh == 0 {
                let Some(unit) = write(local, frames, hash) else { return 0 };
                fresh = unit;
            }
            // EDGE index (acq-rel): the fresh stack, or the one that another thread put there meanwhile.
            match slot.compare_exchange(0, fresh, AcqRel, Acquire) {
                Ok(_) => {
                    arena.push::<Stack>(&process.stacks, fresh);
                    return fresh;
                }
                Err(other) => found = other,
            }
        }
        if arena.at::<Stack>(found).hash.load(Relaxed) == hash {
            return found;
        }
    }
    arena.header().dropped_room.fetch_add(1, Relaxed);
    0
}

/// A stack that nobody knows yet.
fn write(local: &Local, frames: &[u64], hash: u64) -> Option<u32> {
    let bytes = std::mem::offset_of!(Stack, frames) + 8 * frames.len();
    let unit = local.arena.allocate(layout::units(bytes))?;
    let stack: &Stack = local.arena.at(unit);
    stack.hash.store(hash, Relaxed);
    for (to, from) in stack.frames.iter().zip(frames) {
        to.store(*from, Relaxed);
    }
    stack.count.store(frames.len() as u32, Relaxed);
    Some(unit)
}
