//! Sides that sleep. A pop wakes one of the producers that wait for one slot, and all that wait for several.

use super::{Consumer, Producer, Sides, ring_at};
use crate::notifier::{Joint, Sleeping, sleep};
use crate::position::Position;
use crate::{CapacityError, ClaimError, Closed, PopError, PushError};
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

/// Makes a ring for at most `capacity` values whose sides may sleep.
///
/// ```
/// let (producer, mut consumer) = uncontended_ring::mpsc::blocking(2)?;
/// let other = producer.clone();
/// let one = std::thread::spawn(move || (1..=50).try_for_each(|value| producer.push_wait(value)));
/// let two = std::thread::spawn(move || (51..=100).try_for_each(|value| other.push_wait(value)));
/// let mut sum = 0;
/// while let Some(value) = consumer.pop_wait() {
///     sum += value;
/// }
/// assert_eq!(sum, 5050);
/// # one.join().unwrap().unwrap();
/// # two.join().unwrap().unwrap();
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// The capacity is zero, or exceeds [`MAX_CAPACITY`](crate::MAX_CAPACITY) or the available memory.
#[doc(alias("bounded", "channel", "sync_channel"))]
pub fn blocking<T>(capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    ring_at(capacity, Position::new(0), Sleepers::new())
}

/// The same for a consumer that also waits for other rings: pushes, and the departure of the last producer, notify
/// `joint`.
///
/// # Errors
/// As for [`blocking`].
pub fn blocking_at<T>(capacity: usize, joint: &Joint) -> Result<Sides<T, Joint>, CapacityError> {
    ring_at(capacity, Position::new(0), joint.clone())
}

/// A producer that may sleep, of [`blocking`].
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
    pub fn push_wait(&self, value: T) -> Result<(), Closed<T>> {
        self.push_deadline(value, Deadline::NEVER).map_err(PushError::closed)
    }

    /// Like [`push_wait`](Self::push_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// The value, if the ring is still full or its consumer has gone.
    #[inline(always)]
    pub fn push_deadline(
        &self,
        mut value: T,
        deadline: impl Into<Deadline>,
    ) -> Result<(), PushError<T>> {
        let deadline = deadline.into();
        loop {
            match self.push(value) {
                Err(PushError::Full(back)) if !deadline.has_passed() => value = back,
                done => return done,
            }
            self.wait_for_room(1, deadline);
        }
    }

    /// Like [`push_wait`](Self::push_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`push_deadline`](Self::push_deadline).
    #[doc(alias = "send_timeout")]
    pub fn push_timeout(&self, value: T, time: Duration) -> Result<(), PushError<T>> {
        self.push_deadline(value, Deadline::after(time))
    }

    /// Like [`push_all`](Producer::push_all), but sleeps until there is room for all.
    ///
    /// # Errors
    /// As for [`push_all`](Producer::push_all), but never [`ClaimError::Full`].
    pub fn push_all_wait(&self, values: &mut Vec<T>) -> Result<(), ClaimError> {
        self.push_all_deadline(values, Deadline::NEVER)
    }

    /// Like [`push_all_wait`](Self::push_all_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// As for [`push_all`](Producer::push_all); [`ClaimError::Full`] if `deadline` has passed.
    pub fn push_all_deadline(
        &self,
        values: &mut Vec<T>,
        deadline: impl Into<Deadline>,
    ) -> Result<(), ClaimError> {
        let deadline = deadline.into();
        loop {
            match self.push_all(values) {
                Err(ClaimError::Full) if !deadline.has_passed() => {}
                done => return done,
            }
            self.wait_for_room(values.len() as u64, deadline);
        }
    }

    /// Like [`push_all_wait`](Self::push_all_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`push_all_deadline`](Self::push_all_deadline).
    pub fn push_all_timeout(&self, values: &mut Vec<T>, time: Duration) -> Result<(), ClaimError> {
        self.push_all_deadline(values, Deadline::after(time))
    }

    /// Sleeps until there is room for `count` values, or there never will be. Another producer may take the room first.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_room(&self, count: u64, deadline: Deadline) {
        let room = self.ring.room.notifier(count).sleepers();
        // If the deadline passed, the caller's next try returns the reason.
        let _ = room.sleep_until_deadline(|| self.has_room(count), deadline);
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
        match self.pop() {
            Err(PopError::Empty) => {
                self.wait_for_values(deadline.into());
                self.pop()
            }
            done => done,
        }
    }

    /// Like [`pop_wait`](Self::pop_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`pop_deadline`](Self::pop_deadline).
    #[doc(alias = "recv_timeout")]
    pub fn pop_timeout(&mut self, time: Duration) -> Result<T, PopError> {
        self.pop_deadline(Deadline::after(time))
    }

    /// Sleeps until there is a value, or there never will be one.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_values(&mut self, deadline: Deadline) {
        let look = |side: &mut Self| side.has_values();
        // If the deadline passed, the caller's next try returns the reason.
        // SAFETY: the notifier lies in the ring, which this side keeps (I6 of `mpsc`).
        let _ = unsafe { sleep(self, |side| side.ring.values.sleepers(), look, deadline) };
    }
}

// SAFETY: the notifier lies in the ring, which this side keeps (I6 of `mpsc`).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Drain for Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.ring.room.notifier(1).sleepers()
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}

// SAFETY: the notifier lies in the ring, which this side keeps (I6 of `mpsc`).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Source for Consumer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        self.ring.values.sleepers()
    }

    fn take(&mut self) -> Result<T, PopError> {
        self.pop()
    }
}
