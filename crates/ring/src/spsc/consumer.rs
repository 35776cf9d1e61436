//! The consumer. The header of [`spsc`](super) has the invariants and the edges.

use super::{Batch, Control, Keeper, Place};
use crate::PopError;
use crate::notifier::{Notifier, Silent};
use crate::pace::Pace;
use crate::position::{Mark, Position};
use crate::slots::{Run, Slot};
use alloc::vec::Vec;
use core::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};

/// The consumer: the side that pops.
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
// Aligned, so that two sides created together and used in place by two threads share no cache line.
#[repr(align(128))]
#[doc(alias = "Receiver")]
pub struct Consumer<T, N: Notifier = Silent> {
    place: Place<T, N>,
    /// The ring's `head`, which only this side stores.
    pub(super) head: Position,
    /// The last load of `tail`.
    seen: Position,
    /// How far ahead of `head` slots are prefetched for reading, and the last slot that may be.
    ahead: u64,
    fetch: Position,
    /// `head` is past values that were set aside and not vacated yet; their iterator may have been leaked.
    has_set_aside: bool,
    pace: Pace,
    keeper: Keeper<T, N>,
}

// SAFETY: it is the only consumer (I3), and shares only atomics with the producer, so it may move to another thread
// together with the values that it pops.
unsafe impl<T: Send, N: Notifier> Send for Consumer<T, N> {}

impl<T, N: Notifier> Consumer<T, N> {
    /// # Safety
    /// The place is valid as long as the keeper lives (I4), `head` is its position, and there is no other consumer
    /// (I3).
    pub(super) unsafe fn new(
        place: Place<T, N>,
        head: Position,
        keeper: Keeper<T, N>,
    ) -> Consumer<T, N> {
        let (ahead, fetch) = (place.slots.ahead(), place.slots.last_whole_line(head));
        let (has_set_aside, pace) = (false, Pace::default());
        Consumer { place, head, seen: head, ahead, fetch, has_set_aside, pace, keeper }
    }

    #[inline(always)]
    pub(super) fn control(&self) -> &Control<N> {
        // SAFETY: this side holds the keeper, and drops it last (I4).
        unsafe { self.place.control() }
    }

    /// Pops the oldest value.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline(always)]
    #[doc(alias = "try_recv")]
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.find(1)?;
        // SAFETY: `find` found a value (I2), which leaves the ring here.
        let value = unsafe { self.take(self.head) };
        // SAFETY: it was taken just now (I2).
        unsafe { self.vacate(self.head.plus(1)) };
        Ok(value)
    }

    /// The oldest value, which stays in the ring.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    pub fn peek(&mut self) -> Result<&T, PopError> {
        self.find(1)?;
        // SAFETY: `find` found a value, which stays (I2) until `head` moves; that needs `&mut self` (I3).
        Ok(unsafe { self.value(self.head) })
    }

    /// The oldest values, at most `most` of them (0 counts as 1), to be read in place. They stay in the ring until they
    /// are released. **Values that are neither released nor taken out are returned again by the next read**: a loop
    /// that does neither reads the same values forever, and the producer waits for room.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline(always)]
    pub fn read(&mut self, most: usize) -> Result<Batch<'_, T, N>, PopError> {
        let most = most.max(1) as u64;
        self.find(most)?;
        // A faulty producer in another process may have written anything: at most all slots.
        let there = self.seen.since(self.head).min(self.place.capacity);
        Ok(Batch { len: most.min(there), consumer: self })
    }

    /// Pops as many values as there are and fit into `into`, and returns their number.
    #[inline]
    pub fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        if into.is_empty() {
            return 0;
        }
        let Ok(batch) = self.read(into.len()) else { return 0 };
        let count = batch.len();
        batch.copy(&mut into[..count]);
        batch.release();
        count
    }

    /// Makes sure that there is a value to read; if fewer than `most` are known, by a look at how many there are.
    #[inline(always)]
    fn find(&mut self, most: u64) -> Result<(), PopError> {
        if self.seen.since(self.head) < most {
            let tail = self.look();
            if self.head == self.seen {
                self.pace.found_nothing();
                return Err(if tail.is_gone() { PopError::Closed } else { PopError::Empty });
            }
            if self.pace.is_too_close(self.seen.since(self.head), self.place.capacity) {
                self.pace.pause();
                self.look();
            }
        }
        Ok(())
    }

    /// Whether to stop waiting for a value: there is one, or there never will be.
    #[inline]
    pub(super) fn has_values(&mut self) -> bool {
        self.find(1) != Err(PopError::Empty)
    }

    /// The slot at `at`.
    ///
    /// # Safety
    /// The slot holds a value.
    #[inline(always)]
    unsafe fn slot(&self, at: Position) -> &Slot<T> {
        // The bound holds under speculation, ahead of the check (`view`).
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.at(at.at_most(self.seen.minus(1))) }
    }

    /// Prefetches a slot later than the one at `at`.
    #[inline(always)]
    fn fetch_ahead_of(&self, at: Position) {
        self.place.slots.prefetch_to_read(at.plus(self.ahead).at_most(self.fetch));
    }

    /// Moves the value at `at` out.
    ///
    /// # Safety
    /// The slot holds a value, which is not used again.
    #[inline(always)]
    pub(super) unsafe fn take(&self, at: Position) -> T {
        // SAFETY: the slot holds a value (I2).
        let slot = unsafe { self.slot(at) };
        // SAFETY: the slot holds a value and belongs to the consumer (I2).
        let value = unsafe { slot.read() };
        self.fetch_ahead_of(at);
        value
    }

    /// The value at `at`.
    ///
    /// # Safety
    /// The slot holds a value, which stays for the lifetime that the caller chooses.
    #[inline(always)]
    pub(super) unsafe fn value<'v>(&self, at: Position) -> &'v T {
        // SAFETY: the slot holds a value (I2).
        let slot = unsafe { self.slot(at) };
        self.fetch_ahead_of(at);
        // SAFETY: the slot holds a value and belongs to the consumer (I2).
        unsafe { &*slot.as_ptr() }
    }

    /// Transfers the `count` oldest values to an iterator, which takes some of them and calls
    /// [`settle`](Consumer::settle) when it is dropped. If the iterator is leaked, so are they; the next `look` then
    /// vacates their slots.
    ///
    /// # Safety
    /// There are at least `count`, and nothing else takes them (I7).
    #[inline(always)]
    pub(super) unsafe fn set_aside(&mut self, count: u64) {
        self.head = self.head.plus(count);
        self.has_set_aside = true;
    }

    /// Vacates the slots of values that were set aside, once their iterator has taken or leaked them.
    ///
    /// # Safety
    /// As for [`vacate`](Consumer::vacate); and the iterator no longer exists.
    pub(super) unsafe fn settle(&mut self, head: Position) {
        self.has_set_aside = false;
        // SAFETY: the caller keeps the same contract (I2).
        unsafe { self.vacate(head) };
    }

    /// Advances `head` and gives the slots before it back to the producer.
    ///
    /// # Safety
    /// The values before `head` have been taken or leaked; those from `head` on have not.
    #[inline(always)]
    pub(super) unsafe fn vacate(&mut self, head: Position) {
        debug_assert!(!head.is_after(self.seen), "I1: no more than was seen to be published");
        self.head = head;
        let control = self.control();
        // EDGE vacate (release): the slots have been read.
        control.head.store(self.head, Release);
        control.room.notify();
    }

    /// Loads how far the producer has come.
    #[inline]
    fn look(&mut self) -> Mark {
        if self.has_set_aside {
            // SAFETY: the iterator was leaked, and the values set aside for it with it (I7).
            unsafe { self.settle(self.head) };
        }
        // EDGE publish (acquire): the values up to there have been written.
        let tail = self.control().tail.load(Acquire);
        self.seen = tail.position();
        self.fetch = self.place.slots.last_whole_line(self.seen);
        tail
    }

    /// Pops up to `most` values and appends them to `into`. Gives their slots back together, and returns their number.
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
    /// producer.push_slice(&[1, 2, 3]);
    /// let mut values = vec![0];
    /// assert_eq!(consumer.pop_into(&mut values, 2), Ok(2));
    /// assert_eq!((values, consumer.pop()), (vec![0, 1, 2], Ok(3)));
    /// # Ok::<(), uncontended_ring::CapacityError>(())
    /// ```
    ///
    /// # Errors
    /// There is no value, as for [`pop`](Consumer::pop).
    #[doc(alias = "try_iter")]
    pub fn pop_into(&mut self, into: &mut Vec<T>, most: usize) -> Result<usize, PopError> {
        let batch = self.read(most)?;
        let count = batch.len().min(most);
        // Growing may panic, and the values must then stay in the ring.
        into.reserve(count);
        into.extend(batch.into_iter().take(count));
        Ok(count)
    }

    /// How many values can be popped now. The number only grows until the next pop.
    pub fn available(&mut self) -> usize {
        self.look();
        self.seen.since(self.head).min(self.place.capacity) as usize
    }

    /// How many values are in the ring; others may change that at once.
    pub fn len(&self) -> usize {
        let tail = self.control().tail.load(Relaxed).position();
        tail.since(self.head).min(self.place.capacity) as usize
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity, in values.
    pub fn capacity(&self) -> usize {
        self.place.capacity as usize
    }

    /// Whether the producer has gone. The values that it left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.control().tail.load(Relaxed).is_gone()
    }

    /// The `count` slots from `head` on.
    ///
    /// # Safety
    /// The consumer outlives the result.
    #[inline(always)]
    pub(super) unsafe fn full_slots<'c>(&self, count: usize) -> Run<'c, Slot<T>> {
        // SAFETY: the slots live (I4).
        unsafe { self.place.slots.run(self.head, count) }
    }
}

impl<T, N: Notifier> Drop for Consumer<T, N> {
    fn drop(&mut self) {
        if self.keeper.is_a_copy() {
            return;
        }
        self.control().values.go();
        let last = Last(self);
        if core::mem::needs_drop::<T>()
            && let Ok(queued) = last.0.read(usize::MAX)
        {
            queued.release();
        }
    }
}

/// Closes the ring when it is dropped, even if the drop of a queued value panics.
struct Last<'c, T, N: Notifier>(&'c mut Consumer<T, N>);

impl<T, N: Notifier> Drop for Last<'_, T, N> {
    fn drop(&mut self) {
        let (control, head) = (self.0.control(), self.0.head);
        // EDGE vacate (release): a producer that sees that the consumer has gone sees all its reads done.
        control.head.store_gone(head, Release);
        control.room.notify();
    }
}

impl<T, N: Notifier> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
