//! The side that pushes. The header of [`spsc`](super) has the invariants and the edges.

use super::{Claim, Control, Keeper, Place};
use crate::notifier::{Notifier, Silent};
use crate::position::{Mark, Position};
use crate::{ClaimError, PushError};
use std::fmt;
use uncontended_atomic::Ordering::{Acquire, Release};

/// The side that pushes.
///
/// ```
/// use uncontended_ring::PushError;
/// let (mut producer, consumer) = uncontended_ring::spsc::ring(1)?;
/// assert_eq!(producer.push(1), Ok(()));
/// assert_eq!(producer.push(2), Err(PushError::Full(2)));
/// drop(consumer);
/// assert_eq!(producer.push(2), Err(PushError::Closed(2)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
// Aligned so that two sides made together, and used by two threads where they are, share no line.
#[repr(align(128))]
pub struct Producer<T, B: Notifier = Silent> {
    place: Place<T, B>,
    /// What the ring's `tail` is: nobody else stores it.
    pub(super) tail: Position,
    /// Where the ring is full, by what was last seen of `head`. It only refuses too early, never too late.
    limit: Position,
    /// How far ahead of `tail`, and how far at most, slots are fetched to be written.
    ahead: u64,
    fetch: Position,
    _keeper: Keeper<T, B>,
}

// SAFETY: it is the only producer (I3), and what it shares with the consumer it shares by atomics, so it may move to
// another thread with the values it pushes.
unsafe impl<T: Send, B: Notifier> Send for Producer<T, B> {}

impl<T, B: Notifier> Producer<T, B> {
    /// # Safety
    /// The place is there as long as the keeper (I4), its `tail` and `head` are these, and there is no other producer
    /// (I3).
    pub(super) unsafe fn new(
        place: Place<T, B>,
        tail: Position,
        head: Position,
        keeper: Keeper<T, B>,
    ) -> Producer<T, B> {
        let limit = head.plus(place.capacity);
        let (ahead, fetch) = (place.slots.ahead(), place.slots.last_whole_line(limit));
        Producer { place, tail, limit, ahead, fetch, _keeper: keeper }
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<B> {
        // SAFETY: the keeper is ours, and goes last (I4).
        unsafe { self.place.control() }
    }

    /// Puts `value` in, if there is room.
    ///
    /// # Errors
    /// The value, when the ring is full, or its consumer has gone.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.is_closed() {
            return Err(PushError::Closed(value));
        }
        if self.tail == self.limit && !self.finds_room() {
            return Err(PushError::Full(value));
        }
        // SAFETY: there is room, so the slot is the producer's, and empty (I1, I2).
        unsafe { self.write(0, value) };
        // SAFETY: it was written just now (I2).
        unsafe { self.publish(1) };
        Ok(())
    }

    /// Writes `value` into the slot `offset` after `tail`, and fetches a later one.
    ///
    /// # Safety
    /// There is room for more than `offset` values.
    #[inline(always)]
    pub(super) unsafe fn write(&mut self, offset: u64, value: T) {
        let at = self.tail.plus(offset);
        debug_assert!(self.limit.is_after(at), "I1: there is room");
        // The bound is for what a CPU does ahead of the check.
        let slot = at.at_most(self.limit.minus(1));
        // SAFETY: the slots live (I4).
        let slot = unsafe { self.place.slots.at(slot) };
        // SAFETY: there is room, so the slot is empty and the producer's (I1, I2), and there is one producer (I3).
        unsafe { slot.write(value) };
        self.place.slots.prefetch_to_write(at.plus(self.ahead).at_most(self.fetch));
    }

    /// Publishes the `count` slots after `tail`.
    ///
    /// # Safety
    /// They have been written.
    #[inline(always)]
    pub(super) unsafe fn publish(&mut self, count: u64) {
        self.tail = self.tail.plus(count);
        debug_assert!(!self.tail.is_after(self.limit), "I1: no more than there was room for");
        let control = self.control();
        // EDGE publish (release): who sees this tail sees the values.
        control.tail.store(self.tail, Release);
        control.values.notify();
    }

    /// Whether there is room after all, by another look.
    #[cold]
    fn finds_room(&mut self) -> bool {
        self.look();
        self.tail != self.limit
    }

    /// Sees how far the consumer has come.
    #[inline]
    fn look(&mut self) -> Mark {
        // EDGE vacate (acquire): whoever freed those slots has read them.
        let head = self.control().head.load(Acquire);
        self.limit = head.position().plus(self.place.capacity);
        self.fetch = self.place.slots.last_whole_line(self.limit);
        head
    }

    /// Whether there is room for `count` values, or will never be: no more waiting.
    #[inline]
    pub(super) fn has_room(&mut self, count: u64) -> bool {
        self.limit.since(self.tail) >= count
            || self.look().is_gone()
            || self.is_closed()
            || self.limit.since(self.tail) >= count
    }

    /// Claims room for exactly `count` values, to be written in place and published at once.
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
    /// let mut claim = producer.claim(3)?;
    /// (1..=3).for_each(|value| claim.push(value).unwrap());
    /// assert_eq!(claim.publish(), 3);
    /// assert_eq!(consumer.read(9)?.iter().sum::<i32>(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is not that much room now or, beyond the capacity, ever; or the consumer has gone.
    pub fn claim(&mut self, count: usize) -> Result<Claim<'_, T, B>, ClaimError> {
        if count > self.capacity() {
            return Err(ClaimError::TooLong { most: self.capacity() });
        }
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        if self.limit.since(self.tail) < count as u64 {
            self.look();
            if self.limit.since(self.tail) < count as u64 {
                return Err(ClaimError::Full);
            }
        }
        Ok(Claim::new(self, count))
    }

    /// Pushes as many of `values` as there is room for, and returns how many that is.
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        let count = values.len().min(self.room());
        for (offset, value) in values[..count].iter().enumerate() {
            // SAFETY: there is room for `count` values (I2).
            unsafe { self.write(offset as u64, *value) };
        }
        if count > 0 {
            // SAFETY: `count` values were written just now (I2).
            unsafe { self.publish(count as u64) };
        }
        count
    }

    /// How many values there is room for now; there can only be more later, until the consumer goes: then there is
    /// none.
    pub fn room(&mut self) -> usize {
        if self.is_closed() {
            return 0;
        }
        self.look();
        // Whatever a faulty consumer in another process wrote, no more than all slots.
        self.limit.since(self.tail).min(self.place.capacity) as usize
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.place.capacity as usize
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.control().values.have_gone()
    }

    /// Takes the value `offset` after `tail` back, before it is published.
    ///
    /// # Safety
    /// It has been written, and is not taken back twice.
    pub(super) unsafe fn take_back(&self, offset: u64) -> T {
        // SAFETY: the slots live (I4).
        let slot = unsafe { self.place.slots.at(self.tail.plus(offset)) };
        // SAFETY: it holds a value that is still the producer's (I2).
        unsafe { slot.read() }
    }

    #[cfg(not(unc_model))]
    pub(super) fn free_slots(&self, offset: u64, count: usize) -> super::claim::Pair<'_, T> {
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.run(self.tail.plus(offset), count) }
    }
}

impl<T, B: Notifier> Drop for Producer<T, B> {
    fn drop(&mut self) {
        // EDGE publish (release): who sees that the producer has gone sees all its values.
        self.control().tail.store_gone(self.tail, Release);
        self.control().values.notify();
    }
}

impl<T, B: Notifier> fmt::Debug for Producer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
