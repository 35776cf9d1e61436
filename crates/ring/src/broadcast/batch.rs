//! Values read in place and released.

use super::Consumer;
use crate::notifier::{Notifier, Silent};
use crate::position::Position;
use crate::slots::Slot;
use crate::view::View;
use core::fmt;
use core::marker::PhantomData;
use uncontended_atomic::Ordering::Release;

/// One or more values to read in place, from [`Consumer::read`]. **Values that are not released**
/// ([`release`](Batch::release), [`release_first`](Batch::release_first)) **are returned again by the next read, and
/// hold up the producer.** `for value in batch` clones the values out, and releases what it gave.
///
/// ```
/// use uncontended_ring::broadcast::Plan;
///
/// let (mut producer, mut consumers) = Plan::new(4).consumer("a", &[]).polling()?;
/// let mut a = consumers.take("a").unwrap();
/// (10..13).try_for_each(|value| producer.push(value)).unwrap();
/// let batch = a.read(2)?;
/// assert_eq!((batch.first(), batch.iter().sum::<i32>()), (0, 21));
/// batch.release_first(1);
/// assert!(a.read(9)?.iter().eq(&[11, 12]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "values that are not released are read again, and hold up the producer"]
pub struct Batch<'c, T, N: Notifier = Silent> {
    pub(super) consumer: &'c mut Consumer<T, N>,
    pub(super) len: usize,
}

impl<T, N: Notifier> Batch<'_, T, N> {
    /// The number of values.
    #[allow(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The index of the first value since the start of the broadcast.
    pub fn first(&self) -> u64 {
        self.consumer.from.steps()
    }

    /// The values, oldest first. They stay in the ring until the batch is released.
    pub fn iter(&self) -> Iter<'_, T, N> {
        // SAFETY: the batch borrows the consumer, which holds `len` values (I2).
        unsafe { self.consumer.values(self.len) }
    }

    /// The values as slices: those up to the end of the ring's array, then the rest from its start.
    #[cfg(not(unc_model))]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let (one, two) = self.consumer.ring.slots.run(self.consumer.from, self.len).as_slices();
        // SAFETY: these slots are written (I1), and the consumer holds them until it releases them, which consumes the
        // batch (I2).
        let one = unsafe { crate::slots::values(one) };
        // SAFETY: the consumer may read them until they are released (I1, I2).
        (one, unsafe { crate::slots::values(two) })
    }

    /// Releases all values.
    #[inline]
    pub fn release(self) {
        // SAFETY: the consumer holds `len` positions (I2), and the batch ends here with all references into it.
        unsafe { self.consumer.release(self.len as u64) };
    }

    /// Releases the oldest `count` values, or all if there are fewer. The next read returns the others again.
    pub fn release_first(self, count: usize) {
        let count = count.min(self.len);
        if count > 0 {
            // SAFETY: the consumer holds at least `count` positions (I2), and the batch ends here.
            unsafe { self.consumer.release(count as u64) };
        }
    }
}

impl<'b, T, N: Notifier> IntoIterator for &'b Batch<'_, T, N> {
    type Item = &'b T;
    type IntoIter = Iter<'b, T, N>;

    fn into_iter(self) -> Iter<'b, T, N> {
        self.iter()
    }
}

/// Clones the values out. The iterator releases those that it gave when it is dropped.
///
/// ```
/// use uncontended_ring::broadcast::Plan;
///
/// let (mut producer, mut consumers) = Plan::new(4).consumer("a", &[]).blocking()?;
/// let mut a = consumers.take("a").unwrap();
/// (1..=3).try_for_each(|value| producer.push(value))?;
/// drop(producer);
/// let mut sum = 0;
/// while let Some(batch) = a.read_wait(16) {
///     for value in batch {
///         sum += value;
///     }
/// }
/// assert_eq!(sum, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'c, T: Clone, N: Notifier> IntoIterator for Batch<'c, T, N> {
    type Item = T;
    type IntoIter = Cloned<'c, T, N>;

    #[inline]
    fn into_iter(self) -> Cloned<'c, T, N> {
        // SAFETY: the iterator keeps the borrow of the consumer, which holds `len` values (I2).
        let left = unsafe { self.consumer.values(self.len) };
        Cloned { left, consumer: self.consumer }
    }
}

impl<T, N: Notifier> fmt::Debug for Batch<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("first", &self.first()).field("len", &self.len).finish()
    }
}

/// The values of a [`Batch`], oldest first.
pub struct Iter<'b, T, N: Notifier = Silent> {
    slots: View<Slot<T>>,
    next: Position,
    end: Position,
    /// How far ahead of `next` slots are prefetched for reading, and the last slot that may be.
    ahead: u64,
    fetch: Position,
    batch: PhantomData<&'b Consumer<T, N>>,
}

impl<'b, T, N: Notifier> Iter<'b, T, N> {
    /// The next value, to which the iterator stays.
    #[inline]
    fn peek(&self) -> Option<&'b T> {
        if self.next == self.end {
            return None;
        }
        // The bound holds under speculation, ahead of the check (`view`).
        // SAFETY: the batch's consumer keeps the slots (I6).
        let slot = unsafe { self.slots.at(self.next.at_most(self.end.minus(1))) };
        self.slots.prefetch_to_read(self.next.plus(self.ahead).at_most(self.fetch));
        // SAFETY: the slot is written, and this consumer holds it while the batch is borrowed (I1, I2).
        Some(unsafe { &*slot.as_ptr() })
    }

    #[inline]
    fn pass(&mut self) {
        self.next = self.next.plus(1);
    }
}

impl<'b, T, N: Notifier> Iterator for Iter<'b, T, N> {
    type Item = &'b T;

    #[inline]
    fn next(&mut self) -> Option<&'b T> {
        let value = self.peek()?;
        self.pass();
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.since(self.next) as usize;
        (left, Some(left))
    }
}

impl<T, N: Notifier> ExactSizeIterator for Iter<'_, T, N> {}

impl<T, N: Notifier> fmt::Debug for Iter<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("left", &self.len()).finish_non_exhaustive()
    }
}

/// An iterator that clones the values of a [`Batch`] out, oldest first. When it is dropped, it releases those that it
/// gave; the next read returns the others again.
pub struct Cloned<'c, T, N: Notifier = Silent> {
    /// What it has not given. It starts at the consumer's `from`.
    left: Iter<'c, T, N>,
    consumer: &'c mut Consumer<T, N>,
}

impl<T: Clone, N: Notifier> Iterator for Cloned<'_, T, N> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // If `clone` panics, the value was not given.
        let value = self.left.peek()?.clone();
        self.left.pass();
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T: Clone, N: Notifier> ExactSizeIterator for Cloned<'_, T, N> {}

impl<T, N: Notifier> Drop for Cloned<'_, T, N> {
    #[inline]
    fn drop(&mut self) {
        let given = self.left.next.since(self.consumer.from);
        if given > 0 {
            // SAFETY: the consumer holds them (I2), and no reference to them is left: it gave clones.
            unsafe { self.consumer.release(given) };
        }
    }
}

impl<T, N: Notifier> fmt::Debug for Cloned<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cloned").field("left", &self.left.len()).finish_non_exhaustive()
    }
}

impl<T, N: Notifier> Consumer<T, N> {
    /// The oldest `len` values that this consumer holds.
    ///
    /// # Safety
    /// It holds that many, and releases none of them while the result or a value of it is used.
    #[inline]
    unsafe fn values<'v>(&self, len: usize) -> Iter<'v, T, N> {
        let slots = self.ring.slots.view();
        Iter {
            slots,
            next: self.from,
            end: self.from.plus(len as u64),
            ahead: slots.ahead(),
            fetch: slots.last_whole_line(self.to),
            batch: PhantomData,
        }
    }

    /// Releases the oldest `count` values that this consumer holds; `count` is at least 1.
    ///
    /// # Safety
    /// The consumer holds that many, and no references to them are left.
    #[inline]
    unsafe fn release(&mut self, count: u64) {
        self.from = self.from.plus(count);
        // EDGE broadcast-release (release): everything before has been read.
        match self.held() {
            None => self.stage().front.store(self.from, Release),
            Some(held) if self.from == self.to => held.store(Position::END, Release),
            Some(held) => held.store(self.from, Release),
        }
        self.notify(count);
    }
}
