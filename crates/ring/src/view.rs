//! One side's view of the slots: indexed by position, and prefetched.
//!
//! # Contract
//! A view is a pointer and a mask that each side keeps for itself: slot = position & mask, without a branch. It does
//! not track which side owns a slot.
//!
//! Moving cache lines between CPUs limits the speed of a stream, so both sides prefetch the lines of slots that they
//! will use soon: the consumer to read, the producer to write. They prefetch only slots that they know they own, and
//! only whole lines of them. A line fetched too early is taken from the other side while it is still using it, and has
//! to move twice more. The bound must therefore hold under speculation as well: a CPU runs dozens of iterations ahead
//! of a loop's exit, and a load in an iteration that never retires moves a line all the same ([`Position::at_most`]).
//!
//! # State
//! I1: `base` points to `mask + 1` initialised slots, a power of two, as long as their owner lives.
//!
//! # Evidence
//! compare/: stream against `rtrb`; without these two measures the ratio falls to a third.

use crate::position::Position;
use crate::slots::Run;
use core::ptr::NonNull;
use uncontended_atomic::{prefetch_to_read, prefetch_to_write};

/// Bytes in a cache line.
const LINE: usize = 64;
/// How far ahead to prefetch, in bytes: what two CPUs move in the meantime.
const AHEAD: usize = 512;

/// Pointer to the slots, and mask.
pub(crate) struct View<S> {
    base: NonNull<S>,
    mask: u64,
}

impl<S> View<S> {
    /// A view of the slots at `base`.
    ///
    /// # Safety
    /// I1 holds for the `count` slots there.
    pub(crate) unsafe fn new(base: NonNull<S>, count: usize) -> View<S> {
        debug_assert!(count.is_power_of_two());
        View { base, mask: count as u64 - 1 }
    }

    /// The number of slots.
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
    /// The owner of the slots lives.
    #[inline(always)]
    pub(crate) unsafe fn at<'s>(&self, position: Position) -> &'s S {
        // SAFETY: the index is at most `mask` (I1).
        let slot = unsafe { self.base.add(self.index(position)) };
        // SAFETY: every slot is initialised, and only shared references to it exist (I1).
        unsafe { slot.as_ref() }
    }

    /// The `count` slots from `position` on.
    ///
    /// # Safety
    /// The owner of the slots lives.
    #[inline]
    pub(crate) unsafe fn run<'s>(&self, position: Position, count: usize) -> Run<'s, S> {
        debug_assert!(count <= self.len());
        // SAFETY: every slot is initialised, and only shared references to it exist (I1).
        let all = unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.len()) };
        let first = self.index(position);
        let whole = count.min(self.len() - first);
        Run::new(&all[first..first + whole], &all[..count - whole])
    }

    /// The whole array.
    pub(crate) fn as_slice_ptr(&self) -> *mut [S] {
        core::ptr::slice_from_raw_parts_mut(self.base.as_ptr(), self.len())
    }

    /// Prefetches the slot at `position` for reading.
    #[inline(always)]
    pub(crate) fn prefetch_to_read(&self, position: Position) {
        lines(self.base.as_ptr().wrapping_add(self.index(position)), prefetch_to_read);
    }

    /// Prefetches the slot at `position` for writing.
    #[inline(always)]
    pub(crate) fn prefetch_to_write(&self, position: Position) {
        lines(self.base.as_ptr().wrapping_add(self.index(position)), prefetch_to_write);
    }

    /// How many slots to prefetch ahead: a few lines, but only a small part of a small ring.
    pub(crate) fn ahead(&self) -> u64 {
        let most = AHEAD / size_of::<S>().clamp(1, AHEAD);
        most.min(self.len() / 8).max(1) as u64
    }

    /// The last slot before `end` whose cache line lies entirely before `end`.
    #[inline(always)]
    pub(crate) fn last_whole_line(&self, end: Position) -> Position {
        let size = const { if size_of::<S>() == 0 { LINE } else { size_of::<S>() } };
        end.aligned_down((LINE / size).next_power_of_two() as u64).minus(1)
    }
}

/// Calls `fetch` for each cache line of the slot at `at`, or for the first few of a large slot.
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
