//! Consumers as iterators: `for value in consumer`, or `consumer.iter()`. Those of a broadcast give clones.
//!
//! ```
//! let (mut producer, consumer) = uncontended_ring::spsc::blocking(2)?;
//! let sender = std::thread::spawn(move || (1..=100).try_for_each(|value| producer.push_wait(value)));
//! assert_eq!(consumer.into_iter().sum::<i32>(), 5050);
//! # sender.join().unwrap().unwrap();
//! # Ok::<(), uncontended_ring::CapacityError>(())
//! ```

use crate::lanes::{self, group};
use crate::notifier::Sleeping;
use crate::{broadcast, mpsc, spsc};
use std::fmt;

#[expect(unnameable_types, reason = "sealed")]
mod sealed {
    /// A consumer that can wait.
    pub trait Waits {
        type Item;
        fn next(&mut self) -> Option<Self::Item>;
    }
}
use sealed::Waits;

/// The values of a consumer, in the order of its `pop`. It sleeps while there is none, and ends once there will never
/// be another.
pub struct Values<C>(C);

impl<C: Waits> Iterator for Values<C> {
    type Item = C::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<C::Item> {
        self.0.next()
    }
}

impl<C> fmt::Debug for Values<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}

impl<C: Waits> Waits for &mut C {
    type Item = C::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<C::Item> {
        (**self).next()
    }
}

macro_rules! iterators {
    ($($ring:ident<T $(: $bound:path)?, N: Sleeping $(+ $more:path)?>)*) => {
        $(
            impl<T $(: $bound)?, N: Sleeping $(+ $more)?> Waits for $ring::Consumer<T, N> {
                type Item = T;

                #[inline(always)]
                fn next(&mut self) -> Option<T> {
                    self.pop_wait()
                }
            }

            impl<T $(: $bound)?, N: Sleeping $(+ $more)?> $ring::Consumer<T, N> {
                /// The values, in the order of `pop`. The iterator sleeps while there is none, and ends once there will
                /// never be another.
                pub fn iter(&mut self) -> Values<&mut Self> {
                    Values(self)
                }
            }

            impl<T $(: $bound)?, N: Sleeping $(+ $more)?> IntoIterator for $ring::Consumer<T, N> {
                type Item = T;
                type IntoIter = Values<Self>;

                fn into_iter(self) -> Values<Self> {
                    Values(self)
                }
            }

            impl<'c, T $(: $bound)?, N: Sleeping $(+ $more)?> IntoIterator for &'c mut $ring::Consumer<T, N> {
                type Item = T;
                type IntoIter = Values<Self>;

                fn into_iter(self) -> Values<Self> {
                    Values(self)
                }
            }
        )*
    };
}

iterators! {
    spsc<T, N: Sleeping>
    mpsc<T, N: Sleeping>
    lanes<T, N: Sleeping + Clone>
    group<T, N: Sleeping>
    broadcast<T: Clone, N: Sleeping>
}
