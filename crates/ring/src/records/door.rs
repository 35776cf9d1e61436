//! The producers of a ring that have not gone, and the door by which others come in.
//!
//! # Contract
//! A producer joins by [`Living::join`] while the door is open, or is made by a producer that lives. Once the door is
//! closed it stays closed. So once no producer is left and the door is closed, none will ever come: the consumer may
//! take what they left.
//!
//! # State
//! A word: the number of producers, plus `OPEN`.
//! I1: it counts each producer from before it is made until it is dropped. A copy that a fork leaves is not counted.
//!
//! # Edges
//! records-last: a producer is dropped, or the door is closed -> the consumer sees that none is left. Carries all that
//! it committed.
//!
//! # Evidence
//! tests/model_records.rs.

#[cfg(feature = "std")]
use super::mpsc::{Producer, Ring};
#[cfg(feature = "std")]
use crate::notifier::Notifier;
#[cfg(feature = "std")]
use core::fmt;
#[cfg(feature = "std")]
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, Named};

const OPEN: u64 = 1 << 63;

/// The number of producers that have not gone, and whether others may join.
#[repr(transparent)]
pub(super) struct Living(AtomicU64);

impl Living {
    /// No producers; the function that makes the ring adds the first.
    pub(super) fn closed() -> Living {
        Living(AtomicU64::new(0).named("living"))
    }

    /// No producers, and an open door.
    #[cfg(feature = "std")]
    pub(super) fn open() -> Living {
        Living(AtomicU64::new(OPEN).named("living"))
    }

    /// Adds a producer that a living one makes, or the first.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Adds a producer if the door is open, and says whether it was.
    #[cfg(feature = "std")]
    pub(super) fn join(&self) -> bool {
        // Another process may have written any number.
        let one_more = |living: u64| living.checked_add(1).filter(|_| living & OPEN != 0);
        self.0.fetch_update(Relaxed, Relaxed, one_more).is_ok()
    }

    /// Removes a producer, which has done all that it will do.
    pub(super) fn leave(&self) {
        // EDGE records-last (release): all that this producer committed.
        self.0.fetch_sub(1, Release);
    }

    /// Closes the door.
    #[cfg(feature = "std")]
    pub(super) fn close(&self) {
        // EDGE records-last (release): what the caller did before.
        self.0.fetch_and(!OPEN, Release);
    }

    /// Whether no producer is left, and none will come. Then the next look at the ring sees all that they committed.
    pub(super) fn are_none(&self) -> bool {
        // EDGE records-last (acquire): all that the producers committed.
        self.0.load(Acquire) == 0
    }
}

/// The door of a ring.
#[cfg(feature = "std")]
pub struct Door<N: Notifier>(Arc<Ring<N>>);

#[cfg(feature = "std")]
impl<N: Notifier> fmt::Debug for Door<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Door")
    }
}

#[cfg(feature = "std")]
impl<N: Notifier> Door<N> {
    pub(super) fn to(ring: Arc<Ring<N>>) -> Door<N> {
        Door(ring)
    }

    #[cfg(not(unc_model))]
    pub(super) fn ring(&self) -> &Arc<Ring<N>> {
        &self.0
    }

    /// Adds a producer, unless the door is closed.
    pub fn producer(&self) -> Option<Producer<N>> {
        let is_in = self.0.control().living.join();
        // SAFETY: it has joined, so it is counted (I1).
        is_in.then(|| unsafe { Producer::counted(Arc::clone(&self.0)) })
    }

    /// Closes the door.
    pub fn close(&self) {
        self.0.control().living.close();
        // The consumer may wait for the end.
        self.0.values().notify();
    }
}

#[cfg(all(test, feature = "std", not(unc_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_door_with_any_number_in_its_word_lets_in_or_refuses() {
        let joins = |word| Living(AtomicU64::new(word).named("living")).join();
        assert!(joins(OPEN) && joins(OPEN + 7));
        assert!(!joins(0) && !joins(OPEN - 1) && !joins(u64::MAX));
    }
}
