//! The producer. The header of [`spsc`](super) has the invariants and the edges.

use super::{Claim, Control, Keeper, Place};
use crate::notifier::{Notifier, Silent};
use crate::position::{Mark, Position};
use crate::slots::{Run, Slot};
use crate::{ClaimError, PushError};
use core::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// The producer: the side that pushes.
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
// Aligned, so that two sides created together and used in place by two threads share no cache line.
#[repr(align(128))]
#[doc(alias = "Sender")]
pub struct Producer<T, N: Notifier = Silent> {
    place: Place<T, N>,
    /// The ring's `tail`, which only this side stores.
    pub(super) tail: Position,
    /// Where the ring is full, according to the last load of `head`. A stale limit refuses too early, never too late.
    limit: Position,
    /// How far ahead of `tail` slots are prefetched for writing, and the last slot that may be.
    ahead: u64,
    fetch: Position,
    keeper: Keeper<T, N>,
}

// SAFETY: it is the only producer (I3), and shares only atomics with the consumer, so it may move to another thread
// together with the values that it pushes.
unsafe impl<T: Send, N: Notifier> Send for Producer<T, N> {}

impl<T, N: Notifier> Producer<T, N> {
    /// # Safety
    /// The place is valid as long as the keeper lives (I4), `tail` and `head` are its positions, and there is no other
    /// producer (I3).
    pub(super) unsafe fn new(
        place: Place<T, N>,
        tail: Position,
        head: Position,
        keeper: Keeper<T, N>,
    ) -> Producer<T, N> {
        let limit = head.plus(place.capacity);
        let (ahead, fetch) = (place.slots.ahead(), place.slots.last_whole_line(limit));
        Producer { place, tail, limit, ahead, fetch, keeper }
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<N> {
        // SAFETY: this side holds the keeper, and drops it last (I4).
        unsafe { self.place.control() }
    }

    /// Pushes `value`, if there is room.
    ///
    /// # Errors
    /// The value, if the ring is full or its consumer has gone.
    #[inline(always)]
    #[doc(alias("try_send", "send"))]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.is_closed() {
            return Err(PushError::Closed(value));
        }
        if self.tail == self.limit && !self.finds_room() {
            return Err(PushError::Full(value));
        }
        // SAFETY: there is room, so the slot belongs to the producer and is empty (I1, I2).
        unsafe { self.write(value) };
        // SAFETY: it was written just now (I2).
        unsafe { self.publish(1) };
        Ok(())
    }

    /// Writes `value` into the slot at `tail`, and prefetches a later one.
    ///
    /// # Safety
    /// There is room for a value.
    #[inline(always)]
    unsafe fn write(&mut self, value: T) {
        let at = self.tail;
        debug_assert!(self.limit.is_after(at), "I1: there is room");
        // The bound holds under speculation, ahead of the check (`view`).
        let slot = at.at_most(self.limit.minus(1));
        // SAFETY: the slots live (I4).
        let slot = unsafe { self.place.slots.at(slot) };
        // SAFETY: there is room, so the slot is empty and belongs to the producer (I1, I2), of which there is one (I3).
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
        // EDGE publish (release): a pop that sees this tail sees the values.
        control.tail.store(self.tail, Release);
        control.values.notify();
    }

    /// Whether there is room after a reload of `head`.
    #[cold]
    fn finds_room(&mut self) -> bool {
        self.look();
        self.tail != self.limit
    }

    /// Loads how far the consumer has come.
    #[inline]
    fn look(&mut self) -> Mark {
        // EDGE vacate (acquire): the consumer that freed these slots has read them.
        let head = self.control().head.load(Acquire);
        self.limit = head.position().plus(self.place.capacity);
        self.fetch = self.place.slots.last_whole_line(self.limit);
        head
    }

    /// Whether to stop waiting for room for `count` values: there is room, or there never will be.
    #[inline]
    pub(super) fn has_room(&mut self, count: u64) -> bool {
        self.limit.since(self.tail) >= count
            || self.look().is_gone()
            || self.is_closed()
            || self.limit.since(self.tail) >= count
    }

    /// Claims room for exactly `count` values, to be written in place and published together.
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
    /// There is not enough room now; or `count` exceeds the capacity; or the consumer has gone.
    pub fn claim(&mut self, count: usize) -> Result<Claim<'_, T, N>, ClaimError> {
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
        // SAFETY: there is room for `count` values (I1).
        Ok(unsafe { Claim::new(self, count) })
    }

    /// Claims the room that there is, for at most `most` values (0 counts as 1).
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
    /// producer.push(1)?;
    /// let mut claim = producer.claim_up_to(100)?;
    /// assert_eq!((claim.room(), claim.fill(2..100)), (3, 3));
    /// claim.publish();
    /// assert!(consumer.read(9)?.iter().eq(&[1, 2, 3, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no room now; or the consumer has gone.
    #[inline(always)]
    pub fn claim_up_to(&mut self, most: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        let most = most.max(1) as u64;
        if self.limit.since(self.tail) < most {
            self.look();
        }
        // A faulty consumer in another process may have written anything: at most all slots.
        let room = self.limit.since(self.tail).min(self.place.capacity);
        if room == 0 {
            return Err(ClaimError::Full);
        }
        // SAFETY: there is room for that many values (I1).
        Ok(unsafe { Claim::new(self, room.min(most) as usize) })
    }

    /// Pushes as many of `values` as there is room for, and returns their number.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        let Ok(mut claim) = self.claim_up_to(values.len()) else { return 0 };
        claim.copy(values);
        claim.publish()
    }

    /// How many values there is room for now. Room only grows until the next push; 0 once the consumer has gone.
    pub fn room(&mut self) -> usize {
        if self.is_closed() {
            return 0;
        }
        self.look();
        // A faulty consumer in another process may have written anything: at most all slots.
        self.limit.since(self.tail).min(self.place.capacity) as usize
    }

    /// How many values are in the ring; others may change that at once.
    pub fn len(&self) -> usize {
        let head = self.control().head.load(Relaxed).position();
        self.tail.since(head).min(self.place.capacity) as usize
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.place.capacity as usize
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.control().values.have_gone()
    }

    /// Takes back the value `offset` after `tail`, which is not published yet.
    ///
    /// # Safety
    /// The value has been written, and is taken back once.
    pub(super) unsafe fn take_back(&self, offset: u64) -> T {
        // SAFETY: the slots live (I4).
        let slot = unsafe { self.place.slots.at(self.tail.plus(offset)) };
        // SAFETY: the slot holds a value that still belongs to the producer (I2).
        unsafe { slot.read() }
    }

    /// The `count` slots from `tail` on.
    ///
    /// # Safety
    /// The producer outlives the result.
    #[inline(always)]
    pub(super) unsafe fn free_slots<'p>(&self, count: usize) -> Run<'p, Slot<T>> {
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.run(self.tail, count) }
    }
}

impl<T, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        if self.keeper.is_a_copy() {
            return;
        }
        // EDGE publish (release): a consumer that sees that the producer has gone sees all its values.
        self.control().tail.store_gone(self.tail, Release);
        self.control().values.notify();
    }
}

impl<T, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
