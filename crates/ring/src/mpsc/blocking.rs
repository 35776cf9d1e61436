//! Sides that sleep. A pop wakes one of the producers that wait for one slot, and all that wait for several.

use super::{Consumer, Producer, Sides, ring_at};
use crate::notifier::sleep;
use crate::position::Position;
use crate::{CapacityError, ClaimError, PopError, PushError};
use uncontended_wait::{Deadline, Sleepers};

/// A ring for at most `capacity` values, whose sides may sleep.
///
/// ```
/// let (mut producer, mut consumer) = uncontended_ring::mpsc::blocking(2)?;
/// let mut other = producer.clone();
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
/// Zero, or more than [`MAX_CAPACITY`](crate::MAX_CAPACITY) or than there is memory for.
pub fn blocking<T>(capacity: usize) -> Result<Sides<T, Sleepers>, CapacityError> {
    ring_at(capacity, Position::new(0))
}

impl<T> Producer<T, Sleepers> {
    /// Puts `value` in, and sleeps until there is room for it.
    ///
    /// # Errors
    /// The value, when the consumer has gone.
    pub fn push_wait(&mut self, value: T) -> Result<(), T> {
        self.push_deadline(value, Deadline::NEVER).map_err(PushError::into_inner)
    }

    /// The same, but not longer than to `deadline`.
    ///
    /// # Errors
    /// The value: the ring is still full, or its consumer has gone.
    pub fn push_deadline(&mut self, mut value: T, deadline: Deadline) -> Result<(), PushError<T>> {
        loop {
            match self.push(value) {
                Err(PushError::Full(back)) if !deadline.has_passed() => value = back,
                done => return done,
            }
            self.wait_for_room(1, deadline);
        }
    }

    /// Puts all `values` in, as [`push_all`](Producer::push_all) does, and sleeps until there is room for all.
    ///
    /// # Errors
    /// As for [`push_all`](Producer::push_all); [`ClaimError::Full`] when `deadline` has passed.
    pub fn push_all_deadline(
        &mut self,
        values: &mut Vec<T>,
        deadline: Deadline,
    ) -> Result<(), ClaimError> {
        loop {
            match self.push_all(values) {
                Err(ClaimError::Full) if !deadline.has_passed() => {}
                done => return done,
            }
            self.wait_for_room(values.len() as u64, deadline);
        }
    }

    /// Sleeps until there is room for `count` values, or never will be; another producer may be faster to take it.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_room(&mut self, count: u64, deadline: Deadline) {
        let look = |side: &mut Self| side.has_room(count).then_some(());
        // After a deadline that passed, the caller's next try says how things stand.
        // SAFETY: the notifier is in the ring, which this side keeps (I6 of `mpsc`).
        let _ = unsafe { sleep(self, |side| side.ring.room.notifier(count), look, deadline) };
    }
}

impl<T> Consumer<T, Sleepers> {
    /// Takes the oldest value out, and sleeps until there is one. `None`: there will never be one.
    pub fn pop_wait(&mut self) -> Option<T> {
        self.pop_deadline(Deadline::NEVER).ok()
    }

    /// The same, but not longer than to `deadline`.
    ///
    /// # Errors
    /// There is still none, or there will never be one.
    pub fn pop_deadline(&mut self, deadline: Deadline) -> Result<T, PopError> {
        match self.pop() {
            Err(PopError::Empty) => {
                self.wait_for_values(deadline);
                self.pop()
            }
            done => done,
        }
    }

    /// Sleeps until there is a value, or will never be one.
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait_for_values(&mut self, deadline: Deadline) {
        let look = |side: &mut Self| side.has_values().then_some(());
        // After a deadline that passed, the caller's next try says how things stand.
        // SAFETY: the notifier is in the ring, which this side keeps (I6 of `mpsc`).
        let _ = unsafe { sleep(self, |side| &side.ring.values, look, deadline) };
    }
}
