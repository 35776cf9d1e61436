//! Values read in place and released together. The header of [`spsc`](super) has the invariants and the edges.

use super::Consumer;
use crate::notifier::{Notifier, Silent};
use crate::slots::{Run, Slot};
use core::fmt;
use core::marker::PhantomData;

/// One or more values to read in place, from [`Consumer::read`]. **Values that are neither released nor taken out are
/// returned again by the next read.** `for value in batch` takes them out.
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
    #[inline(always)]
    pub fn iter(&self) -> Iter<'_, T> {
        // SAFETY: the consumer lives as long as the batch (I4).
        Iter(unsafe { self.consumer.full_slots(self.len()) }, PhantomData)
    }

    /// The values as slices: those up to the end of the ring's array, then the rest from its start.
    #[cfg(not(unc_model))]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let (one, two) = self.iter().0.as_slices();
        // SAFETY: these slots hold values, which stay while the batch exists (I6, I3).
        let one = unsafe { crate::slots::values(one) };
        // SAFETY: as for the first (I2).
        (one, unsafe { crate::slots::values(two) })
    }

    /// Copies all values. `into` has their number.
    #[inline]
    pub(super) fn copy(&self, into: &mut [T])
    where
        T: Copy,
    {
        #[cfg(unc_model)]
        into.iter_mut().zip(self).for_each(|(into, value)| *into = *value);
        #[cfg(not(unc_model))]
        {
            let (one, two) = self.as_slices();
            let (first, rest) = into.split_at_mut(one.len());
            first.copy_from_slice(one);
            rest.copy_from_slice(two);
        }
    }

    /// Drops all values and gives their slots back.
    #[inline(always)]
    pub fn release(self) {
        let len = self.len();
        self.release_first(len);
    }

    /// Drops the oldest `count` values, or all if there are fewer, and gives their slots back together.
    #[inline(always)]
    pub fn release_first(self, count: usize) {
        let count = count.min(self.len());
        if core::mem::needs_drop::<T>() {
            return self.into_iter().take(count).for_each(drop);
        }
        if count > 0 {
            // SAFETY: the first `count` slots hold values (I6), which need no drop.
            unsafe { self.consumer.vacate(self.consumer.head.plus(count as u64)) };
        }
    }
}

impl<'b, T, N: Notifier> IntoIterator for &'b Batch<'_, T, N> {
    type Item = &'b T;
    type IntoIter = Iter<'b, T>;

    #[inline(always)]
    fn into_iter(self) -> Iter<'b, T> {
        self.iter()
    }
}

/// Takes values out. The iterator gives the slots of the taken ones back when it is dropped.
impl<'c, T, N: Notifier> IntoIterator for Batch<'c, T, N> {
    type Item = T;
    type IntoIter = Taken<'c, T, N>;

    #[inline(always)]
    fn into_iter(self) -> Taken<'c, T, N> {
        // SAFETY: the consumer outlives the iterator, which borrows it (I4).
        let left = unsafe { self.consumer.full_slots(self.len()) };
        // SAFETY: `len` values are there (I6), and only this iterator takes them (I7).
        unsafe { self.consumer.set_aside(self.len) };
        Taken { left, consumer: self.consumer }
    }
}

impl<T, N: Notifier> fmt::Debug for Batch<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The values of a [`Batch`], oldest first.
// It lends values as `&T`, which decides to which threads it may go; a slot alone would ask less.
pub struct Iter<'b, T>(Run<'b, Slot<T>>, PhantomData<&'b T>);

impl<'b, T> Iterator for Iter<'b, T> {
    type Item = &'b T;

    #[inline(always)]
    fn next(&mut self) -> Option<&'b T> {
        // SAFETY: a slot of the batch holds a value, which stays while the batch is borrowed (I2, I6).
        self.0.next().map(|slot| unsafe { &*slot.as_ptr() })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, &'b T) -> B>(self, start: B, mut step: F) -> B {
        // SAFETY: as in `next` (I2, I6).
        self.0.fold(start, |folded, slot| step(folded, unsafe { &*slot.as_ptr() }))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("left", &self.len()).finish_non_exhaustive()
    }
}

/// An iterator that takes the values of a [`Batch`] out, oldest first. Values left when it is dropped stay in the ring;
/// if the iterator is leaked, so are all its values.
pub struct Taken<'c, T, N: Notifier = Silent> {
    /// The slots whose values it has not taken. The last one is right before the consumer's `head` (I7).
    left: Run<'c, Slot<T>>,
    consumer: &'c mut Consumer<T, N>,
}

impl<T, N: Notifier> Iterator for Taken<'_, T, N> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the values in these slots were set aside for this iterator (I7), which takes each once.
        self.left.next().map(|slot| unsafe { slot.read() })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T, N: Notifier> ExactSizeIterator for Taken<'_, T, N> {}

impl<T, N: Notifier> Drop for Taken<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        let head = self.consumer.head.minus(self.left.len() as u64);
        // SAFETY: the values before `head` have been taken, those from `head` on have not (I7).
        unsafe { self.consumer.settle(head) };
    }
}

impl<T, N: Notifier> fmt::Debug for Taken<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("left", &self.len()).finish_non_exhaustive()
    }
}
