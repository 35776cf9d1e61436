//! The side that pops. The header of [`spsc`](super) has the invariants and the edges.

use super::{Batch, Control, Keeper, Place};
use crate::PopError;
use crate::notifier::{Notifier, Silent};
use crate::pace::Pace;
use crate::position::{Mark, Position};
use crate::slots::Slot;
use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// The side that pops.
///
/// ```
/// use uncontended_ring::PopError;
/// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push(1).unwrap();
/// drop(producer);
/// assert_eq!(consumer.peek(), Ok(&1));
/// assert_eq!(consumer.pop(), Ok(1));
/// assert_eq!(consumer.pop(), Err(PopError::Closed));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
// Aligned so that two sides made together, and used by two threads where they are, share no line.
#[repr(align(128))]
pub struct Consumer<T, B: Notifier = Silent> {
    place: Place<T, B>,
    /// What the ring's `head` is: nobody else stores it.
    pub(super) head: Position,
    /// What was last seen of `tail`.
    seen: Position,
    /// How far ahead of `head`, and how far at most, slots are fetched to be read.
    ahead: u64,
    fetch: Position,
    /// `head` went past values that were set aside, and the ring has not been told: their iterator may have been
    /// leaked.
    is_owing: bool,
    pace: Pace,
    _keeper: Keeper<T, B>,
}

// SAFETY: it is the only consumer (I3), and what it shares with the producer it shares by atomics, so it may move to
// another thread with the values it pops.
unsafe impl<T: Send, B: Notifier> Send for Consumer<T, B> {}

impl<T, B: Notifier> Consumer<T, B> {
    /// # Safety
    /// The place is there as long as the keeper (I4), its `head` is this, and there is no other consumer (I3).
    pub(super) unsafe fn new(
        place: Place<T, B>,
        head: Position,
        keeper: Keeper<T, B>,
    ) -> Consumer<T, B> {
        let (ahead, fetch) = (place.slots.ahead(), place.slots.last_whole_line(head));
        let (is_owing, pace) = (false, Pace::default());
        Consumer { place, head, seen: head, ahead, fetch, is_owing, pace, _keeper: keeper }
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<B> {
        // SAFETY: the keeper is ours, and goes last (I4).
        unsafe { self.place.control() }
    }

    /// Takes the oldest value out.
    ///
    /// # Errors
    /// There is none, or there will never be one.
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.find()?;
        // SAFETY: `find` found a value (I2), which is the ring's no more from here on.
        let value = unsafe { self.take(self.head) };
        // SAFETY: it was taken just now (I2).
        unsafe { self.vacate(self.head.plus(1)) };
        Ok(value)
    }

    /// The oldest value, left where it is.
    ///
    /// # Errors
    /// There is none, or there will never be one.
    pub fn peek(&mut self) -> Result<&T, PopError> {
        self.find()?;
        // SAFETY: `find` found a value, which stays (I2) until `head` moves, and that takes `&mut self` (I3).
        Ok(unsafe { self.value(self.head) })
    }

    /// The oldest values, at most `most` of them (0 counts as 1), to be read in place; they stay until they are
    /// released.
    ///
    /// # Errors
    /// There are none, or there will never be any.
    pub fn read(&mut self, most: usize) -> Result<Batch<'_, T, B>, PopError> {
        if self.seen.since(self.head) < most as u64 {
            self.look();
        }
        self.find()?;
        // Whatever a faulty producer in another process wrote, no more than all slots.
        let there = self.seen.since(self.head).min(self.place.capacity);
        Ok(Batch { len: (most.max(1) as u64).min(there), consumer: self })
    }

    /// Pops as many values as there are and `into` has room for, and returns how many that is.
    pub fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let count = into.len().min(self.available());
        for (offset, value) in into[..count].iter_mut().enumerate() {
            // SAFETY: so many values are there (I2).
            *value = unsafe { self.take(self.head.plus(offset as u64)) };
        }
        if count > 0 {
            // SAFETY: `count` values were taken just now (I2).
            unsafe { self.vacate(self.head.plus(count as u64)) };
        }
        count
    }

    /// Makes sure that there is a value.
    #[inline(always)]
    fn find(&mut self) -> Result<(), PopError> {
        if self.head == self.seen {
            let tail = self.look();
            if self.head == self.seen {
                self.pace.found_nothing();
                return Err(if tail.is_gone() { PopError::Closed } else { PopError::Empty });
            }
            if self.pace.is_too_close(self.seen.since(self.head), self.place.capacity) {
                self.pace.linger();
                self.look();
            }
        }
        Ok(())
    }

    /// Whether there is a value, or will never be one: no more waiting.
    #[inline]
    pub(super) fn has_values(&mut self) -> bool {
        self.find() != Err(PopError::Empty)
    }

    /// The slot at `at`.
    ///
    /// # Safety
    /// A value is there.
    #[inline(always)]
    unsafe fn slot(&self, at: Position) -> &Slot<T> {
        // The bound is for what a CPU does ahead of the check.
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.at(at.at_most(self.seen.minus(1))) }
    }

    /// Fetches a slot that comes later than the one at `at`.
    #[inline(always)]
    fn fetch_ahead_of(&self, at: Position) {
        self.place.slots.prefetch_to_read(at.plus(self.ahead).at_most(self.fetch));
    }

    /// Takes the value at `at` out.
    ///
    /// # Safety
    /// It is there, and is not used again.
    #[inline(always)]
    pub(super) unsafe fn take(&self, at: Position) -> T {
        // SAFETY: a value is there (I2).
        let slot = unsafe { self.slot(at) };
        // SAFETY: the slot holds a value and is the consumer's (I2).
        let value = unsafe { slot.read() };
        self.fetch_ahead_of(at);
        value
    }

    /// The value at `at`.
    ///
    /// # Safety
    /// It is there, and stays as long as the caller says.
    #[inline(always)]
    pub(super) unsafe fn value<'v>(&self, at: Position) -> &'v T {
        // SAFETY: a value is there (I2).
        let slot = unsafe { self.slot(at) };
        self.fetch_ahead_of(at);
        // SAFETY: the slot holds a value and is the consumer's (I2).
        unsafe { &*slot.as_ptr() }
    }

    /// Hands the `count` oldest values over to an iterator, which takes some of them and calls
    /// [`settle`](Consumer::settle) when it goes. Until then they are not this side's: if the iterator is leaked, so
    /// are they, and the next look says so.
    #[inline(always)]
    pub(super) fn set_aside(&mut self, count: u64) -> Position {
        let from = self.head;
        self.head = from.plus(count);
        self.is_owing = true;
        from
    }

    /// Vacates what an iterator for which values were set aside has taken or leaked.
    ///
    /// # Safety
    /// As for [`vacate`](Consumer::vacate), and the iterator is gone.
    pub(super) unsafe fn settle(&mut self, head: Position) {
        self.is_owing = false;
        // SAFETY: the caller keeps the same contract (I2).
        unsafe { self.vacate(head) };
    }

    /// Makes `head` the oldest value that is left, and gives the slots before back.
    ///
    /// # Safety
    /// What is before has been taken or leaked, what is from there on has not.
    #[inline(always)]
    pub(super) unsafe fn vacate(&mut self, head: Position) {
        debug_assert!(!head.is_after(self.seen), "I1: no more than was seen to be published");
        self.head = head;
        let control = self.control();
        // EDGE vacate (release): the slots have been read.
        control.head.store(self.head, Release);
        control.room.notify();
    }

    /// Sees how far the producer has come.
    #[inline]
    fn look(&mut self) -> Mark {
        if self.is_owing {
            // SAFETY: the iterator that `head` went ahead for was leaked, and its values with it (I7).
            unsafe { self.settle(self.head) };
        }
        // EDGE publish (acquire): the values up to there have been written.
        let tail = self.control().tail.load(Acquire);
        self.seen = tail.position();
        self.fetch = self.place.slots.last_whole_line(self.seen);
        tail
    }

    /// How many values are there now; there can only be more later.
    pub fn available(&mut self) -> usize {
        self.look();
        self.seen.since(self.head).min(self.place.capacity) as usize
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.place.capacity as usize
    }

    /// Whether the producer has gone. What it left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.control().tail.load(Relaxed).is_gone()
    }

    #[cfg(not(unc_model))]
    pub(super) fn full_slots(&self, count: u64) -> (&[Slot<T>], &[Slot<T>]) {
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.run(self.head, count as usize) }
    }
}

impl<T, B: Notifier> Drop for Consumer<T, B> {
    fn drop(&mut self) {
        self.control().values.go();
        let last = Last(self);
        if std::mem::needs_drop::<T>()
            && let Ok(queued) = last.0.read(usize::MAX)
        {
            queued.release();
        }
    }
}

/// What a consumer does last of all, even if the drop of what was queued panics.
struct Last<'c, T, B: Notifier>(&'c mut Consumer<T, B>);

impl<T, B: Notifier> Drop for Last<'_, T, B> {
    fn drop(&mut self) {
        let (control, head) = (self.0.control(), self.0.head);
        // EDGE vacate (release): who sees that the consumer has gone sees what it took.
        control.head.store_gone(head, Release);
        control.room.notify();
    }
}

impl<T, B: Notifier> fmt::Debug for Consumer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
