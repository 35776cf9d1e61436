//! Stacks of the calling thread.
//!
//! # Contract
//! [`Cache::number`] returns the number of the stack from the interposed function's caller outwards. A call site at the
//! same stack depth is unwound once per thread and found again by return address, stack pointer and, on x86-64, the
//! return addresses of the next four callers, so functions that wrap a lock do not merge those that call them. A stack
//! that differs only in frames further out, of the same depth, is taken for the first one.
//! # State
//! The thread's [`Cache`].
//! # Invariants
//! I1: a [`Caller`] is used only while the call it was made from has not returned, so what it points to is there: a
//!     wait that outlives its call gets another one ([`Blocked::moved_to`]).
//! I2: a site changes only while the thread is marked as recording. A read that a handler interrupts may mix two sites,
//!     which blurs whose stack it was; every number that was ever stored is a stack's.
//! I3: with the same return address at the same stack pointer, the same function has called, and its frame ends where
//!     it did: its own return address is where it was. So it is for each caller further out whose callees are the same.
//!     (The frame of a function with arrays of variable size may end earlier: then the word is one of its callers', or
//!     of what a thread's stack begins with.)
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
    places: [Own<Place>; PLACES],
    /// Sites of holds that may still be unwound.
    credit: Own<u32>,
    /// Which of the places that may hold a site is replaced next.
    next: Own<usize>,
}

/// A call site and the number of its stack.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Place {
    pc: usize,
    sp: usize,
    /// The return addresses of the callers next to `pc`, and where they are, in words above `sp`.
    callers: [usize; CALLERS],
    offsets: [u16; CALLERS],
    stack: u32,
}

/// Places of a cache.
const PLACES: usize = 256;
/// Places in which a site may be.
const PROBES: usize = 8;
/// Callers that tell sites of one return address at one depth apart: those of the functions that wrap a lock.
const CALLERS: usize = 4;
/// Words above the stack pointer in which callers are looked for.
const NEAR: usize = 256;
/// The first 1024 sites of holds are unwound at once.
const CREDIT: u32 = SELDOM + 1024;
/// Later, one in this many.
const SELDOM: u32 = 1024;

impl Place {
    const EMPTY: Place =
        Place { pc: 0, sp: 0, callers: [0; CALLERS], offsets: [0; CALLERS], stack: 0 };

    #[inline(always)]
    fn is_of(&self, caller: Frame) -> bool {
        self.pc == caller.pc && self.sp == caller.sp && self.has_callers()
    }

    /// Whether the stack above `sp`, where the calling thread runs, leads to the same callers.
    #[inline(always)]
    fn has_callers(&self) -> bool {
        self.callers.iter().zip(self.offsets).all(|(&caller, offset)| {
            // SAFETY: a word of a frame that is active: that of the function that `pc` lies in, or of the caller that
            // the word before led to (I3).
            offset == 0 || unsafe { *((self.sp + 8 * offset as usize) as *const usize) } == caller
        })
    }

    /// Notes that the frame whose stack pointer is `sp` was called from `pc`.
    fn note_caller(&mut self, nth: usize, caller: Frame) {
        let Some(words) = caller.sp.checked_sub(self.sp).map(|bytes| bytes / 8) else { return };
        let known = nth == 0 || self.offsets.get(nth - 1).is_some_and(|&before| before != 0);
        // On x86-64, the return address lies right below the caller's stack.
        let is_there = cfg!(target_arch = "x86_64") && known && (2..=NEAR).contains(&words);
        if let (true, Some(place), Some(offset)) =
            (is_there, self.callers.get_mut(nth), self.offsets.get_mut(nth))
        {
            (*place, *offset) = (caller.pc, words as u16 - 1);
        }
    }
}

impl Cache {
    pub(crate) fn new() -> Self {
        Cache {
            places: [const { Own::new(Place::EMPTY) }; PLACES],
            credit: Own::new(CREDIT),
            next: Own::new(0),
        }
    }

    #[inline(always)]
    fn places(&self, caller: Frame) -> impl Iterator<Item = &Own<Place>> {
        let first = caller.pc ^ (caller.pc >> 7) ^ (caller.sp >> 4);
        (0..PROBES).map(move |probe| &self.places[(first ^ probe) % PLACES])
    }

    /// The number of the caller's stack if the call site is known.
    #[inline(always)]
    pub(crate) fn known(&self, caller: Caller) -> Option<u32> {
        let frame = caller.frame_of_caller();
        self.places(frame).find_map(|place| {
            // SAFETY: the cache is the calling thread's own; nothing changes a place while this looks at it, except a
            // handler, which leaves it whole (I2).
            let place = unsafe { &*place.as_ptr() };
            place.is_of(frame).then_some(place.stack)
        })
    }

    /// The number of the caller's stack; 0 if there is no room. The thread must be marked as recording.
    pub(crate) fn number(&self, caller: Caller, recorder: &Recorder) -> u32 {
        if let Some(stack) = self.known(caller) {
            return stack;
        }
        let frame = caller.frame_of_caller();
        let mut place = Place { pc: frame.pc, sp: frame.sp, ..Place::EMPTY };
        let mut frames = [0; FRAMES];
        let count =
            unwind(frame, recorder, &mut frames, |nth, caller| place.note_caller(nth, caller));
        place.stack = stacks::enter(recorder, &frames[..count]);
        let free = self.places(frame).find(|place| place.get().pc == 0);
        let next = self.next.get();
        self.next.set(next.wrapping_add(1));
        if let Some(to) = free.or_else(|| self.places(frame).nth(next % PROBES)) {
            to.set(place);
        }
        place.stack
    }

    /// Whether a hold's site that is not known may be unwound now. Programs whose sites are never the same again are
    /// spared most of it.
    pub(crate) fn may_unwind(&self) -> bool {
        let credit = self.credit.get();
        let (left, may) = match credit {
            0 => (SELDOM, true),
            1..=SELDOM => (credit - 1, false),
            _ => (credit - 1, true),
        };
        self.credit.set(left);
        may
    }
}
