//! Observers that sleep. The producer never waits, with these either.
//!
//! # Evidence
//! tests/model_lossy.rs. Tests below.

use super::{ObserveError, Observer, Sides, build};
use crate::notifier::sleep;
use crate::{CapacityError, Plain};
use uncontended_wait::{Deadline, Sleepers};

/// A lossy ring whose observers may be `capacity` values behind, and may sleep. Clone the observer for more.
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
pub fn blocking<T: Plain>(capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    build(capacity)
}

impl<T: Plain> Observer<T, Sleepers> {
    /// The next value, as by [`read`](Observer::read); sleeps until there is one.
    ///
    /// # Errors
    /// There will never be one, or some were lost; never [`ObserveError::Empty`].
    #[inline]
    pub fn read_wait(&mut self) -> Result<T, ObserveError> {
        self.read_deadline(Deadline::NEVER)
    }

    /// The same, but not longer than to `deadline`.
    ///
    /// # Errors
    /// There is still none, or will never be one, or some were lost.
    #[inline]
    pub fn read_deadline(&mut self, deadline: Deadline) -> Result<T, ObserveError> {
        match self.read() {
            Err(ObserveError::Empty) => self.wait_for_value(deadline),
            done => done,
        }
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_value(&mut self, deadline: Deadline) -> Result<T, ObserveError> {
        let look = |side: &mut Self| match side.read() {
            Err(ObserveError::Empty) => None,
            news => Some(news),
        };
        // SAFETY: the notifier is in the ring, which this side keeps (I4 of `lossy`).
        let slept = unsafe { sleep(self, |side| &side.ring.values, look, deadline) };
        slept.unwrap_or(Err(ObserveError::Empty))
    }
}
