//! The forms of an event count behind one interface.

use crate::deadline::{Deadline, TimedOut};
use crate::flagged::Flagged;
use crate::width::Width;
use uncontended_atomic::Scope;

/// How an event count is laid out in memory and incremented.
#[allow(private_bounds)]
pub trait Form: Layout {}

/// A form with a value.
pub trait Valued {
    /// The type of the value.
    type Value: Width;
}

/// A form that one thread increments, through a [`Producer`](crate::event_count::Producer).
#[allow(private_bounds)]
pub trait SingleProducer: Form + Publish {}

/// The operations the crate needs of a form.
pub(crate) trait Layout: Valued + Sized {
    /// The type of the word that carries the flag.
    type Word: Width;

    /// No events, for threads of one process; its bytes are zeros.
    #[cfg(not(unc_model))]
    const ZEROED: Self;

    fn new(scope: Scope) -> Self;
    fn flagged(&self) -> &Flagged<Self::Word>;
    /// The current value.
    fn load(&self) -> Self::Value;
    fn wake_all(&self);
    fn wake_oldest(&self);
    /// Wakes all sleepers, whether or not the flag is set. Called in place of a process that died.
    fn wake_after_a_death(&self);
    fn wakes(&self) -> u32;
    /// Wakes all sleepers, and those about to sleep that did not yet see the close.
    fn wake_after_close(&self);
    /// What a waiter does for the others when it leaves because of the close.
    fn leave_closed(&self);
    fn sleep_until_deadline<R>(
        &self,
        ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut>;
    #[cfg(feature = "async")]
    fn until<R>(&self, ready: impl FnMut() -> Option<R>) -> impl Future<Output = R>;
}

/// The operation of a producer.
pub(crate) trait Publish: Form {
    /// Makes the count `sum` by adding `events`, both shifted to the upper bits. Returns whether a thread may be
    /// asleep. Only the producer calls it.
    fn publish(&self, sum: Self::Value, events: Self::Value) -> bool;
}
