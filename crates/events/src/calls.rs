//! The calls that a thread made lately, and the numbers of their stacks.
//!
//! # Contract
//! [`Calls::known`] finds the number that [`Calls::keep`] kept. A call is known by its return address, stack pointer
//! and the return addresses of the next four callers, so functions that wrap a lock do not merge those that call them.
//! A stack that differs only in frames further out, of the same depth, is taken for the first one. Signal handlers may
//! interrupt each: one that interrupts a lookup may do all of this; one that interrupts `keep` must leave the calls
//! alone, or never return to it.
//! # Edges
//! call: `set` stores a place's return address -> `is_of` loads it, in a signal handler or in the code that it
//! interrupted. Carries the rest of the place.
//! # Invariants
//! I1: a place has a return address only while the rest of it belongs to that address. A lookup that a handler
//!     interrupts may still mix two calls, which blurs whose stack it was; every number in a place is a stack's.
//! I2: with the same return address at the same stack pointer, the same function has called, and its frame is laid out
//!     and ends as it did: its own return address is where it was. So it is for each caller further out whose callees
//!     are the same. (The frame of a function with arrays of variable size may end earlier: then the word is one of its
//!     callers', or of what a thread's stack begins with.)
//! # Evidence
//! `tests/calls.rs`, `tests/interrupted.rs`; `tests/programs`: `blame_wrapped.c`, `coroutine.c`.

use uncontended_atomic::{Ordering::*, Own, compiler_fence};

/// Where a call returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The return address.
    pub pc: usize,
    /// The stack pointer after the return.
    pub sp: usize,
}

/// A return address of a caller, and where the stack has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Return {
    /// The return address.
    pub pc: usize,
    /// The address of the word.
    pub at: usize,
}

/// A call and its next callers.
#[derive(Debug)]
pub struct Seen {
    call: Call,
    /// The return addresses of the callers, and which words from the stack pointer on they are, from 1; 0 if unknown.
    callers: [usize; CALLERS],
    words: [u16; CALLERS],
}

/// Calls of one thread.
#[derive(Debug)]
pub struct Calls {
    places: [Place; PLACES],
    /// How many calls were not known; after [`AT_ONCE`], since the last one that was unwound.
    asked: Own<u32>,
    /// Which of the places that may hold a call is replaced next.
    next: Own<usize>,
}

/// A call that was [`Seen`], and the number of its stack.
#[derive(Debug)]
#[repr(C, align(64))]
struct Place {
    /// 0 if the place is free.
    pc: Own<usize>,
    sp: Own<usize>,
    callers: [Own<usize>; CALLERS],
    words: [Own<u16>; CALLERS],
    stack: Own<u32>,
}

const PLACES: usize = 256;
/// Places in which a call may be.
const PROBES: usize = 8;
/// Callers that tell calls with one return address at one depth apart: those of the functions that wrap a lock.
const CALLERS: usize = 4;
/// Words above the stack pointer in which callers are looked for.
const NEAR: usize = 256;
/// The first unknown calls, which are unwound at once.
const AT_ONCE: u32 = 1024;
/// Later, one after this many.
const SELDOM: u32 = 1024;

impl Seen {
    /// A call whose callers are not known yet.
    pub fn new(call: Call) -> Self {
        Seen { call, callers: [0; CALLERS], words: [0; CALLERS] }
    }

    /// Notes the caller with this number, from 0.
    pub fn note_caller(&mut self, nth: usize, caller: Return) {
        let Some(bytes) = caller.at.checked_sub(self.call.sp) else { return };
        let word = bytes / 8 + 1;
        let is_known = nth == 0 || self.words.get(nth - 1).is_some_and(|&before| before != 0);
        if let (true, Some(pc), Some(at)) =
            (is_known && word <= NEAR, self.callers.get_mut(nth), self.words.get_mut(nth))
        {
            (*pc, *at) = (caller.pc, word as u16);
        }
    }
}

impl Place {
    const fn free() -> Self {
        Place {
            pc: Own::new(0),
            sp: Own::new(0),
            callers: [const { Own::new(0) }; CALLERS],
            words: [const { Own::new(0) }; CALLERS],
            stack: Own::new(0),
        }
    }

    #[inline(always)]
    fn is_of(&self, call: Call, word: impl Fn(usize) -> usize) -> bool {
        if self.pc.get() != call.pc {
            return false;
        }
        // EDGE call (acquire): the rest of the place.
        compiler_fence(Acquire);
        self.sp.get() == call.sp && self.has_callers(call.sp, word)
    }

    /// Whether the stack above `sp` leads to the same callers. A word is read only if the one before it did (I2).
    #[inline(always)]
    fn has_callers(&self, sp: usize, word: impl Fn(usize) -> usize) -> bool {
        self.callers.iter().zip(&self.words).all(|(caller, at)| {
            let at = at.get() as usize;
            at == 0 || word(sp + 8 * (at - 1)) == caller.get()
        })
    }

    fn set(&self, seen: &Seen, stack: u32) {
        self.pc.set(0);
        compiler_fence(SeqCst); // Keeps the store of no address before those of the rest, as a handler sees them (I1).
        self.sp.set(seen.call.sp);
        for nth in 0..CALLERS {
            self.callers[nth].set(seen.callers[nth]);
            self.words[nth].set(seen.words[nth]);
        }
        self.stack.set(stack);
        // EDGE call (release): the rest of the place.
        compiler_fence(Release);
        self.pc.set(seen.call.pc);
    }
}

impl Calls {
    /// No calls: all is zero.
    pub const fn new() -> Self {
        Calls { places: [const { Place::free() }; PLACES], asked: Own::new(0), next: Own::new(0) }
    }

    #[inline(always)]
    fn places(&self, call: Call) -> impl Iterator<Item = &Place> {
        let first = call.pc ^ (call.pc >> 7) ^ (call.sp >> 4);
        (0..PROBES).map(move |probe| &self.places[(first ^ probe) % PLACES])
    }

    /// The number of the call's stack, if the call is known. `word` reads a return address in the calling thread's
    /// stack, in frames that are active (I2).
    #[inline(always)]
    pub fn known(&self, call: Call, word: impl Fn(usize) -> usize) -> Option<u32> {
        let place = self.places(call).find(|place| place.is_of(call, &word))?;
        Some(place.stack.get())
    }

    /// Keeps the number of the call's stack.
    pub fn keep(&self, seen: &Seen, stack: u32) {
        let next = self.next.get();
        self.next.set(next.wrapping_add(1));
        let free = self.places(seen.call).find(|place| place.pc.get() == 0);
        if let Some(place) = free.or_else(|| self.places(seen.call).nth(next % PROBES)) {
            place.set(seen, stack);
        }
    }

    /// Whether an unknown call may be unwound now, if it is that of a hold: programs whose calls are never the same
    /// again are spared most of it.
    pub fn may_unwind(&self) -> bool {
        let asked = self.asked.get();
        let is_next = asked == AT_ONCE + SELDOM;
        self.asked.set(if is_next { AT_ONCE } else { asked + 1 });
        asked < AT_ONCE || is_next
    }
}

impl Default for Calls {
    fn default() -> Self {
        Calls::new()
    }
}
