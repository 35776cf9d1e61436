//! Observers that sleep. The producer still never waits.
//!
//! # Evidence
//! tests/model_lossy.rs. Tests below.

use super::{ObserveError, Observer, Sides, build};
use crate::notifier::{Joint, Sleeping, sleep};
use crate::{CapacityError, Plain};
use std::time::Duration;
use uncontended_wait::{Deadline, Sleepers};

/// Makes a lossy ring whose observers may sleep and may be `capacity` values behind. Clone the observer for more.
///
/// ```
/// use uncontended_ring::lossy::{self, ObserveError};
///
/// let (mut producer, mut observer) = lossy::blocking(64)?;
/// let sender = std::thread::spawn(move || (0..1000).for_each(|value: u64| producer.push(value)));
/// let (mut seen, mut lost) = (0, 0);
/// loop {
///     match observer.read_wait() {
///         Ok(_) => seen += 1,
///         Err(ObserveError::Lost(count)) => lost += count,
///         Err(_) => break, // the producer has gone
///     }
/// }
/// assert_eq!(seen + lost, 1000);
/// # sender.join().unwrap();
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
///
/// # Errors
/// As for [`ring`](super::ring).
#[doc(alias = "channel")]
pub fn blocking<T: Plain>(capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    build(capacity, Sleepers::new())
}

/// The same for observers that also wait for other rings: pushes, and the departure of the producer, notify `joint`.
///
/// # Errors
/// As for [`ring`](super::ring).
pub fn blocking_at<T: Plain>(
    capacity: usize,
    joint: &Joint,
) -> Result<Sides<T, Joint>, CapacityError> {
    build(capacity, joint.clone())
}

impl<T: Plain, N: Sleeping> Observer<T, N> {
    /// Like [`read`](Observer::read), but sleeps until there is a value.
    ///
    /// # Errors
    /// There will never be a value, or values were lost; never [`ObserveError::Empty`].
    #[inline]
    #[doc(alias = "recv")]
    pub fn read_wait(&mut self) -> Result<T, ObserveError> {
        self.read_deadline(Deadline::NEVER)
    }

    /// Like [`read_wait`](Self::read_wait), but gives up at `deadline`.
    ///
    /// # Errors
    /// There is still no value, or there never will be one, or values were lost.
    #[inline]
    pub fn read_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<T, ObserveError> {
        match self.read() {
            Err(ObserveError::Empty) => self.wait_for_value(deadline.into()),
            done => done,
        }
    }

    /// Like [`read_wait`](Self::read_wait), but gives up after `time`.
    ///
    /// # Errors
    /// As for [`read_deadline`](Self::read_deadline).
    #[doc(alias = "recv_timeout")]
    pub fn read_timeout(&mut self, time: Duration) -> Result<T, ObserveError> {
        self.read_deadline(Deadline::after(time))
    }

    /// Like [`read_wait`](Observer::read_wait), for a task.
    ///
    /// # Errors
    /// As for [`read_wait`](Observer::read_wait).
    #[cfg(feature = "async")]
    pub async fn read_async(&mut self) -> Result<T, ObserveError> {
        let look = |side: &mut Self| match side.read() {
            Err(ObserveError::Empty) => None,
            done => Some(done),
        };
        // SAFETY: the notifier lies in the ring, which this side keeps (I4 of `lossy`).
        unsafe { crate::notifier::wait(self, |side| side.ring.values.sleepers(), look) }.await
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_value(&mut self, deadline: Deadline) -> Result<T, ObserveError> {
        let look = |side: &mut Self| match side.read() {
            Err(ObserveError::Empty) => None,
            done => Some(done),
        };
        // SAFETY: the notifier lies in the ring, which this side keeps (I4 of `lossy`).
        let slept = unsafe { sleep(self, |side| side.ring.values.sleepers(), look, deadline) };
        slept.unwrap_or(Err(ObserveError::Empty))
    }
}
