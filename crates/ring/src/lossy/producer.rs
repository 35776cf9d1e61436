//! The producer, which never waits.

use super::{Observer, Ring, sequences};
use crate::notifier::{Notifier, Silent};
use crate::plain::{Plain, word};
use crate::position::Position;
use core::fmt;
use uncontended_atomic::Ordering::{Relaxed, Release};
use uncontended_atomic::{Arc, fence};

/// The producer: the side that pushes and never waits. There is one, and it cannot be cloned.
///
/// ```
/// let (mut producer, observer) = uncontended_ring::lossy::ring(2)?;
/// drop(observer); // nothing reads, and nothing waits
/// (0..5u64).for_each(|value| producer.push(value));
/// let mut late = producer.observer();
/// producer.push(5);
/// assert_eq!((producer.count(), late.read()), (6, Ok(5)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[doc(alias = "Sender")]
pub struct Producer<T: Plain, N: Notifier = Silent> {
    ring: Arc<Ring<T, N>>,
    next: Position,
}

impl<T: Plain, N: Notifier> Producer<T, N> {
    pub(super) fn new(ring: Arc<Ring<T, N>>) -> Producer<T, N> {
        Producer { ring, next: Position::new(0) }
    }

    /// Pushes `value`, which overwrites the oldest one.
    #[inline]
    #[doc(alias("send", "try_send"))]
    pub fn push(&mut self, value: T) {
        let (sequence, words) = self.ring.at(self.next);
        let (begun, there) = sequences(self.next);
        sequence.store(begun, Relaxed);
        // EDGE lossy-overwrite (release): an observer that reads a word of this value sees that its write has begun.
        fence(Release);
        for (index, slot) in words.iter().enumerate() {
            slot.store(word(&value, index), Relaxed);
        }
        // EDGE lossy-publish (release): an observer that sees this sees all words, or later ones.
        sequence.store(there, Release);
        self.next = self.next.plus(1);
        self.ring.published.store(self.next, Relaxed);
        self.ring.values.notify();
    }

    /// Makes an observer that starts with the next value.
    #[doc(alias = "subscribe")]
    pub fn observer(&self) -> Observer<T, N> {
        Observer::new(Arc::clone(&self.ring), self.next)
    }

    /// The number of values pushed so far.
    pub fn count(&self) -> u64 {
        self.next.steps()
    }

    /// How many values an observer may be behind.
    pub fn capacity(&self) -> usize {
        self.ring.capacity as usize
    }
}

impl<T: Plain, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        self.ring.published.store_gone(self.next, Relaxed);
        self.ring.values.notify();
    }
}

impl<T: Plain, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("count", &self.count()).finish_non_exhaustive()
    }
}
