//! Pops of several values at once, which sleep until there is one.
//!
//! ```
//! use uncontended_ring::mpsc;
//!
//! let (producer, mut consumer) = mpsc::blocking(64)?;
//! let sender = std::thread::spawn(move || (1..=100).try_for_each(|value| producer.push_wait(value)));
//! let (mut values, mut sum) = (Vec::new(), 0);
//! while consumer.pop_into_wait(&mut values, 16).is_some() {
//!     sum += values.drain(..).sum::<i32>();
//! }
//! assert_eq!(sum, 5050);
//! # sender.join().unwrap().unwrap();
//! # Ok::<(), uncontended_ring::CapacityError>(())
//! ```

use crate::lanes::{self, group};
use crate::notifier::Sleeping;
use crate::{PopError, mpsc, spsc};
use std::time::Duration;
use uncontended_wait::Deadline;

macro_rules! consumers {
    ($($ring:ident<N: Sleeping $(+ $more:path)?>)*) => { $(
        impl<T, N: Sleeping $(+ $more)?> $ring::Consumer<T, N> {
            /// Like [`pop_into`](Self::pop_into), but sleeps until there is a value. Returns how many were popped: at
            /// least one, unless `most` is 0. `None`: there will never be one.
            pub fn pop_into_wait(&mut self, into: &mut Vec<T>, most: usize) -> Option<usize> {
                self.pop_into_deadline(into, most, Deadline::NEVER).ok()
            }

            /// Like [`pop_into_wait`](Self::pop_into_wait), but gives up at `deadline`.
            ///
            /// # Errors
            /// There is still no value, or there will never be one.
            pub fn pop_into_deadline(
                &mut self,
                into: &mut Vec<T>,
                most: usize,
                deadline: impl Into<Deadline>,
            ) -> Result<usize, PopError> {
                if most == 0 {
                    return Ok(0);
                }
                match self.pop_into(into, most) {
                    Err(PopError::Empty) => {
                        // Growing may panic, and the value must then stay in the ring.
                        into.reserve(1);
                        into.push(self.pop_deadline(deadline)?);
                        Ok(1 + self.pop_into(into, most - 1).unwrap_or(0))
                    }
                    done => done,
                }
            }

            /// Like [`pop_into_wait`](Self::pop_into_wait), but gives up after `time`.
            ///
            /// # Errors
            /// As for [`pop_into_deadline`](Self::pop_into_deadline).
            pub fn pop_into_timeout(
                &mut self,
                into: &mut Vec<T>,
                most: usize,
                time: Duration,
            ) -> Result<usize, PopError> {
                self.pop_into_deadline(into, most, Deadline::after(time))
            }
        }
    )* };
}

consumers! {
    spsc<N: Sleeping>
    mpsc<N: Sleeping>
    lanes<N: Sleeping + Clone>
    group<N: Sleeping>
}
