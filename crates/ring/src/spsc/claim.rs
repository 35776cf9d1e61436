//! Slots written in place and published together. The header of [`spsc`](super) has the invariants and the edges.

use super::Producer;
use crate::notifier::{Notifier, Silent};
#[cfg(not(unc_model))]
use crate::slots::Slot;
use std::fmt;
#[cfg(not(unc_model))]
use std::mem::MaybeUninit;

#[cfg(not(unc_model))]
pub(super) type Pair<'c, T> = (&'c [Slot<T>], &'c [Slot<T>]);

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
    len: u64,
    /// How many slots hold values (I5).
    written: u64,
}

impl<'p, T, N: Notifier> Claim<'p, T, N> {
    pub(super) fn new(producer: &'p mut Producer<T, N>, len: usize) -> Claim<'p, T, N> {
        Claim { producer, len: len as u64, written: 0 }
    }

    /// Writes `value` into the next slot of the claim.
    ///
    /// # Errors
    /// The value, if the claim is full.
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

    /// How many more values the claim has room for.
    pub fn room(&self) -> usize {
        (self.len - self.written) as usize
    }

    /// That room as slices: the part up to the end of the ring's array, then the rest from its start.
    #[cfg(not(unc_model))]
    pub fn as_uninit(&mut self) -> (&mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) {
        let (one, two) = self.producer.free_slots(self.written, self.room());
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
        self.written += count as u64;
    }

    /// Publishes the values written so far and returns their number. The claim need not be full.
    #[inline]
    pub fn publish(mut self) -> usize {
        // They belong to the ring from here on, so `drop` must find none left.
        let written = std::mem::take(&mut self.written);
        if written > 0 {
            // SAFETY: the first `written` slots hold values (I5).
            unsafe { self.producer.publish(written) };
        }
        written as usize
    }
}

impl<T, N: Notifier> Drop for Claim<'_, T, N> {
    fn drop(&mut self) {
        while std::mem::needs_drop::<T>() && self.written > 0 {
            self.written -= 1;
            // SAFETY: this slot holds a value that was never published (I5).
            drop(unsafe { self.producer.take_back(self.written) });
        }
    }
}

impl<T, N: Notifier> fmt::Debug for Claim<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("len", &self.len).field("written", &self.written).finish()
    }
}
