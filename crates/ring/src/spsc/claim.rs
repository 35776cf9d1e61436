//! Slots written in place and published together. The header of [`spsc`](super) has the invariants and the edges.

use super::Producer;
use crate::PushError;
use crate::notifier::{Notifier, Silent};
use crate::slots::{Run, Slot};
use core::fmt;
#[cfg(not(unc_model))]
use core::mem::MaybeUninit;

/// Room for several values, from [`Producer::claim`]. [`publish`](Claim::publish) publishes the values written to it;
/// a claim that is dropped instead drops them.
///
/// ```
/// use uncontended_ring::PopError;
///
/// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
/// let mut claim = producer.claim(2)?;
/// claim.push("draft").unwrap();
/// drop(claim);
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// let mut claim = producer.claim(2)?;
/// claim.push("one").unwrap();
/// claim.push("two").unwrap();
/// assert_eq!((claim.room(), claim.publish(), consumer.pop()), (0, 2, Ok("one")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is published before `publish`"]
pub struct Claim<'p, T, N: Notifier = Silent> {
    producer: &'p mut Producer<T, N>,
    len: usize,
    /// The slots after those that hold values (I5).
    free: Run<'p, Slot<T>>,
}

impl<'p, T, N: Notifier> Claim<'p, T, N> {
    /// A claim on `len` slots.
    ///
    /// # Safety
    /// There is room for `len` values.
    #[inline(always)]
    pub(super) unsafe fn new(producer: &'p mut Producer<T, N>, len: usize) -> Claim<'p, T, N> {
        // SAFETY: the slots live as long as the producer (I4), which the claim borrows.
        let free = unsafe { producer.free_slots(len) };
        Claim { producer, len, free }
    }

    /// Writes `value` into the next slot of the claim.
    ///
    /// # Errors
    /// The claim is full: [`PushError::Full`] with the value.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        let Some(slot) = self.free.next() else { return Err(PushError::Full(value)) };
        // SAFETY: there is room for `len` values, so the slot is empty and belongs to the producer (I2, I5).
        unsafe { slot.write(value) };
        Ok(())
    }

    /// Writes values until the claim is full or there are no more, and returns their number. It takes no value from
    /// `values` that it has no room for. The fastest way to write many.
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::spsc::ring(4)?;
    /// let mut values = 1..=5;
    /// let mut claim = producer.claim(3)?;
    /// assert_eq!(claim.fill(&mut values), 3);
    /// claim.publish();
    /// assert_eq!((values, consumer.read(9)?.iter().sum::<i32>()), (4..=5, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn fill(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let room = self.room();
        // SAFETY: as in `push` (I2, I5).
        self.free.zip_with(values.into_iter(), |slot, value| unsafe { slot.write(value) });
        room - self.room()
    }

    /// Writes copies of the values from the first one on, as many as there is room for.
    #[inline]
    pub(super) fn copy(&mut self, values: &[T])
    where
        T: Copy,
    {
        #[cfg(unc_model)]
        self.fill(values.iter().copied());
        #[cfg(not(unc_model))]
        {
            let values = &values[..values.len().min(self.room())];
            let (one, two) = self.as_uninit();
            let (first, rest) = values.split_at(values.len().min(one.len()));
            for (to, from) in [(one, first), (two, rest)] {
                // Compiled to a call of memcpy.
                to.iter_mut().zip(from).for_each(|(slot, &value)| _ = slot.write(value));
            }
            // SAFETY: they have been written just now (I5).
            unsafe { self.assume_written(values.len()) };
        }
    }

    /// How many more values the claim has room for.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// That room as slices: the part up to the end of the ring's array, then the rest from its start.
    #[cfg(not(unc_model))]
    pub fn as_uninit(&mut self) -> (&mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) {
        let (one, two) = self.free.as_slices();
        // SAFETY: these slots belong to the producer (I2), which this claim borrows mutably (I3).
        let one = unsafe { &mut *crate::slots::as_memory(one) };
        // SAFETY: as for the first (I2).
        (one, unsafe { &mut *crate::slots::as_memory(two) })
    }

    /// Declares the next `count` slots written, through [`as_uninit`](Claim::as_uninit).
    ///
    /// # Safety
    /// They hold values, and `count` is at most [`room`](Claim::room).
    #[cfg(not(unc_model))]
    pub unsafe fn assume_written(&mut self, count: usize) {
        debug_assert!(count <= self.room());
        self.free.pass(count);
    }

    /// Publishes the values written so far and returns their number. The claim need not be full.
    #[inline(always)]
    pub fn publish(mut self) -> usize {
        let written = self.written();
        // They belong to the ring from here on, so `drop` must find none left.
        self.len -= written;
        if written > 0 {
            // SAFETY: the first `written` slots hold values, those before the free ones (I5).
            unsafe { self.producer.publish(written as u64) };
        }
        written
    }

    /// How many slots hold values.
    #[inline(always)]
    fn written(&self) -> usize {
        self.len - self.room()
    }
}

impl<T, N: Notifier> Drop for Claim<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() && self.written() > 0 {
            drop(Unpublished(self));
        }
    }
}

/// Drops the values of a claim that were not published: the others too, if the drop of one panics.
struct Unpublished<'c, 'p, T, N: Notifier>(&'c mut Claim<'p, T, N>);

impl<T, N: Notifier> Drop for Unpublished<'_, '_, T, N> {
    fn drop(&mut self) {
        let claim = &mut *self.0;
        while claim.written() > 0 {
            let others = Unpublished(claim);
            let last = others.0.written() - 1;
            others.0.len -= 1;
            // SAFETY: this slot holds a value that was never published (I5).
            let value = unsafe { others.0.producer.take_back(last as u64) };
            drop(value);
            core::mem::forget(others);
        }
    }
}

impl<T, N: Notifier> fmt::Debug for Claim<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("len", &self.len).field("written", &self.written()).finish()
    }
}
