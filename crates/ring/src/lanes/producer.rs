//! A producer. The header of [`lanes`](super) has the invariants and the edges.

use super::Free;
use crate::notifier::{Notifier, Silent, Sleeping};
use crate::{Closed, PushError, spsc};
use std::fmt;
use std::time::Duration;
use uncontended_atomic::Arc;
use uncontended_wait::Deadline;

/// A producer: a side that pushes, into a lane of its own.
///
/// ```
/// use uncontended_ring::PushError;
/// let (mut producer, mut consumer) = uncontended_ring::lanes::ring(1, 1)?;
/// assert!(producer.try_clone().is_none(), "there is one lane");
/// assert_eq!(producer.push(1), Ok(()));
/// assert_eq!(producer.push(2), Err(PushError::Full(2)));
/// drop(consumer);
/// assert_eq!(producer.push(2), Err(PushError::Closed(2)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[doc(alias = "Sender")]
pub struct Producer<T, N: Notifier = Silent> {
    /// Gone only while this is dropped.
    lane: Option<spsc::Producer<T, N>>,
    free: Arc<Free<spsc::Producer<T, N>>>,
}

impl<T, N: Notifier> Producer<T, N> {
    /// The first producer of lanes that are all free.
    pub(super) fn first(free: Arc<Free<spsc::Producer<T, N>>>) -> Producer<T, N> {
        Producer { lane: free.lane(), free }
    }

    /// Another producer, with a free lane; none if all lanes have one. The first producer has one too: `n` lanes are
    /// for it and `n - 1` others.
    pub fn try_clone(&self) -> Option<Producer<T, N>> {
        let lane = Some(self.free.lane()?);
        Some(Producer { lane, free: Arc::clone(&self.free) })
    }

    #[inline(always)]
    fn lane(&mut self) -> &mut spsc::Producer<T, N> {
        self.lane.as_mut().expect("a producer has a lane (I1)")
    }

    /// Pushes `value`, if there is room in the lane.
    ///
    /// # Errors
    /// The value, if the lane is full or the consumer has gone.
    #[inline(always)]
    #[doc(alias("try_send", "send"))]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        self.lane().push(value)
    }

    /// Pushes as many of `values` as there is room for, and returns their number.
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        self.lane().push_slice(values)
    }

    /// How many values there is room for now. Room only grows until the next push; 0 once the consumer has gone.
    pub fn room(&mut self) -> usize {
        self.lane().room()
    }

    /// How many values are in the lane; others may change that at once.
    pub fn len(&self) -> usize {
        self.lane.as_ref().map_or(0, spsc::Producer::len)
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity of the lane, in values.
    pub fn capacity(&self) -> usize {
        self.lane.as_ref().map_or(0, spsc::Producer::capacity)
    }

    /// Whether the consumer has gone.
    pub fn is_closed(&self) -> bool {
        self.lane.as_ref().is_none_or(spsc::Producer::is_closed)
    }
}

impl<T, N: Sleeping> Producer<T, N> {
    /// Pushes `value`. Sleeps until there is room for it in the lane.
    ///
    /// # Errors
    /// The consumer has gone. The error contains the value.
    #[inline(always)]
    #[doc(alias = "send")]
    pub fn push_wait(&mut self, value: T) -> Result<(), Closed<T>> {
        self.lane().push_wait(value)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// The value, if the lane is still full or the consumer has gone.
    #[inline(always)]
    pub fn push_deadline(
        &mut self,
        value: T,
        deadline: impl Into<Deadline>,
    ) -> Result<(), PushError<T>> {
        self.lane().push_deadline(value, deadline.into())
    }

    /// Like [`push_wait`](Self::push_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`push_deadline`](Self::push_deadline).
    #[doc(alias = "send_timeout")]
    pub fn push_timeout(&mut self, value: T, time: Duration) -> Result<(), PushError<T>> {
        self.push_deadline(value, Deadline::after(time))
    }
}

impl<T, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        if let Some(lane) = self.lane.take() {
            self.free.give_back(lane);
        }
    }
}

impl<T, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

// SAFETY: the notifier lies in the lane, which this side keeps (I4).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Drain for Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &uncontended_wait::Sleepers {
        let lane = self.lane.as_ref().expect("a producer has a lane (I1)");
        crate::tasks::Drain::sleepers(lane)
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}
