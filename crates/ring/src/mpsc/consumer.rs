//! The side that pops. The header of [`mpsc`](super) has the invariants and the edges.

use super::Ring;
use crate::PopError;
use crate::notifier::{Notifier, Silent};
use crate::pace::Pace;
use crate::position::Position;
use std::fmt;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// The side that pops.
///
/// ```
/// use uncontended_ring::{PopError, PushError};
///
/// let (mut producer, mut consumer) = uncontended_ring::mpsc::ring(1)?;
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push("order").unwrap();
/// assert_eq!(consumer.pop(), Ok("order"));
/// drop(consumer);
/// assert_eq!(producer.push("late"), Err(PushError::Closed("late")));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
// Aligned so that sides made together share no line.
#[repr(align(128))]
pub struct Consumer<T, B: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, B>>,
    /// What the ring's `head` is: nobody else stores it.
    head: Position,
    /// What was last seen of `tail`: slots before have been claimed, and are published or will be.
    seen: Position,
    /// How far ahead of `head`, and how far at most, slots are fetched to be read.
    ahead: u64,
    fetch: Position,
    pace: Pace,
}

impl<T, B: Notifier> Consumer<T, B> {
    pub(super) fn new(ring: Arc<Ring<T, B>>, head: Position) -> Consumer<T, B> {
        let view = ring.slots.view();
        let (ahead, fetch) = (view.ahead(), view.last_whole_line(head));
        Consumer { ring, head, seen: head, ahead, fetch, pace: Pace::default() }
    }

    /// Takes the oldest value out.
    ///
    /// # Errors
    /// There is none: its claimer has not published it yet, or nobody has claimed it, or nobody ever will.
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.find()?;
        // SAFETY: `find` saw that the slot is published (I2).
        let value = unsafe { self.take(self.head) };
        // SAFETY: it was taken just now (I2).
        unsafe { self.vacate(1) };
        Ok(value)
    }

    /// The oldest value, left where it is.
    ///
    /// # Errors
    /// As for [`pop`](Consumer::pop).
    pub fn peek(&mut self) -> Result<&T, PopError> {
        self.find()?;
        let slot = &self.ring.slots.at(self.head).slot;
        // SAFETY: `find` found a value, which stays (I2) until `head` moves, and that takes `&mut self` (I4).
        Ok(unsafe { &*slot.as_ptr() })
    }

    /// Pops values as long as there are any, but at most `most`, onto the end of `into`; gives their slots back at
    /// once, and returns how many they are.
    ///
    /// # Errors
    /// There are none, as for [`pop`](Consumer::pop).
    pub fn pop_into(&mut self, into: &mut Vec<T>, most: usize) -> Result<usize, PopError> {
        self.find()?;
        let mut batch = Popped { consumer: self, count: 0 };
        while batch.count < most as u64 {
            let at = batch.consumer.head.plus(batch.count);
            if at == batch.consumer.seen || !batch.consumer.is_published(at) {
                break;
            }
            // Makes room first: to grow may panic, and then this value stays in the ring.
            into.reserve(1);
            // SAFETY: it is published, and was not taken before (I2).
            into.push(unsafe { batch.consumer.take(at) });
            batch.count += 1;
        }
        Ok(batch.count as usize)
    }

    /// Makes sure that there is a value.
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
            self.pace.linger();
            self.look();
        }
        Ok(())
    }

    #[inline(always)]
    fn is_published(&self, at: Position) -> bool {
        // EDGE mpsc-publish (acquire): the value has been written.
        self.ring.slots.at(at).sequence.load(Acquire).position() == at.plus(1)
    }

    /// Sees how far producers have claimed. Only after a value was found: producers swap that word, and wait for its
    /// line.
    fn look(&mut self) {
        // Relaxed: claims carry nothing; the one that was found is among them, since its value came after it.
        self.seen = self.ring.tail.load(Relaxed).position();
        self.fetch = self.ring.slots.view().last_whole_line(self.seen);
    }

    /// Whether the next value will never come.
    fn is_end(&self) -> bool {
        // Relaxed: who has popped up to the end has seen all there was.
        let end = self.ring.end.load(Relaxed);
        end.is_gone() && end.position() == self.head
    }

    /// Takes the value at `at` out.
    ///
    /// # Safety
    /// It is published, and not taken before.
    #[inline(always)]
    unsafe fn take(&self, at: Position) -> T {
        // SAFETY: the slot holds a value and is the consumer's (I2).
        let value = unsafe { self.ring.slots.at(at).slot.read() };
        let later = at.plus(self.ahead).at_most(self.fetch);
        self.ring.slots.view().prefetch_to_read(later);
        value
    }

    /// Gives the `count` slots from `head` on back.
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

    /// Whether there is a value, or will never be one: no more waiting.
    pub(super) fn has_values(&mut self) -> bool {
        self.find() != Err(PopError::Empty)
    }

    /// How many values the ring takes.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }

    /// Whether all producers have gone. What they left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.ring.end.load(Relaxed).is_gone()
    }
}

/// Values taken out but not given back yet: that happens when this goes, by a panic too.
struct Popped<'c, T, B: Notifier> {
    consumer: &'c mut Consumer<T, B>,
    count: u64,
}

impl<T, B: Notifier> Drop for Popped<'_, T, B> {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: `count` values have been taken (I2).
            unsafe { self.consumer.vacate(self.count) };
        }
    }
}

impl<T, B: Notifier> Drop for Consumer<T, B> {
    fn drop(&mut self) {
        self.ring.values.go();
        let last = Last(self);
        if std::mem::needs_drop::<T>() {
            // No more than that, if producers have not heard of it yet.
            (0..last.0.ring.capacity).map_while(|_| last.0.pop().ok()).for_each(drop);
        }
    }
}

/// What a consumer does last of all, even if the drop of what was queued panics.
struct Last<'c, T, B: Notifier>(&'c mut Consumer<T, B>);

impl<T, B: Notifier> Drop for Last<'_, T, B> {
    fn drop(&mut self) {
        let ring = &self.0.ring;
        // EDGE mpsc-vacate (release): who sees that the consumer has gone sees what it took.
        ring.head.store_gone(self.0.head, Release);
        ring.room.one.notify();
        ring.room.several.notify();
    }
}

impl<T, B: Notifier> fmt::Debug for Consumer<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
