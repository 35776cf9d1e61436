//! Room claimed for several values, which are published together.

use super::Producer;
use crate::PushError;
use crate::notifier::{Notifier, Silent};
use core::fmt;

/// Room for several values, from [`Producer::claim`]. Consumers see the values after [`Claim::publish`]; they never see
/// those of a claim that was dropped instead.
///
/// ```
/// use uncontended_ring::broadcast::Plan;
///
/// let (mut producer, mut consumers) = Plan::new(8).consumer("sum", &[]).polling()?;
/// let mut sum = consumers.take("sum").unwrap();
/// let mut claim = producer.claim(3)?;
/// for value in [1, 2, 3] {
///     claim.push(value).unwrap();
/// }
/// claim.publish();
/// let batch = sum.read(usize::MAX)?;
/// assert_eq!(batch.iter().sum::<i32>(), 6);
/// batch.release();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is published before `publish`"]
pub struct Claim<'p, T, N: Notifier = Silent> {
    producer: &'p mut Producer<T, N>,
    /// How many values there is room for, and how many have been written.
    count: u64,
    filled: u64,
}

impl<'p, T, N: Notifier> Claim<'p, T, N> {
    /// # Safety
    /// The producer has found room for `count` values (I1).
    pub(super) unsafe fn new(producer: &'p mut Producer<T, N>, count: u64) -> Claim<'p, T, N> {
        Claim { producer, count, filled: 0 }
    }

    /// Writes `value` into the next slot of the claim.
    ///
    /// # Errors
    /// The claim is full: [`PushError::Full`] with the value.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.filled == self.count {
            return Err(PushError::Full(value));
        }
        let at = self.producer.next.plus(self.filled);
        // SAFETY: there is room for `count` values (I1), and those before this one have been written.
        unsafe { self.producer.write(at, value) };
        self.filled += 1;
        Ok(())
    }

    /// How many more values the claim has room for.
    pub fn room(&self) -> usize {
        (self.count - self.filled) as usize
    }

    /// Publishes the values written so far and returns their number. The claim need not be full.
    pub fn publish(self) -> usize {
        if self.filled > 0 {
            // SAFETY: `filled` slots have been written (I1).
            unsafe { self.producer.publish(self.filled) };
        }
        self.filled as usize
    }
}

impl<T, N: Notifier> fmt::Debug for Claim<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("room", &self.room()).finish_non_exhaustive()
    }
}
