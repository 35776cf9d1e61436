//! Values read in place and released together. The header of [`spsc`](super) has the invariants and the edges.

use super::Consumer;
use crate::notifier::{Notifier, Silent};
use crate::position::Position;
use std::fmt;

/// One or more values to read in place, from [`Consumer::read`]. Values that are neither released nor taken out are
/// returned again by the next read.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
/// producer.push_slice(&[1, 2, 3]);
/// let batch = consumer.read(2)?;
/// assert_eq!(batch.iter().sum::<i32>(), 3);
/// batch.release_first(1);
/// assert!(consumer.read(9)?.iter().eq(&[2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "values that are neither released nor taken out stay in the ring"]
pub struct Batch<'c, T, N: Notifier = Silent> {
    pub(super) consumer: &'c mut Consumer<T, N>,
    /// How many slots from `head` on hold values (I6).
    pub(super) len: u64,
}

impl<'c, T, N: Notifier> Batch<'c, T, N> {
    /// The number of values.
    #[allow(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The values, oldest first.
    pub fn iter(&self) -> Iter<'_, T, N> {
        let next = self.consumer.head;
        Iter { consumer: self.consumer, next, end: next.plus(self.len) }
    }

    /// The values as slices: those up to the end of the ring's array, then the rest from its start.
    #[cfg(not(unc_model))]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let (one, two) = self.consumer.full_slots(self.len);
        // SAFETY: these slots hold values, which stay while the batch exists (I6, I3).
        let one = unsafe { crate::slots::values(one) };
        // SAFETY: as for the first (I2).
        (one, unsafe { crate::slots::values(two) })
    }

    /// Drops all values and gives their slots back.
    pub fn release(self) {
        let len = self.len();
        self.release_first(len);
    }

    /// Drops the oldest `count` values, or all if there are fewer, and gives their slots back together.
    pub fn release_first(self, count: usize) {
        let mut taken = self.into_iter();
        for _ in 0..count {
            if taken.next().is_none() {
                break;
            }
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

/// Takes values out. The iterator gives the slots of the taken ones back when it is dropped.
impl<'c, T, N: Notifier> IntoIterator for Batch<'c, T, N> {
    type Item = T;
    type IntoIter = Taken<'c, T, N>;

    fn into_iter(self) -> Taken<'c, T, N> {
        let next = self.consumer.set_aside(self.len);
        Taken { next, end: next.plus(self.len), consumer: self.consumer }
    }
}

impl<T, N: Notifier> fmt::Debug for Batch<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The values of a [`Batch`], oldest first.
pub struct Iter<'b, T, N: Notifier = Silent> {
    consumer: &'b Consumer<T, N>,
    next: Position,
    end: Position,
}

impl<'b, T, N: Notifier> Iterator for Iter<'b, T, N> {
    type Item = &'b T;

    #[inline]
    fn next(&mut self) -> Option<&'b T> {
        if self.next == self.end {
            return None;
        }
        // SAFETY: the batch has the values up to `end`, which stay while it is borrowed (I6).
        let value = unsafe { self.consumer.value(self.next) };
        self.next = self.next.plus(1);
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

/// An iterator that takes the values of a [`Batch`] out, oldest first. Values left when it is dropped stay in the ring;
/// if the iterator is leaked, so are all its values.
pub struct Taken<'c, T, N: Notifier = Silent> {
    /// Its `head` is `end` (I7).
    consumer: &'c mut Consumer<T, N>,
    next: Position,
    end: Position,
}

impl<T, N: Notifier> Iterator for Taken<'_, T, N> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.next == self.end {
            return None;
        }
        // SAFETY: the values up to `end` were set aside for this iterator (I7), which takes each once.
        let value = unsafe { self.consumer.take(self.next) };
        self.next = self.next.plus(1);
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.since(self.next) as usize;
        (left, Some(left))
    }
}

impl<T, N: Notifier> ExactSizeIterator for Taken<'_, T, N> {}

impl<T, N: Notifier> Drop for Taken<'_, T, N> {
    fn drop(&mut self) {
        // SAFETY: the values before `next` have been taken, those from `next` on have not (I7).
        unsafe { self.consumer.settle(self.next) };
    }
}

impl<T, N: Notifier> fmt::Debug for Taken<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("left", &self.len()).finish_non_exhaustive()
    }
}
