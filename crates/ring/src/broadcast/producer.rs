//! The side that publishes.

use super::Claim;
use super::ring::Ring;
use crate::notifier::{Notifier, Silent};
use crate::position::Position;
use crate::slots::Slot;
use crate::view::View;
use crate::{ClaimError, PushError};
use std::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Relaxed, Release};

/// The side that publishes. There is one, and it cannot be cloned.
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
// Aligned so that two sides made together, and used by two threads where they are, share no line.
#[repr(align(128))]
pub struct Producer<T, B: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, B>>,
    /// What `ring.published` is: nobody else stores it (I4).
    pub(super) next: Position,
    /// Where the ring is full, by what was last seen of the stages. It only refuses too early, never too late.
    pub(super) limit: Position,
    slots: View<Slot<T>>,
    /// How far ahead of `next`, and how far at most, slots are fetched to be written.
    ahead: u64,
    fetch: Position,
    /// How many positions have been written, published or not (I5).
    written: u64,
}

// SAFETY: only values of types that threads may send and share get in (`Plan::build`), and what is shared is atomics,
// and slots by the rules of I1.
unsafe impl<T, B: Notifier> Send for Producer<T, B> {}

impl<T, B: Notifier> Producer<T, B> {
    pub(super) fn new(ring: Arc<Ring<T, B>>) -> Producer<T, B> {
        let next = Position::new(0);
        let (limit, slots) = (next.plus(ring.capacity), ring.slots.view());
        let (ahead, fetch) = (slots.ahead(), slots.last_whole_line(limit));
        Producer { ring, next, limit, slots, ahead, fetch, written: 0 }
    }

    /// Publishes `value`, if there is room.
    ///
    /// # Errors
    /// The value, when the ring is full, or all consumers have gone.
    #[inline]
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

    /// Claims room for exactly `count` values, to be published at once.
    ///
    /// # Errors
    /// There is not that much room now or, beyond the capacity, ever; or all consumers have gone.
    pub fn claim(&mut self, count: usize) -> Result<Claim<'_, T, B>, ClaimError> {
        self.find(count)?;
        Ok(Claim::new(self, count as u64))
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

    /// Sees how far the stages have come.
    fn look(&mut self, count: usize) -> Result<(), ClaimError> {
        if count > self.capacity() {
            return Err(ClaimError::TooLong { most: self.capacity() });
        }
        let gate = self.ring.gate().position();
        if gate == Position::END {
            return Err(ClaimError::Closed);
        }
        // A member that fails to claim an old position says for a moment that it holds it: what was free stays free.
        self.limit = self.limit.max(gate.plus(self.ring.capacity));
        self.fetch = self.slots.last_whole_line(self.limit);
        if self.limit.since(self.next) < count as u64 { Err(ClaimError::Full) } else { Ok(()) }
    }

    /// Writes the slot of a position.
    ///
    /// # Safety
    /// It was found free (`find`), is not published yet, and all positions before it have been written.
    #[inline]
    pub(super) unsafe fn write(&mut self, position: Position, value: T) {
        debug_assert!(self.limit.is_after(position), "I1: there is room");
        // The bound is for what a CPU does ahead of the check (`view`).
        // SAFETY: the ring keeps the slots (I6).
        let slot = unsafe { self.slots.at(position.at_most(self.limit.minus(1))) };
        let step = position.steps();
        let is_full = step < self.written || step >= self.slots.len() as u64;
        if std::mem::needs_drop::<T>() && is_full {
            // SAFETY: the slot is the producer's (I1), and holds a value (I5).
            unsafe { slot.replace(value) };
        } else {
            // SAFETY: the slot is the producer's (I1), and is empty (I5), or its value needs no drop.
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
        // EDGE broadcast-publish (release): who sees this sees the values.
        self.ring.published.store(self.next, Release);
        self.ring.notify_readers(count);
    }

    /// How many values there is room for now; there can only be more later. 0 when all consumers have gone.
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

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether all consumers have gone.
    pub fn is_closed(&self) -> bool {
        self.ring.values.have_gone()
    }
}

impl<T, B: Notifier> Drop for Producer<T, B> {
    fn drop(&mut self) {
        self.ring.written.store(self.written, Relaxed);
        // EDGE broadcast-publish (release): who sees that the producer has gone sees all its values.
        self.ring.published.store_gone(self.next, Release);
        self.ring.notify_all_readers();
    }
}

impl<T, B: Notifier> fmt::Debug for Producer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
