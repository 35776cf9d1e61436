//! Sides that poll until they succeed: an idle strategy decides what the thread does meanwhile.
//!
//! # Contract
//! Each side names its own strategy ([`uncontended_wait::idle`]), and the other side pays nothing for it: no notifier
//! is involved, so a polled ring ([`Silent`](crate::Silent)) will do.
//!
//! ```
//! use uncontended_ring::spsc;
//! use uncontended_wait::idle::{Backoff, HintedSpin};
//!
//! let (mut producer, mut consumer) = spsc::ring(64)?;
//! let sender = std::thread::spawn(move || {
//!     let mut idle = HintedSpin; // this thread has a CPU of its own
//!     (1..=1000).try_for_each(|value| producer.push_idling(value, &mut idle))
//! });
//! let (mut idle, mut sum) = (Backoff::default(), 0);
//! while let Some(value) = consumer.pop_idling(&mut idle) {
//!     sum += value;
//! }
//! assert_eq!(sum, 500_500);
//! # sender.join().unwrap().unwrap();
//! # Ok::<(), uncontended_ring::CapacityError>(())
//! ```

use crate::lanes::group;
use crate::notifier::Notifier;
use crate::{Closed, PopError, PushError, broadcast, lanes, mpsc, spsc};
use uncontended_wait::idle::Idle;

macro_rules! producers {
    ($($ring:ident($($mut:tt)?))*) => { $(
        impl<T, N: Notifier> $ring::Producer<T, N> {
            /// Like [`push`](Self::push), but tries until there is room, and lets `idle` pass the time between.
            ///
            /// # Errors
            /// No consumer is left. The error contains the value.
            #[inline]
            pub fn push_idling(
                &$($mut)? self,
                mut value: T,
                idle: &mut impl Idle,
            ) -> Result<(), Closed<T>> {
                loop {
                    match self.push(value) {
                        Ok(()) => {
                            idle.reset();
                            return Ok(());
                        }
                        Err(PushError::Closed(value)) => return Err(Closed(value)),
                        Err(PushError::Full(back)) => value = back,
                    }
                    idle.idle();
                }
            }
        }
    )* };
}

macro_rules! consumers {
    ($($ring:ident($($bound:path)?))*) => { $(
        impl<T $(: $bound)?, N: Notifier> $ring::Consumer<T, N> {
            /// Like [`pop`](Self::pop), but tries until there is a value, and lets `idle` pass the time between.
            /// `None`: there will never be one.
            #[inline]
            pub fn pop_idling(&mut self, idle: &mut impl Idle) -> Option<T> {
                loop {
                    match self.pop() {
                        Ok(value) => {
                            idle.reset();
                            return Some(value);
                        }
                        Err(PopError::Closed) => return None,
                        Err(PopError::Empty) => idle.idle(),
                    }
                }
            }
        }
    )* };
}

producers!(spsc(mut) mpsc() lanes(mut) group(mut) broadcast(mut));
consumers!(spsc() mpsc() lanes() group() broadcast(Clone));
