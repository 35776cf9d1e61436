//! The producer: the side that publishes.

use super::Claim;
use super::ring::Ring;
use crate::notifier::{Notifier, Silent};
use crate::position::Position;
use crate::slots::Slot;
use crate::view::View;
use crate::{ClaimError, PushError};
use core::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Relaxed, Release};

/// The producer: the side that publishes. There is one, and it cannot be cloned.
///
/// ```
/// use uncontended_ring::PushError;
/// use uncontended_ring::broadcast::Plan;
///
/// let (mut producer, mut consumers) = Plan::new(1).consumer("a", &[]).consumer("b", &[]).polling()?;
/// let (mut a, b) = (consumers.take("a").unwrap(), consumers.take("b").unwrap());
/// producer.push(1).unwrap();
/// a.read(1)?.release();
/// assert_eq!(producer.push(2), Err(PushError::Full(2))); // b has not read it
/// drop(b); // and never will
/// assert_eq!(producer.push(2), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Aligned, so that two sides created together and used in place by two threads share no cache line.
#[repr(align(128))]
#[doc(alias = "Sender")]
pub struct Producer<T, N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, N>>,
    /// `ring.published`, which only this side stores (I4).
    pub(super) next: Position,
    /// Where the ring is full, according to the last look at the stages. A stale limit refuses too early, never too
    /// late.
    pub(super) limit: Position,
    slots: View<Slot<T>>,
    /// How far ahead of `next` slots are prefetched for writing, and the last slot that may be.
    ahead: u64,
    fetch: Position,
    /// The number of positions written, published or not (I5).
    written: u64,
}

// SAFETY: `Plan::build` admits only values that are `Send + Sync`. Shared are atomics, and slots by the rules of I1.
unsafe impl<T, N: Notifier> Send for Producer<T, N> {}

impl<T, N: Notifier> Producer<T, N> {
    /// # Safety
    /// The ring is new, and there is no other producer (I1, I4).
    pub(super) unsafe fn new(ring: Arc<Ring<T, N>>) -> Producer<T, N> {
        let next = Position::new(0);
        let (limit, slots) = (next.plus(ring.capacity), ring.slots.view());
        let (ahead, fetch) = (slots.ahead(), slots.last_whole_line(limit));
        Producer { ring, next, limit, slots, ahead, fetch, written: 0 }
    }

    /// Publishes `value`, if there is room.
    ///
    /// # Errors
    /// The value, if the ring is full or all consumers have gone.
    #[inline]
    #[doc(alias("try_send", "send"))]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        match self.find(1) {
            Ok(()) => {}
            Err(ClaimError::Closed) => return Err(PushError::Closed(value)),
            Err(_) => return Err(PushError::Full(value)),
        }
        // SAFETY: there is room for one (I1).
        unsafe { self.write(self.next, value) };
        // SAFETY: it was written just now (I1).
        unsafe { self.publish(1) };
        Ok(())
    }

    /// Claims room for exactly `count` values, to be published together.
    ///
    /// # Errors
    /// There is not enough room now; or `count` exceeds the capacity; or all consumers have gone.
    pub fn claim(&mut self, count: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        self.find(count)?;
        // SAFETY: there is room for them, as found just now (I1).
        Ok(unsafe { Claim::new(self, count as u64) })
    }

    /// Makes sure that there is room for `count` values.
    #[inline]
    pub(super) fn find(&mut self, count: usize) -> Result<(), ClaimError> {
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        if self.limit.since(self.next) < count as u64 {
            self.look(count)?;
        }
        Ok(())
    }

    /// Loads how far the stages have come.
    fn look(&mut self, count: usize) -> Result<(), ClaimError> {
        if count > self.capacity() {
            return Err(ClaimError::TooLong { most: self.capacity() });
        }
        let gate = self.ring.gate().position();
        if gate == Position::END {
            return Err(ClaimError::Closed);
        }
        // A member that fails to claim an old position holds it for a moment. The limit never moves back.
        self.limit = self.limit.max(gate.plus(self.ring.capacity));
        self.fetch = self.slots.last_whole_line(self.limit);
        if self.limit.since(self.next) < count as u64 { Err(ClaimError::Full) } else { Ok(()) }
    }

    /// Writes the slot at `position`.
    ///
    /// # Safety
    /// `find` found the slot free, it is not published yet, and all positions before it have been written.
    #[inline]
    pub(super) unsafe fn write(&mut self, position: Position, value: T) {
        debug_assert!(self.limit.is_after(position), "I1: there is room");
        // The bound holds under speculation, ahead of the check (`view`).
        // SAFETY: the ring keeps the slots (I6).
        let slot = unsafe { self.slots.at(position.at_most(self.limit.minus(1))) };
        let step = position.steps();
        let is_full = step < self.written || step >= self.slots.len() as u64;
        if core::mem::needs_drop::<T>() && is_full {
            // SAFETY: the slot belongs to the producer (I1) and holds a value (I5).
            unsafe { slot.replace(value) };
        } else {
            // SAFETY: the slot belongs to the producer (I1), and is empty (I5) or its value needs no drop.
            unsafe { slot.write(value) };
        }
        self.written = self.written.max(step + 1);
        self.slots.prefetch_to_write(position.plus(self.ahead).at_most(self.fetch));
    }

    /// Publishes the next `count` values.
    ///
    /// # Safety
    /// They have been written.
    #[inline]
    pub(super) unsafe fn publish(&mut self, count: u64) {
        self.next = self.next.plus(count);
        debug_assert!(!self.next.is_after(self.limit), "I1: no more than there was room for");
        // EDGE broadcast-publish (release): a consumer that sees this sees the values.
        self.ring.published.store(self.next, Release);
        self.ring.notify_readers(count);
    }

    /// How many values there is room for now. Room only grows until the next push; 0 once all consumers have gone.
    pub fn room(&mut self) -> usize {
        match self.look(0) {
            Ok(()) => self.limit.since(self.next) as usize,
            Err(_) => 0,
        }
    }

    /// How many values the slowest living consumer has not released.
    pub fn lag(&self) -> usize {
        let gate = self.ring.gate().position();
        if gate == Position::END { 0 } else { self.next.since(gate) as usize }
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether all consumers have gone.
    pub fn is_closed(&self) -> bool {
        self.ring.values.have_gone()
    }
}

impl<T, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        self.ring.written.store(self.written, Relaxed);
        // EDGE broadcast-publish (release): a consumer that sees that the producer has gone sees all its values.
        self.ring.published.store_gone(self.next, Release);
        self.ring.notify_all_readers();
    }
}

impl<T, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
