//! A producer. The header of [`group`](super) has the invariants and the edges.

use super::lane::Lane;
use super::{Free, Group};
use crate::notifier::{Notifier, Silent, Sleeping};
use crate::position::Position;
use crate::{Closed, PushError};
use std::fmt;
use std::time::Duration;
use uncontended_atomic::Arc;
use uncontended_atomic::Ordering::Release;
use uncontended_wait::Deadline;

/// The right to put values into one lane (I1).
pub(super) struct Entry<T, N: Notifier> {
    group: Arc<Group<T, N>>,
    lane: usize,
    tail: Position,
}

impl<T, N: Notifier> Entry<T, N> {
    /// # Safety
    /// It is the lane's only entry, and `tail` is the lane's position (I1).
    pub(super) unsafe fn new(group: Arc<Group<T, N>>, lane: usize, tail: Position) -> Entry<T, N> {
        Entry { group, lane, tail }
    }

    #[inline(always)]
    fn lane(&self) -> &Lane<T, N> {
        &self.group.lanes[self.lane]
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        self.group.values.have_gone()
    }

    /// Puts `value` in, without a notification.
    #[inline(always)]
    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.is_closed() {
            return Err(PushError::Closed(value));
        }
        // SAFETY: this is the lane's entry, and `tail` is its position (I1), which moves on.
        unsafe { self.lane().put(self.tail, value) }.map_err(PushError::Full)?;
        self.tail = self.tail.plus(1);
        Ok(())
    }

    /// Whether to stop waiting for room: there is some, or there never will be.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.lane().has_room(self.tail) || self.is_closed()
    }
}

impl<T, N: Notifier> Drop for Entry<T, N> {
    fn drop(&mut self) {
        // EDGE group-end (release): all producers have gone (I5), and a consumer that sees it sees all their values.
        self.group.ended.store(1, Release);
        self.group.values.notify();
    }
}

/// A producer: a side that pushes, into a lane of its own.
///
/// ```
/// use uncontended_ring::{PushError, lanes::group};
/// let (mut producer, consumer) = group::ring(1, 1)?;
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
    entry: Option<Entry<T, N>>,
    free: Arc<Free<Entry<T, N>>>,
}

impl<T, N: Notifier> Producer<T, N> {
    /// The first producer of lanes that are all free.
    pub(super) fn first(free: Arc<Free<Entry<T, N>>>) -> Producer<T, N> {
        Producer { entry: free.lane(), free }
    }

    /// Another producer, with a free lane; none if all lanes have one.
    pub fn try_clone(&self) -> Option<Producer<T, N>> {
        let entry = Some(self.free.lane()?);
        Some(Producer { entry, free: Arc::clone(&self.free) })
    }

    #[inline(always)]
    fn entry(&self) -> &Entry<T, N> {
        self.entry.as_ref().expect("a producer has a lane (I1)")
    }

    #[inline(always)]
    fn entry_mut(&mut self) -> &mut Entry<T, N> {
        self.entry.as_mut().expect("a producer has a lane (I1)")
    }

    /// Pushes `value`, if there is room in the lane.
    ///
    /// # Errors
    /// The value, if the lane is full or all consumers have gone.
    #[inline(always)]
    #[doc(alias("try_send", "send"))]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        let entry = self.entry_mut();
        entry.put(value)?;
        entry.group.values.notify_sharers(1);
        Ok(())
    }

    /// Pushes as many of `values` as there is room for, and returns their number. Then as many consumers are woken.
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        let entry = self.entry_mut();
        let pushed = values.iter().take_while(|&&value| entry.put(value).is_ok()).count();
        if pushed > 0 {
            entry.group.values.notify_sharers(pushed);
        }
        pushed
    }

    /// How many values there is room for now. Room only grows until the next push; 0 once all consumers have gone.
    pub fn room(&self) -> usize {
        let Entry { tail, .. } = *self.entry();
        if self.is_closed() {
            return 0;
        }
        let lane = self.entry().lane();
        (0..lane.capacity).take_while(|&step| lane.has_room(tail.plus(step))).count()
    }

    /// How many values are in the lane; others may change that at once.
    pub fn len(&self) -> usize {
        self.entry().lane().since_head(self.entry().tail)
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity of the lane, in values.
    pub fn capacity(&self) -> usize {
        self.entry().lane().capacity as usize
    }

    /// Whether all consumers have gone.
    pub fn is_closed(&self) -> bool {
        self.entry().is_closed()
    }
}

impl<T, N: Sleeping> Producer<T, N> {
    /// Pushes `value`. Sleeps until there is room for it in the lane.
    ///
    /// # Errors
    /// All consumers have gone. The error contains the value.
    #[inline(always)]
    #[doc(alias = "send")]
    pub fn push_wait(&mut self, value: T) -> Result<(), Closed<T>> {
        self.push_deadline(value, Deadline::NEVER).map_err(PushError::closed)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// The value, if the lane is still full or all consumers have gone.
    #[inline(always)]
    pub fn push_deadline(
        &mut self,
        value: T,
        deadline: impl Into<Deadline>,
    ) -> Result<(), PushError<T>> {
        // Wait before passing the value on, so that it moves once.
        if !self.entry().has_room() {
            self.wait_for_room(deadline.into());
        }
        self.push(value)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`push_deadline`](Self::push_deadline).
    #[doc(alias = "send_timeout")]
    pub fn push_timeout(&mut self, value: T, time: Duration) -> Result<(), PushError<T>> {
        self.push_deadline(value, Deadline::after(time))
    }

    /// Sleeps until there is room, or there never will be.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_room(&self, deadline: Deadline) {
        let entry = self.entry();
        let look = || entry.has_room();
        // If the deadline passed, the caller's next try returns the reason.
        let _ = entry.lane().room.sleepers().sleep_until_deadline(look, deadline);
    }
}

impl<T, N: Notifier> Drop for Producer<T, N> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.free.give_back(entry);
        }
    }
}

impl<T, N: Notifier> fmt::Debug for Producer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

// SAFETY: the notifier lies in the group, which this side keeps (I6).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Drain for Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &uncontended_wait::Sleepers {
        self.entry().lane().room.sleepers()
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}
