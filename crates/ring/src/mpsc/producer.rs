//! A producer. The header of [`mpsc`](super) has the invariants and the edges.

use super::{Ring, Sequenced};
use crate::notifier::{Notifier, Silent};
use crate::position::{Cursor, Mark, Position};
use crate::{ClaimError, PushError};
use alloc::vec::Vec;
use core::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::spin_loop;

/// A producer: a side that pushes. Each clone is another producer. Pushing needs `&self` alone, so threads may also
/// share one producer, and then its cache line.
///
/// ```
/// use uncontended_ring::{PopError, PushError};
///
/// let (producer, mut consumer) = uncontended_ring::mpsc::ring(2)?;
/// let other = producer.clone();
/// producer.push(1).unwrap();
/// other.push(2).unwrap();
/// assert_eq!(producer.push(3), Err(PushError::Full(3)));
/// drop((producer, other));
/// assert_eq!([consumer.pop(), consumer.pop(), consumer.pop()], [Ok(1), Ok(2), Err(PopError::Closed)]);
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
// Aligned, so that sides created together share no cache line.
#[repr(align(128))]
#[doc(alias = "Sender")]
pub struct Producer<T, N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, N>>,
    /// Where the ring is full, according to a load of `head` by this producer. A stale limit refuses too early, never
    /// too late.
    limit: Cursor,
    /// How far ahead of a claim slots are prefetched for writing.
    ahead: u64,
}

impl<T, N: Notifier> Producer<T, N> {
    /// # Safety
    /// The ring's `producers` counts it (I5), and `head` is a position that the consumer has come to (I1).
    pub(super) unsafe fn new(ring: Arc<Ring<T, N>>, head: Position) -> Producer<T, N> {
        let limit = Cursor::new("limit", head.plus(ring.capacity));
        Producer { limit, ahead: ring.slots.view().ahead(), ring }
    }

    /// Pushes `value`, if there is room.
    ///
    /// # Errors
    /// The value, if the ring is full or its consumer has gone.
    #[inline(always)]
    #[doc(alias("try_send", "send"))]
    pub fn push(&self, value: T) -> Result<(), PushError<T>> {
        // SAFETY: the claim is published below (I2).
        match unsafe { self.claim(1) } {
            Ok((at, limit)) => {
                // SAFETY: the slot was claimed just now for this value (I2, I3).
                unsafe { self.publish(at, value, limit) };
                self.notify_consumer();
                Ok(())
            }
            Err(ClaimError::Closed) => Err(PushError::Closed(value)),
            Err(_) => Err(PushError::Full(value)),
        }
    }

    /// Pushes all `values`, with no other producer's values in between, if there is room for all of them. `values` is
    /// then empty but keeps its allocation; otherwise it is unchanged.
    ///
    /// ```
    /// let (producer, mut consumer) = uncontended_ring::mpsc::ring(4)?;
    /// let mut values = vec![1, 2, 3];
    /// producer.push_all(&mut values)?;
    /// assert!(values.is_empty());
    /// assert_eq!(consumer.pop_into(&mut values, 9), Ok(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is not enough room now; or `count` exceeds the capacity; or the consumer has gone.
    pub fn push_all(&self, values: &mut Vec<T>) -> Result<(), ClaimError> {
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the claim is published below (I2).
        let (first, limit) = unsafe { self.claim(values.len()) }?;
        for (offset, value) in values.drain(..).enumerate() {
            // SAFETY: each claimed slot gets one value (I2, I3). Draining a vector only moves values.
            unsafe { self.publish(first.plus(offset as u64), value, limit) };
        }
        self.notify_consumer();
        Ok(())
    }

    /// Claims `count` slots, at least one. Returns the first, and where the ring is full.
    ///
    /// # Safety
    /// The caller publishes them all and cannot panic before that: the consumer waits for them, and the ring's drop
    /// relies on it.
    #[inline]
    unsafe fn claim(&self, count: usize) -> Result<(Position, Position), ClaimError> {
        let most = self.capacity();
        if count > most {
            return Err(ClaimError::TooLong { most });
        }
        if self.is_closed() {
            return Err(ClaimError::Closed);
        }
        // EDGE mpsc-share (acquire): the slots before have been read, and another thread saw that.
        let mut limit = self.limit.load(Acquire).position();
        loop {
            let tail = self.ring.tail.load(Relaxed).position();
            let next = tail.plus(count as u64);
            if next.is_after(limit) {
                limit = self.look().1;
                if next.is_after(limit) {
                    // If other producers have claimed slots since, there is even less room.
                    return Err(ClaimError::Full);
                }
            }
            // `look` saw that the slots have been read. The claim itself carries nothing.
            if self.ring.tail.advance(tail, next, Relaxed) {
                return Ok((tail, limit));
            }
            spin_loop();
        }
    }

    /// Writes and publishes a slot.
    ///
    /// # Safety
    /// This producer has claimed the slot and not published it yet.
    #[inline]
    unsafe fn publish(&self, at: Position, value: T, limit: Position) {
        let Sequenced { sequence, slot } = self.ring.slots.at(at);
        // SAFETY: the slot belongs to this producer and is empty (I2).
        unsafe { slot.write(value) };
        // EDGE mpsc-publish (release): a pop that sees this sequence sees the value.
        sequence.store(at.plus(1), Release);
        let view = self.ring.slots.view();
        view.prefetch_to_write(at.plus(self.ahead).at_most(view.last_whole_line(limit)));
    }

    #[inline]
    fn notify_consumer(&self) {
        self.ring.values.notify();
    }

    /// Loads how far the consumer has come, and thus where the ring is full.
    fn look(&self) -> (Mark, Position) {
        // EDGE mpsc-vacate (acquire): the slots before `head` have been read.
        let head = self.ring.head.load(Acquire);
        let limit = head.position().plus(self.ring.capacity);
        if self.limit.load(Relaxed).position() != limit {
            // Another thread may just have stored a later limit; an earlier one is right, too.
            // EDGE mpsc-share (release): the slots before the limit have been read.
            self.limit.store(limit, Release);
        }
        (head, limit)
    }

    /// Whether to stop waiting for room for `count` values: there is room now, or there never will be.
    pub(super) fn has_room(&self, count: u64) -> bool {
        let (head, limit) = self.look();
        let tail = self.ring.tail.load(Relaxed).position();
        head.is_gone() || self.is_closed() || !tail.plus(count).is_after(limit)
    }

    /// How many values are in the ring, with those that are being pushed; others may change that at once.
    pub fn len(&self) -> usize {
        // EDGE mpsc-vacate (acquire): `tail` is not behind it. The consumer may have moved on since.
        let head = self.ring.head.load(Acquire).position();
        let tail = self.ring.tail.load(Relaxed).position();
        tail.since(head).min(self.ring.capacity) as usize
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether the consumer has gone.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.ring.values.have_gone()
    }
}

impl<T, N: Notifier> Clone for Producer<T, N> {
    fn clone(&self) -> Producer<T, N> {
        // Relaxed: `self` is counted, so the count is not zero (I5).
        self.ring.producers.fetch_add(1, Relaxed);
        let limit = Cursor::new("limit", self.look().1);
        Producer { ring: Arc::clone(&self.ring), limit, ahead: self.ahead }
    }
}

impl<T, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        // EDGE mpsc-last (acq-rel): the last producer sees the claims of the others.
        if self.ring.producers.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        let tail = self.ring.tail.load(Relaxed).position();
        // No producer is left to claim (I5). Relaxed: `end` is the number of values, and carries none.
        self.ring.end.store_gone(tail, Relaxed);
        self.ring.values.notify();
    }
}

impl<T, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
