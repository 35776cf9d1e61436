//! The consumer. The header of [`mpsc`](super) has the invariants and the edges.

use super::Ring;
use crate::PopError;
use crate::notifier::{Notifier, Silent};
use crate::pace::Pace;
use crate::position::Position;
use alloc::vec::Vec;
use core::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// The consumer: the side that pops.
///
/// ```
/// use uncontended_ring::{PopError, PushError};
///
/// let (producer, mut consumer) = uncontended_ring::mpsc::ring(1)?;
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push("order").unwrap();
/// assert_eq!(consumer.pop(), Ok("order"));
/// drop(consumer);
/// assert_eq!(producer.push("late"), Err(PushError::Closed("late")));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
// Aligned, so that sides created together share no cache line.
#[repr(align(128))]
#[doc(alias = "Receiver")]
pub struct Consumer<T, N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, N>>,
    /// The ring's `head`, which only this side stores.
    head: Position,
    /// The last load of `tail`: slots before it have been claimed, and are published or will be.
    seen: Position,
    /// How far ahead of `head` slots are prefetched for reading, and the last slot that may be.
    ahead: u64,
    fetch: Position,
    pace: Pace,
}

impl<T, N: Notifier> Consumer<T, N> {
    /// # Safety
    /// There is no other consumer (I4), and `head` is its position.
    pub(super) unsafe fn new(ring: Arc<Ring<T, N>>, head: Position) -> Consumer<T, N> {
        let view = ring.slots.view();
        let (ahead, fetch) = (view.ahead(), view.last_whole_line(head));
        Consumer { ring, head, seen: head, ahead, fetch, pace: Pace::default() }
    }

    /// Pops the oldest value.
    ///
    /// # Errors
    /// There is no value: the next slot is not claimed, or not published yet, or never will be.
    #[inline(always)]
    #[doc(alias = "try_recv")]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.find()?;
        // SAFETY: `find` saw that the slot is published (I2).
        let value = unsafe { self.take(self.head) };
        // SAFETY: it was taken just now (I2).
        unsafe { self.vacate(1) };
        Ok(value)
    }

    /// The oldest value, which stays in the ring.
    ///
    /// # Errors
    /// As for [`pop`](Consumer::pop).
    pub fn peek(&mut self) -> Result<&T, PopError> {
        self.find()?;
        let slot = &self.ring.slots.at(self.head).slot;
        // SAFETY: `find` found a value, which stays (I2) until `head` moves; that needs `&mut self` (I4).
        Ok(unsafe { &*slot.as_ptr() })
    }

    /// Pops up to `most` values and appends them to `into`. Gives their slots back together, and returns their number.
    ///
    /// # Errors
    /// There is no value, as for [`pop`](Consumer::pop).
    #[doc(alias = "try_iter")]
    pub fn pop_into(&mut self, into: &mut Vec<T>, most: usize) -> Result<usize, PopError> {
        self.find()?;
        let mut batch = Popped { consumer: self, count: 0 };
        while batch.count < most as u64 {
            let at = batch.consumer.head.plus(batch.count);
            if at == batch.consumer.seen || !batch.consumer.is_published(at) {
                break;
            }
            // Reserve first: growing may panic, and the value must then stay in the ring.
            into.reserve(1);
            // SAFETY: the slot is published, and its value was not taken before (I2).
            into.push(unsafe { batch.consumer.take(at) });
            batch.count += 1;
        }
        Ok(batch.count as usize)
    }

    /// Makes sure that there is a value to read.
    #[inline(always)]
    fn find(&mut self) -> Result<(), PopError> {
        let is_published = self.is_published(self.head);
        if self.head != self.seen {
            return if is_published { Ok(()) } else { Err(PopError::Empty) };
        }
        if !is_published {
            self.pace.found_nothing();
            return Err(if self.is_end() { PopError::Closed } else { PopError::Empty });
        }
        self.look();
        if self.pace.is_too_close(self.seen.since(self.head), self.ring.capacity) {
            self.pace.pause();
            self.look();
        }
        Ok(())
    }

    #[inline(always)]
    fn is_published(&self, at: Position) -> bool {
        // EDGE mpsc-publish (acquire): the value has been written.
        self.ring.slots.at(at).sequence.load(Acquire).position() == at.plus(1)
    }

    /// Loads how far producers have claimed. Only after a value was found: producers compete for that cache line.
    fn look(&mut self) {
        // Relaxed: claims carry nothing. The found value is published after its claim, so the load sees that claim.
        self.seen = self.ring.tail.load(Relaxed).position();
        self.fetch = self.ring.slots.view().last_whole_line(self.seen);
    }

    /// Whether the next value will never come.
    fn is_end(&self) -> bool {
        // Relaxed: at `end`, this consumer has popped every value.
        let end = self.ring.end.load(Relaxed);
        end.is_gone() && end.position() == self.head
    }

    /// Moves the value at `at` out.
    ///
    /// # Safety
    /// The slot is published, and its value was not taken before.
    #[inline(always)]
    unsafe fn take(&self, at: Position) -> T {
        // SAFETY: the slot holds a value and belongs to the consumer (I2).
        let value = unsafe { self.ring.slots.at(at).slot.read() };
        let later = at.plus(self.ahead).at_most(self.fetch);
        self.ring.slots.view().prefetch_to_read(later);
        value
    }

    /// Gives the `count` slots from `head` on back to the producers.
    ///
    /// # Safety
    /// Their values have been taken.
    #[inline]
    unsafe fn vacate(&mut self, count: u64) {
        self.head = self.head.plus(count);
        debug_assert!(!self.head.is_after(self.seen), "I2: no more than was seen to be claimed");
        // EDGE mpsc-vacate (release): the slots have been read.
        self.ring.head.store(self.head, Release);
        self.ring.room.notify(count);
    }

    /// Whether to stop waiting for a value: there is one, or there never will be.
    pub(super) fn has_values(&mut self) -> bool {
        self.find() != Err(PopError::Empty)
    }

    /// How many values are in the ring, with those that are being pushed; others may change that at once.
    pub fn len(&self) -> usize {
        let tail = self.ring.tail.load(Relaxed).position();
        tail.since(self.head) as usize
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether all producers have gone. The values that they left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.ring.end.load(Relaxed).is_gone()
    }
}

/// Values taken out whose slots are given back when this is dropped, by a panic too.
struct Popped<'c, T, N: Notifier> {
    consumer: &'c mut Consumer<T, N>,
    count: u64,
}

impl<T, N: Notifier> Drop for Popped<'_, T, N> {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: `count` values have been taken (I2).
            unsafe { self.consumer.vacate(self.count) };
        }
    }
}

impl<T, N: Notifier> Drop for Consumer<T, N> {
    fn drop(&mut self) {
        self.ring.values.go();
        let last = Last(self);
        if core::mem::needs_drop::<T>() {
            // At most the capacity: producers that have not seen `gone` yet may still push.
            (0..last.0.ring.capacity).map_while(|_| last.0.pop().ok()).for_each(drop);
        }
    }
}

/// Closes the ring when it is dropped, even if the drop of a queued value panics.
struct Last<'c, T, N: Notifier>(&'c mut Consumer<T, N>);

impl<T, N: Notifier> Drop for Last<'_, T, N> {
    fn drop(&mut self) {
        let ring = &self.0.ring;
        // EDGE mpsc-vacate (release): a producer that sees that the consumer has gone sees all its reads done.
        ring.head.store_gone(self.0.head, Release);
        ring.room.one.notify();
        ring.room.several.notify();
    }
}

impl<T, N: Notifier> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
