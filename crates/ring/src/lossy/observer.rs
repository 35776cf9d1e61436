//! An observer, which reads at its own pace and may be lapped.

use super::{Ring, sequences};
use crate::notifier::{Notifier, Silent};
use crate::plain::{self, Plain};
use crate::position::Position;
use core::fmt;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_atomic::{Arc, fence};

/// Why no value was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObserveError {
    /// There is no new value now.
    Empty,
    /// There is no new value, and none will ever come.
    Closed,
    /// This many values were overwritten before they were read. The next read continues after them.
    Lost(u64),
}

impl fmt::Display for ObserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObserveError::Empty => f.write_str("there is no new value"),
            ObserveError::Closed => f.write_str("there is no new value, and the producer has gone"),
            ObserveError::Lost(count) => {
                write!(f, "{count} values were overwritten before they were read")
            }
        }
    }
}

impl core::error::Error for ObserveError {}

/// An observer reads values while the ring holds them. A clone starts at the same value and reads at its own pace.
///
/// ```
/// let (mut producer, mut fast) = uncontended_ring::lossy::ring(8)?;
/// let mut slow = fast.clone();
/// (0..3u64).for_each(|value| producer.push(value));
/// assert_eq!((fast.read(), fast.lag()), (Ok(0), 2));
/// assert_eq!(slow.skip_to_newest(), 2);
/// assert_eq!((slow.read(), slow.lost()), (Ok(2), 2));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[doc(alias = "Receiver")]
pub struct Observer<T: Plain, N: Notifier = Silent> {
    pub(super) ring: Arc<Ring<T, N>>,
    next: Position,
    lost: u64,
}

impl<T: Plain, N: Notifier> Observer<T, N> {
    pub(super) fn new(ring: Arc<Ring<T, N>>, next: Position) -> Observer<T, N> {
        Observer { ring, next, lost: 0 }
    }

    /// Reads the next value.
    ///
    /// # Errors
    /// There is no new value now, or there never will be one; or values were lost, and the next read continues after
    /// them.
    #[inline]
    #[doc(alias = "try_recv")]
    pub fn read(&mut self) -> Result<T, ObserveError> {
        let (sequence, words) = self.ring.at(self.next);
        let (_, there) = sequences(self.next);
        // EDGE lossy-publish (acquire): the words of this value have been stored.
        let first = sequence.load(Acquire);
        if first < there {
            return Err(self.nothing_yet());
        }
        if first == there {
            let value = plain::value(|index| words[index].load(Relaxed));
            // EDGE lossy-overwrite (acquire): if a word belongs to the next value, the load below sees its write begun.
            fence(Acquire);
            if sequence.load(Relaxed) == there {
                self.next = self.next.plus(1);
                return Ok(value);
            }
        }
        Err(self.lapped())
    }

    /// Why the next value is not there.
    #[cold]
    fn nothing_yet(&self) -> ObserveError {
        // `published` may be stale. If it is gone, it is final.
        let published = self.ring.published.load(Relaxed);
        let is_all = published.position() == self.next;
        if published.is_gone() && is_all { ObserveError::Closed } else { ObserveError::Empty }
    }

    /// Skips to the middle of the stored values.
    #[cold]
    fn lapped(&mut self) -> ObserveError {
        // A stale load starts too early at worst, and the observer is lapped again.
        let published = self.ring.published.load(Relaxed).position();
        let behind = self.ring.capacity.div_ceil(2);
        let middle = published.steps().saturating_sub(behind);
        ObserveError::Lost(self.skip_to(middle.max(self.next.steps() + 1)))
    }

    fn skip_to(&mut self, step: u64) -> u64 {
        let count = step - self.next.steps();
        self.lost += count;
        self.next = Position::new(step);
        count
    }

    /// Skips to the newest value. Returns how many unread values were skipped; they count as lost.
    pub fn skip_to_newest(&mut self) -> u64 {
        let published = self.ring.published.load(Relaxed).position().steps();
        self.skip_to(published.saturating_sub(1).max(self.next.steps()))
    }

    /// The number of values read or lost so far.
    pub fn count(&self) -> u64 {
        self.next.steps()
    }

    /// The number of values lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many pushed values it has not read yet, including any that are already overwritten.
    pub fn lag(&self) -> u64 {
        let published = self.ring.published.load(Relaxed).position();
        // The last value read may be newer than this load of `published`.
        published.max(self.next).since(self.next)
    }
}

impl<T: Plain, N: Notifier> Clone for Observer<T, N> {
    fn clone(&self) -> Observer<T, N> {
        Observer { ring: Arc::clone(&self.ring), next: self.next, lost: self.lost }
    }
}

impl<T: Plain, N: Notifier> fmt::Debug for Observer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.count(), self.lost);
        f.debug_struct("Observer")
            .field("count", &counts.0)
            .field("lost", &counts.1)
            .finish_non_exhaustive()
    }
}
