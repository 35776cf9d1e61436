//! The calls that wait, for async tasks; with the feature `futures`, sides as a `Stream` and a `Sink`.
//!
//! # Contract
//! A task on one side and a thread on the other work together, and neither costs the other more than its own kind. A
//! future that is dropped has taken no value out. The executor may be any; there is no timer, so deadlines are its own.
//!
//! # State
//! None of its own: a task waits on the notifier of its side's ring.
//! I1: the sleepers of a [`Source`] or a [`Drain`] lie in the ring that the side keeps.
//!
//! # Evidence
//! tests/tasks.rs, with two executors; tests/model_tasks.rs.

#[cfg(feature = "futures")]
pub mod futures;

use crate::lanes::{self, group};
use crate::notifier::{Sleeping, wait};
use crate::{Closed, PopError, PushError, broadcast, mpsc, spsc};
use uncontended_wait::Sleepers;

/// A side that values come out of.
///
/// # Safety
/// I1 holds.
pub unsafe trait Source {
    /// The values.
    type Item;
    #[doc(hidden)]
    fn sleepers(&self) -> &Sleepers;
    #[doc(hidden)]
    fn take(&mut self) -> Result<Self::Item, PopError>;
}

/// A side that values go into.
///
/// # Safety
/// I1 holds.
pub unsafe trait Drain {
    /// The values.
    type Item;
    #[doc(hidden)]
    fn sleepers(&self) -> &Sleepers;
    #[doc(hidden)]
    fn put(&mut self, value: Self::Item) -> Result<(), PushError<Self::Item>>;
}

/// The oldest value, once there is one. `None`: there will never be one.
pub(crate) async fn pop<S: Source>(side: &mut S) -> Option<S::Item> {
    // SAFETY: by the trait's contract (I1).
    unsafe { wait(side, S::sleepers, taken) }.await
}

/// What a look at the source finds: a value, or that there will never be one.
fn taken<S: Source>(side: &mut S) -> Option<Option<S::Item>> {
    match side.take() {
        Err(PopError::Empty) => None,
        done => Some(done.ok()),
    }
}

/// Puts `value` in, once there is room; or gives it back if all on the other side have gone.
pub(crate) async fn push<S: Drain>(side: &mut S, value: S::Item) -> Result<(), Closed<S::Item>> {
    let mut value = Some(value);
    let look = |side: &mut S| match side.put(value.take()?) {
        Err(PushError::Full(back)) => {
            value = Some(back);
            None
        }
        done => Some(done.map_err(PushError::closed)),
    };
    // SAFETY: by the trait's contract (I1).
    unsafe { wait(side, S::sleepers, look) }.await
}

macro_rules! consumers {
    ($($ring:ident($($bound:path)?))*) => {
        $(
            impl<T $(: $bound)?, N: Sleeping> $ring::Consumer<T, N> {
                /// Like [`pop_wait`](Self::pop_wait), for a task. **Poll the future when it is woken, or drop it:** one
                /// that does neither may keep a value from others that share the ring. A stream does not.
                #[doc(alias = "recv_async")]
                pub async fn pop_async(&mut self) -> Option<T> {
                    pop(self).await
                }

                /// The values as a stream, which ends once there will never be another one.
                #[cfg(feature = "futures")]
                pub fn into_stream(self) -> futures::Values<Self> {
                    futures::Values::new(self)
                }
            }
        )*
    };
}

macro_rules! producers {
    ($($ring:ident: |$side:ident: $Side:ty| $drain:expr;)*) => {
        $(
            impl<T, N: Sleeping> $ring::Producer<T, N> {
                /// Like [`push_wait`](Self::push_wait), for a task. If the future is dropped before it is done, `value`
                /// is not pushed, but dropped. **Poll the future when it is woken, or drop it:** one that does neither
                /// may keep room from other producers. A sink does not.
                ///
                /// # Errors
                /// All on the other side have gone. The error contains the value.
                #[doc(alias = "send_async")]
                pub async fn push_async(self: $Side, value: T) -> Result<(), Closed<T>> {
                    let $side = self;
                    push($drain, value).await
                }

                /// A sink for values.
                #[cfg(feature = "futures")]
                pub fn into_sink(self) -> futures::Entry<Self> {
                    futures::Entry::new(self)
                }
            }
        )*
    };
}

// SAFETY: the sleepers lie in the ring, which the producer keeps, and this refers to it (I1).
unsafe impl<T, N: Sleeping> Drain for &mpsc::Producer<T, N> {
    type Item = T;

    fn sleepers(&self) -> &Sleepers {
        Drain::sleepers(*self)
    }

    fn put(&mut self, value: T) -> Result<(), PushError<T>> {
        self.push(value)
    }
}

consumers!(spsc() mpsc() lanes() group() broadcast(Clone));
producers! {
    spsc: |side: &mut Self| side;
    mpsc: |side: &Self| &mut { side };
    lanes: |side: &mut Self| side;
    group: |side: &mut Self| side;
    broadcast: |side: &mut Self| side;
}
