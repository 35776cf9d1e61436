//! Sides that sleep: [`Sleepers`] as notifiers, and the calls that wait.
//!
//! # Contract
//! A waiting call tries first and sleeps only while its try fails. A publication, a release, or the departure of a side
//! wakes it: each notifies after its store (`notifier`), and [`Sleepers`] loses no notification. All single consumers
//! share one notifier; each group has its own, and so has the producer. A publication wakes all single consumers, and
//! as many members of each group as there are new values. A release wakes consumers only if its stage is followed. On a
//! [`Joint`], each of these wakes all that sleep there.
//!
//! # Evidence
//! tests/model_broadcast.rs: explored with [`Sleepers`]' asymmetric fences. Tests below.

use super::{Batch, Claim, Consumer, Plan, PlanError, Producer, Sides};
#[cfg(feature = "async")]
use crate::notifier::wait;
use crate::notifier::{Joint, Sleeping, sleep};
use crate::{ClaimError, Closed, PopError, PushError};
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

impl Plan {
    /// Builds the broadcast. Its sides may sleep.
    ///
    /// ```
    /// use uncontended_ring::broadcast::Plan;
    ///
    /// let plan = Plan::new(4).consumer("sum", &[]).consumer("count", &[]);
    /// let (mut producer, mut consumers) = plan.blocking()?;
    /// let (mut sum, mut count) = (consumers.take("sum").unwrap(), consumers.take("count").unwrap());
    /// std::thread::scope(|threads| {
    ///     threads.spawn(move || (1..=100).try_for_each(|value| producer.push_wait(value)));
    ///     threads.spawn(move || {
    ///         let mut total = 0;
    ///         while let Some(batch) = sum.read_wait(usize::MAX) {
    ///             total += batch.iter().sum::<u32>();
    ///             batch.release();
    ///         }
    ///         assert_eq!(total, 5050);
    ///     });
    ///     let mut total = 0;
    ///     while let Some(batch) = count.read_wait(usize::MAX) {
    ///         total += batch.len();
    ///         batch.release();
    ///     }
    ///     assert_eq!(total, 100);
    /// });
    /// # Ok::<(), uncontended_ring::broadcast::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`polling`](Plan::polling).
    pub fn blocking<T: Send + Sync>(&self) -> Result<Sides<T, Sleepers>, PlanError> {
        self.build(Sleepers::new)
    }

    /// The same for consumers that also wait for other rings: whatever a consumer of any stage may wait for (a
    /// publication, a release, the departure of a side) notifies `joint`, and wakes all threads that sleep on it.
    ///
    /// # Errors
    /// As for [`polling`](Plan::polling).
    pub fn blocking_at<T: Send + Sync>(&self, joint: &Joint) -> Result<Sides<T, Joint>, PlanError> {
        self.build(|| joint.clone())
    }
}

/// The producer that may sleep, of [`Plan::blocking`].
pub type BlockingProducer<T> = Producer<T, Sleepers>;

/// A consumer that may sleep, of [`Plan::blocking`].
pub type BlockingConsumer<T> = Consumer<T, Sleepers>;

impl<T, N: Sleeping> Producer<T, N> {
    /// Publishes `value`. Sleeps until there is room for it.
    ///
    /// # Errors
    /// All consumers have gone. The error contains the value.
    #[inline]
    #[doc(alias = "send")]
    pub fn push_wait(&mut self, value: T) -> Result<(), Closed<T>> {
        self.push_deadline(value, Deadline::NEVER).map_err(PushError::closed)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// The value, if the ring is still full or all consumers have gone.
    #[inline]
    pub fn push_deadline(
        &mut self,
        value: T,
        deadline: impl Into<Deadline>,
    ) -> Result<(), PushError<T>> {
        if self.find(1) == Err(ClaimError::Full) {
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
    #[inline]
    pub fn claim_wait(&mut self, count: usize) -> Result<Claim<'_, T, N>, ClaimError> {
        self.claim_deadline(count, Deadline::NEVER)
    }

    /// Like [`claim_wait`](Self::claim_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// As for [`claim`](Producer::claim).
    #[inline]
    pub fn claim_deadline(
        &mut self,
        count: usize,
        deadline: impl Into<Deadline>,
    ) -> Result<Claim<'_, T, N>, ClaimError> {
        if self.find(count) == Err(ClaimError::Full) {
            self.wait_for_room(count, deadline.into());
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

    /// Sleeps until there is room for `count` values, or there never will be, or the deadline passes. The caller's next
    /// try returns which.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_room(&mut self, count: usize, deadline: Deadline) {
        let look = |side: &mut Self| side.find(count) != Err(ClaimError::Full);
        // SAFETY: the notifier lies in the ring, which this side keeps (I6 of `broadcast`).
        let _ = unsafe { sleep(self, |side| side.ring.room.sleepers(), look, deadline) };
    }
}

impl<T, N: Sleeping> Consumer<T, N> {
    /// Pops a clone of the oldest value. Sleeps until there is one. `None`: there will never be one.
    #[inline]
    #[doc(alias = "recv")]
    pub fn pop_wait(&mut self) -> Option<T>
    where
        T: Clone,
    {
        self.pop_deadline(Deadline::NEVER).ok()
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there will never be one.
    #[inline]
    pub fn pop_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<T, PopError>
    where
        T: Clone,
    {
        if self.find(1) == Err(PopError::Empty) {
            self.wait_for_values(1, deadline.into());
        }
        self.pop()
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`pop_deadline`](Self::pop_deadline).
    #[doc(alias = "recv_timeout")]
    pub fn pop_timeout(&mut self, time: Duration) -> Result<T, PopError>
    where
        T: Clone,
    {
        self.pop_deadline(Deadline::after(time))
    }

    /// Like [`read`](Consumer::read), but sleeps until there is a value. `None`: there will never be one.
    ///
    /// **A batch that is not released is returned again by the next read**: `while let Some(batch) =
    /// consumer.read_wait(16)` never ends if its body releases nothing, and the producer waits for it.
    #[inline]
    pub fn read_wait(&mut self, most: usize) -> Option<Batch<'_, T, N>> {
        self.read_deadline(most, Deadline::NEVER).ok()
    }

    /// Like [`read_wait`](Self::read_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there will never be one.
    #[inline]
    pub fn read_deadline(
        &mut self,
        most: usize,
        deadline: impl Into<Deadline>,
    ) -> Result<Batch<'_, T, N>, PopError> {
        if self.find(most) == Err(PopError::Empty) {
            self.wait_for_values(most, deadline.into());
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
        let look = move |side: &mut Self| side.find(most) != Err(PopError::Empty);
        // SAFETY: the notifier lies in the ring, which this side keeps (I6 of `broadcast`).
        unsafe { wait(self, |side| side.sleepers(), look) }.await;
        self.read(most).ok()
    }

    /// What it sleeps on.
    fn sleepers(&self) -> &Sleepers {
        self.ring.notifier(self.stage()).sleepers()
    }

    /// Sleeps until there is a value, or there never will be one.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_values(&mut self, most: usize, deadline: Deadline) {
        let look = |side: &mut Self| side.find(most) != Err(PopError::Empty);
        // SAFETY: the notifier lies in the ring, which this side keeps (I6 of `broadcast`).
        let _ = unsafe { sleep(self, |side| side.sleepers(), look, deadline) };
    }
}

// SAFETY: the notifier lies in the ring, which this side keeps (I6 of `broadcast`).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Drain for Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.ring.room.sleepers()
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}

// SAFETY: the notifier lies in the ring, which this side keeps (I6 of `broadcast`).
#[cfg(feature = "async")]
unsafe impl<T: Clone, N: Sleeping> crate::tasks::Source for Consumer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.ring.notifier(self.stage()).sleepers()
    }

    fn take(&mut self) -> Result<T, PopError> {
        self.pop()
    }
}
