//! The consumer. The header of [`lanes`](super) has the invariants and the edges.

use crate::notifier::{Notifier, Silent, Sleeping};
use crate::{PopError, spsc};
use std::fmt;
use std::time::Duration;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{Arc, AtomicUsize};
use uncontended_wait::Deadline;

/// At most this many values of one lane are popped in a row while others have some.
pub const QUANTUM: u32 = 32;

/// The consumer: the side that pops.
///
/// ```
/// use uncontended_ring::PopError;
/// let (mut producer, mut consumer) = uncontended_ring::lanes::ring(2, 4)?;
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push(1).unwrap();
/// drop(producer);
/// assert_eq!((consumer.pop(), consumer.pop()), (Ok(1), Err(PopError::Closed)));
/// # Ok::<(), uncontended_ring::CapacityError>(())
/// ```
#[doc(alias = "Receiver")]
pub struct Consumer<T, N: Notifier = Silent> {
    lanes: Box<[spsc::Consumer<T, N>]>,
    used: Arc<AtomicUsize>,
    /// The lane to pop from, and how many more values in a row.
    at: usize,
    left: u32,
    values: N,
}

impl<T, N: Notifier> Consumer<T, N> {
    pub(super) fn new(
        lanes: Box<[spsc::Consumer<T, N>]>,
        used: Arc<AtomicUsize>,
        values: N,
    ) -> Consumer<T, N> {
        Consumer { lanes, used, at: 0, left: QUANTUM, values }
    }

    /// Pops the oldest value of a lane.
    ///
    /// # Errors
    /// There is no value now, or there will never be one.
    #[inline(always)]
    #[doc(alias = "try_recv")]
    pub fn pop(&mut self) -> Result<T, PopError> {
        if self.left > 0
            && let Ok(value) = self.lanes[self.at].pop()
        {
            self.left -= 1;
            return Ok(value);
        }
        self.find()?;
        self.left -= 1;
        self.lanes[self.at].pop()
    }

    /// Pops up to `most` values and appends them to `into`, and returns their number.
    ///
    /// # Errors
    /// There is no value, as for [`pop`](Consumer::pop).
    #[doc(alias = "try_iter")]
    pub fn pop_into(&mut self, into: &mut Vec<T>, most: usize) -> Result<usize, PopError> {
        for count in 0..most {
            // Growing may panic, and the value must then stay in its lane.
            into.reserve(1);
            match self.pop() {
                Ok(value) => into.push(value),
                Err(error) if count == 0 => return Err(error),
                Err(_) => return Ok(count),
            }
        }
        Ok(most)
    }

    /// Continues with the next lane that has a value: after all others, with this one.
    #[cold]
    fn find(&mut self) -> Result<(), PopError> {
        loop {
            let used = self.used.load(Relaxed);
            let mut closed = 0;
            for _ in 0..used {
                self.at = if self.at + 1 < used { self.at + 1 } else { 0 };
                match self.lanes[self.at].peek() {
                    Ok(_) => {
                        self.left = QUANTUM;
                        return Ok(());
                    }
                    Err(PopError::Closed) => closed += 1,
                    Err(PopError::Empty) => {}
                }
            }
            if closed < used {
                return Err(PopError::Empty);
            }
            // All producers have gone (I3); this load sees how many lanes they used.
            if self.used.load(Relaxed) == used {
                return Err(PopError::Closed);
            }
        }
    }

    /// How many values are in the lanes; others may change that at once.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(spsc::Consumer::len).sum()
    }

    /// Whether there is none; others may change that at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity of a lane, in values.
    pub fn capacity(&self) -> usize {
        self.lanes[0].capacity()
    }

    /// Whether all producers have gone. The values that they left can still be popped.
    pub fn is_closed(&self) -> bool {
        self.lanes[0].is_closed()
    }
}

impl<T, N: Sleeping + Clone> Consumer<T, N> {
    /// Pops the oldest value of a lane. Sleeps until there is one. `None`: there will never be one.
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
        let values = self.values.clone();
        let look = || self.find() != Err(PopError::Empty);
        // If the deadline passed, the caller's next try returns the reason.
        let _ = values.sleepers().sleep_until_deadline(look, deadline);
    }
}

impl<T, N: Notifier> fmt::Debug for Consumer<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("lanes", &self.lanes.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

// SAFETY: the notifier lies in the rings, which this side keeps (I4).
#[cfg(feature = "async")]
unsafe impl<T, N: Sleeping> crate::tasks::Source for Consumer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &uncontended_wait::Sleepers {
        self.values.sleepers()
    }

    fn take(&mut self) -> Result<T, PopError> {
        self.pop()
    }
}
