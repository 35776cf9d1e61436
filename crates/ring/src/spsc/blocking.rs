//! Sides that sleep: [`Sleepers`] as notifiers, and the calls that wait.
//!
//! # Contract
//! A waiting call tries first and sleeps only while its try fails. A push, a pop, or the departure of the other side
//! wakes it: each notifies after its store (`notifier`), and [`Sleepers`] loses no notification. This file adds no
//! shared state to that of [`spsc`](super).
//!
//! # Evidence
//! tests/model.rs: explored with [`Sleepers`]' asymmetric fences, under C11 and x86-TSO. Tests below.

use super::{Batch, Claim, Consumer, Producer, Sides, ring_at};
#[cfg(feature = "async")]
use crate::notifier::wait;
use crate::notifier::{Joint, Sleeping, sleep};
use crate::position::Position;
use crate::{CapacityError, ClaimError, Closed, PopError, PushError};
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

/// Makes a ring for at most `capacity` values whose sides may sleep.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::spsc::blocking(2)?;
/// let sender = std::thread::spawn(move || (1..=100).try_for_each(|value| producer.push_wait(value)));
/// let mut sum = 0;
/// while let Some(value) = consumer.pop_wait() {
///     sum += value;
/// }
/// assert_eq!(sum, 5050);
/// # sender.join().unwrap().unwrap();
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel", "sync_channel"))]
pub fn blocking<T>(capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    ring_at(capacity, Position::new(0), Sleepers::new())
}

/// The same for a consumer that also waits for other rings: pushes, and the departure of the producer, notify `joint`.
///
/// # Errors
/// As for [`blocking`].
pub fn blocking_at<T>(capacity: usize, joint: &Joint) -> Result<Sides<T, Joint>, CapacityError> {
    ring_at(capacity, Position::new(0), joint.clone())
}

/// The producer that may sleep, of [`blocking`].
pub type BlockingProducer<T> = Producer<T, Sleepers>;

/// The consumer that may sleep, of [`blocking`].
pub type BlockingConsumer<T> = Consumer<T, Sleepers>;

impl<T, N: Sleeping> Producer<T, N> {
    /// Pushes `value`. Sleeps until there is room for it.
    ///
    /// # Errors
    /// The consumer has gone. The error contains the value.
    #[inline(always)]
    #[doc(alias = "send")]
    pub fn push_wait(&mut self, value: T) -> Result<(), Closed<T>> {
        self.push_deadline(value, Deadline::NEVER).map_err(PushError::closed)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// The value, if the ring is still full or its consumer has gone.
    #[inline(always)]
    pub fn push_deadline(
        &mut self,
        value: T,
        deadline: impl Into<Deadline>,
    ) -> Result<(), PushError<T>> {
        // Wait before passing the value on, so that it moves once.
        if !self.has_room(1) {
            self.wait_for_room(1, deadline.into());
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

    /// Claims room for exactly `count` values. Sleeps until there is enough.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim), but never [`ClaimError::Full`].
    pub fn claim_wait(&mut self, count: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        self.claim_deadline(count, Deadline::NEVER)
    }

    /// Like [`claim_wait`](Self::claim_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim).
    pub fn claim_deadline(
        &mut self,
        count: usize,
        deadline: impl Into<Deadline>,
    ) -> Result<Claim<'_, T, N>, ClaimError> {
        if count <= self.capacity() && !self.has_room(count as u64) {
            self.wait_for_room(count as u64, deadline.into());
        }
        self.claim(count)
    }

    /// Like [`claim_wait`](Self::claim_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim).
    pub fn claim_timeout(
        &mut self,
        count: usize,
        time: Duration,
    ) -> Result<Claim<'_, T, N>, ClaimError> {
        self.claim_deadline(count, Deadline::after(time))
    }

    /// Claims the room that there is, for at most `most` values (0 counts as 1). Sleeps until there is some.
    ///
    /// # Errors
    /// The consumer has gone.
    #[inline(always)]
    pub fn claim_up_to_wait(&mut self, most: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        self.claim_up_to_deadline(most, Deadline::NEVER)
    }

    /// Like [`claim_up_to_wait`](Self::claim_up_to_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// As for [`claim_up_to`](Producer::claim_up_to).
    #[inline(always)]
    pub fn claim_up_to_deadline(
        &mut self,
        most: usize,
        deadline: impl Into<Deadline>,
    ) -> Result<Claim<'_, T, N>, ClaimError> {
        if !self.has_room(1) {
            self.wait_for_room(1, deadline.into());
        }
        self.claim_up_to(most)
    }

    /// Like [`claim_up_to_wait`](Self::claim_up_to_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`claim_up_to`](Producer::claim_up_to).
    pub fn claim_up_to_timeout(
        &mut self,
        most: usize,
        time: Duration,
    ) -> Result<Claim<'_, T, N>, ClaimError> {
        self.claim_up_to_deadline(most, Deadline::after(time))
    }

    /// Like [`claim_up_to_wait`](Self::claim_up_to_wait), for a task.
    ///
    /// # Errors
    /// The consumer has gone.
    #[cfg(feature = "async")]
    pub async fn claim_up_to_async(&mut self, most: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        let look = |side: &mut Self| side.has_room(1);
        // SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
        unsafe { wait(self, |side| side.control().room.sleepers(), look) }.await;
        self.claim_up_to(most)
    }

    /// Pushes `values` in order, in parts as large as there is room for, and sleeps in between. Returns how many were
    /// pushed: all of them, unless the consumer has gone.
    ///
    /// ```
    /// let (mut producer, mut consumer) = uncontended_ring::spsc::blocking(4)?;
    /// let sender = std::thread::spawn(move || producer.push_slice_wait(&[1; 100]));
    /// let (mut sum, mut part) = (0, [0; 7]);
    /// while let popped @ 1.. = consumer.pop_slice_wait(&mut part) {
    ///     sum += part[..popped].iter().sum::<i32>();
    /// }
    /// assert_eq!((sum, sender.join().unwrap()), (100, 100));
    /// # Ok::<(), uncontended_ring::CapacityError>(())
    /// ```
    pub fn push_slice_wait(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        self.push_slice_deadline(values, Deadline::NEVER)
    }

    /// Like [`push_slice_wait`](Self::push_slice_wait), but gives up at `deadline`.
    pub fn push_slice_deadline(&mut self, values: &[T], deadline: impl Into<Deadline>) -> usize
    where
        T: Copy,
    {
        let (deadline, mut pushed) = (deadline.into(), 0);
        while pushed < values.len() {
            let left = &values[pushed..];
            let Ok(mut claim) = self.claim_up_to_deadline(left.len(), deadline) else { break };
            claim.copy(left);
            pushed += claim.publish();
        }
        pushed
    }

    /// Like [`push_slice_wait`](Self::push_slice_wait), but gives up after `time`.
    pub fn push_slice_timeout(&mut self, values: &[T], time: Duration) -> usize
    where
        T: Copy,
    {
        self.push_slice_deadline(values, Deadline::after(time))
    }

    /// Sleeps until there is room for `count` values, or there never will be.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_room(&mut self, count: u64, deadline: Deadline) {
        let look = |side: &mut Self| side.has_room(count);
        // If the deadline passed, the caller's next try returns the reason.
        // SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
        let _ = unsafe { sleep(self, |side| side.control().room.sleepers(), look, deadline) };
    }
}

impl<T, N: Sleeping> Consumer<T, N> {
    /// Pops the oldest value. Sleeps until there is one. `None`: there will never be one.
    #[inline(always)]
    #[doc(alias = "recv")]
    pub fn pop_wait(&mut self) -> Option<T> {
        self.pop_deadline(Deadline::NEVER).ok()
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there will never be one.
    #[inline(always)]
    pub fn pop_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<T, PopError> {
        if !self.has_values() {
            self.wait_for_values(deadline.into());
        }
        self.pop()
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`pop_deadline`](Self::pop_deadline).
    #[doc(alias = "recv_timeout")]
    pub fn pop_timeout(&mut self, time: Duration) -> Result<T, PopError> {
        self.pop_deadline(Deadline::after(time))
    }

    /// Like [`pop_slice`](Consumer::pop_slice), but sleeps until there is a value. Returns 0 if there will never be
    /// one, or `into` is empty.
    pub fn pop_slice_wait(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        self.pop_slice_deadline(into, Deadline::NEVER)
    }

    /// Like [`pop_slice_wait`](Self::pop_slice_wait), but gives up at `deadline`.
    pub fn pop_slice_deadline(&mut self, into: &mut [T], deadline: impl Into<Deadline>) -> usize
    where
        T: Copy,
    {
        if !into.is_empty() && !self.has_values() {
            self.wait_for_values(deadline.into());
        }
        self.pop_slice(into)
    }

    /// Like [`pop_slice_wait`](Self::pop_slice_wait), but gives up after `time`.
    pub fn pop_slice_timeout(&mut self, into: &mut [T], time: Duration) -> usize
    where
        T: Copy,
    {
        self.pop_slice_deadline(into, Deadline::after(time))
    }

    /// Like [`read`](Consumer::read), but sleeps until there is a value. `None`: there will never be one.
    ///
    /// **Values that are neither released nor taken out are returned again by the next read**: `while let Some(batch) =
    /// consumer.read_wait(16)` never ends if its body does neither. `for value in batch` takes them out.
    pub fn read_wait(&mut self, most: usize) -> Option<Batch<'_, T, N>> {
        self.read_deadline(most, Deadline::NEVER).ok()
    }

    /// Like [`read_wait`](Self::read_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there will never be one.
    pub fn read_deadline(
        &mut self,
        most: usize,
        deadline: impl Into<Deadline>,
    ) -> Result<Batch<'_, T, N>, PopError> {
        if !self.has_values() {
            self.wait_for_values(deadline.into());
        }
        self.read(most)
    }

    /// Like [`read_wait`](Self::read_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`read_deadline`](Self::read_deadline).
    pub fn read_timeout(
        &mut self,
        most: usize,
        time: Duration,
    ) -> Result<Batch<'_, T, N>, PopError> {
        self.read_deadline(most, Deadline::after(time))
    }

    /// Like [`read_wait`](Self::read_wait), for a task.
    #[cfg(feature = "async")]
    pub async fn read_async(&mut self, most: usize) -> Option<Batch<'_, T, N>> {
        let look = |side: &mut Self| side.has_values();
        // SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
        unsafe { wait(self, |side| side.control().values.sleepers(), look) }.await;
        self.read(most).ok()
    }

    /// Sleeps until there is a value, or there never will be one.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_values(&mut self, deadline: Deadline) {
        let look = |side: &mut Self| side.has_values();
        // If the deadline passed, the caller's next try returns the reason.
        // SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
        let _ = unsafe { sleep(self, |side| side.control().values.sleepers(), look, deadline) };
    }
}

// SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Drain for Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.control().room.sleepers()
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}

// SAFETY: the notifier lies in the control block, which the keeper keeps (I4 of `spsc`).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Source for Consumer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.control().values.sleepers()
    }

    fn take(&mut self) -> Result<T, PopError> {
        self.pop()
    }
}
