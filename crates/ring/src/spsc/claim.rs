//! Slots written in place, and published at once. The header of [`spsc`](super) has the invariants and the edges.

use super::Producer;
use crate::notifier::{Notifier, Silent};
#[cfg(not(unc_model))]
use crate::slots::Slot;
use std::fmt;
#[cfg(not(unc_model))]
use std::mem::MaybeUninit;

#[cfg(not(unc_model))]
pub(super) type Pair<'c, T> = (&'c [Slot<T>], &'c [Slot<T>]);

/// Room for some values, from [`Producer::claim`]. What is put here is published by [`publish`](Claim::publish), and
/// dropped with the claim otherwise: nobody sees it.
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
pub struct Claim<'p, T, B: Notifier = Silent> {
    producer: &'p mut Producer<T, B>,
    len: u64,
    /// How many slots hold values (I5).
    written: u64,
}

impl<'p, T, B: Notifier> Claim<'p, T, B> {
    pub(super) fn new(producer: &'p mut Producer<T, B>, len: usize) -> Claim<'p, T, B> {
        Claim { producer, len: len as u64, written: 0 }
    }

    /// Puts `value` in the next slot of the claim.
    ///
    /// # Errors
    /// The value, when the claim is filled.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.written == self.len {
            return Err(value);
        }
        // SAFETY: there is room for `len` values, more than `written` (I2, I5).
        unsafe { self.producer.write(self.written, value) };
        self.written += 1;
        Ok(())
    }

    /// For how many more values there is room.
    pub fn room(&self) -> usize {
        (self.len - self.written) as usize
    }

    /// That room as memory: up to the end of the ring's array, and the rest from its beginning.
    #[cfg(not(unc_model))]
    pub fn as_uninit(&mut self) -> (&mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) {
        let (one, two) = self.producer.free_slots(self.written, self.room());
        // SAFETY: these slots are the producer's (I2), which this claim has borrowed mutably (I3).
        let one = unsafe { &mut *crate::slots::as_memory(one) };
        // SAFETY: as for the first (I2).
        (one, unsafe { &mut *crate::slots::as_memory(two) })
    }

    /// Takes the next `count` slots for written by way of [`as_uninit`](Claim::as_uninit).
    ///
    /// # Safety
    /// They hold values, and `count` is at most [`room`](Claim::room).
    #[cfg(not(unc_model))]
    pub unsafe fn assume_written(&mut self, count: usize) {
        debug_assert!(count <= self.room());
        self.written += count as u64;
    }

    /// Publishes what was put here, filled or not, and returns how many values that is.
    #[inline]
    pub fn publish(mut self) -> usize {
        // From here on they are the ring's, so that the drop below has none left.
        let written = std::mem::take(&mut self.written);
        if written > 0 {
            // SAFETY: so many have been written (I5).
            unsafe { self.producer.publish(written) };
        }
        written as usize
    }
}

impl<T, B: Notifier> Drop for Claim<'_, T, B> {
    fn drop(&mut self) {
        while std::mem::needs_drop::<T>() && self.written > 0 {
            self.written -= 1;
            // SAFETY: this slot holds a value that nobody else has seen (I5).
            drop(unsafe { self.producer.take_back(self.written) });
        }
    }
}

impl<T, B: Notifier> fmt::Debug for Claim<'_, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("len", &self.len).field("written", &self.written).finish()
    }
}
