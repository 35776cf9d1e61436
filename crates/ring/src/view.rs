//! A ring's slots as one side sees them: found by position, and fetched before they are needed.
//!
//! # Contract
//! A pointer and a mask, for a side to keep at hand: slot = position & mask, without a branch. Nothing here says whose
//! a slot is.
//!
//! What bounds a stream from CPU to CPU is the moving of cache lines, so both sides fetch the lines of slots that they
//! will use soon: the consumer to read, the producer to write. Only slots that are the side's already, by what it has
//! seen, and only whole lines of them: a line fetched too early is taken from the other side in the middle of its work,
//! and has to come and go once more. For the same reason the bound must hold for speculation too: a CPU runs dozens of
//! iterations ahead of a loop's exit, and a load in one that never happens moves a line all the same
//! ([`Position::at_most`]).
//!
//! # State
//! I1: `base` points to `mask + 1` slots, a power of two, all of them made, for as long as their owner lives.
//!
//! # Evidence
//! compare/: stream against `rtrb`, where without these two measures the ratio falls to a third.

use crate::position::Position;
use std::ptr::NonNull;
use uncontended_atomic::{prefetch_to_read, prefetch_to_write};

/// What one cache line holds.
const LINE: usize = 64;
/// How far ahead to fetch, in bytes: what two CPUs move meanwhile.
const AHEAD: usize = 512;

/// Where slots are.
pub(crate) struct View<S> {
    base: NonNull<S>,
    mask: u64,
}

impl<S> View<S> {
    /// The slots at `base`.
    ///
    /// # Safety
    /// I1 holds of the `count` slots there.
    pub(crate) unsafe fn new(base: NonNull<S>, count: usize) -> View<S> {
        debug_assert!(count.is_power_of_two());
        View { base, mask: count as u64 - 1 }
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.mask as usize + 1
    }

    #[inline(always)]
    fn index(&self, position: Position) -> usize {
        (position.steps() & self.mask) as usize
    }

    /// The slot at `position`.
    ///
    /// # Safety
    /// The slots' owner lives.
    #[inline(always)]
    pub(crate) unsafe fn at<'s>(&self, position: Position) -> &'s S {
        // SAFETY: the index is at most `mask` (I1).
        let slot = unsafe { self.base.add(self.index(position)) };
        // SAFETY: every slot has been made, and is only reached by shared references (I1).
        unsafe { slot.as_ref() }
    }

    /// The `count` slots from `position` on: up to the end of the array, and the rest from its beginning.
    ///
    /// # Safety
    /// The slots' owner lives.
    #[inline]
    #[cfg(not(unc_model))]
    pub(crate) unsafe fn run<'s>(&self, position: Position, count: usize) -> (&'s [S], &'s [S]) {
        debug_assert!(count <= self.len());
        // SAFETY: every slot has been made, and is only reached by shared references (I1).
        let all = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len()) };
        let first = self.index(position);
        let whole = count.min(self.len() - first);
        (&all[first..first + whole], &all[..count - whole])
    }

    /// The whole array.
    pub(crate) fn as_slice_ptr(&self) -> *mut [S] {
        std::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.len())
    }

    /// Fetches the slot at `position` into this CPU's cache, to be read.
    #[inline(always)]
    pub(crate) fn prefetch_to_read(&self, position: Position) {
        lines(self.base.as_ptr().wrapping_add(self.index(position)), prefetch_to_read);
    }

    /// Fetches the slot at `position` into this CPU's cache, to be written.
    #[inline(always)]
    pub(crate) fn prefetch_to_write(&self, position: Position) {
        lines(self.base.as_ptr().wrapping_add(self.index(position)), prefetch_to_write);
    }

    /// How many slots to fetch ahead: a few lines, but only a small part of a small ring.
    pub(crate) fn ahead(&self) -> u64 {
        let most = AHEAD / size_of::<S>().clamp(1, AHEAD);
        most.min(self.len() / 8).max(1) as u64
    }

    /// The last slot before `end` whose line is wholly before it.
    #[inline(always)]
    pub(crate) fn last_whole_line(&self, end: Position) -> Position {
        let size = const { if size_of::<S>() == 0 { LINE } else { size_of::<S>() } };
        end.aligned_down((LINE / size).next_power_of_two() as u64).minus(1)
    }
}

/// Calls `fetch` for the lines of the slot at `at`; of a large one for the first few.
#[inline(always)]
fn lines<S>(at: *const S, fetch: impl Fn(*const S)) {
    let mut offset = 0;
    while offset < size_of::<S>().min(AHEAD) {
        fetch(at.wrapping_byte_add(offset));
        offset += LINE;
    }
}

impl<S> Clone for View<S> {
    fn clone(&self) -> View<S> {
        *self
    }
}

impl<S> Copy for View<S> {}
