//! What an event count is made of: its forms behind one interface.

use crate::deadline::{Deadline, TimedOut};
use crate::flagged::Flagged;
use crate::width::Width;
use uncontended_atomic::Scope;

/// How an event count is laid out in memory and incremented.
#[allow(private_bounds)]
pub trait Form: Layout {}

/// What a form's count is made of.
pub trait Valued {
    /// The type of its values.
    type Value: Width;
}

/// A form that one thread increments, by a [`Producer`](crate::event_count::Producer).
#[allow(private_bounds)]
pub trait SingleProducer: Form + Publish {}

/// What the library itself needs of a form.
pub(crate) trait Layout: Valued + Sized {
    /// The type of the word that carries the flag.
    type Word: Width;

    fn new(scope: Scope) -> Self;
    fn flagged(&self) -> &Flagged<Self::Word>;
    /// The value.
    fn load(&self) -> Self::Value;
    fn wake_all(&self);
    fn wake_oldest(&self);
    /// Wakes all, whether or not there is a flag, in the place of a process that died.
    fn wake_after_a_death(&self);
    fn wakes(&self) -> u32;
    /// Wakes all who sleep and all who are about to without having found the count closed.
    fn wake_after_close(&self);
    /// What a waiter owes the others when it found the count closed.
    fn leave_closed(&self);
    fn sleep_until_deadline<R>(
        &self,
        ready: impl FnMut() -> Option<R>,
        deadline: Deadline,
    ) -> Result<R, TimedOut>;
    #[cfg(feature = "async")]
    fn until<R>(&self, ready: impl FnMut() -> Option<R>) -> impl Future<Output = R>;
}

/// What a producer does.
pub(crate) trait Publish: Form {
    /// Makes the count `sum` by adding `events`, both as they stand in the upper bits of a word, and tells whether
    /// somebody may sleep. For the producer alone.
    fn publish(&self, sum: Self::Value, events: Self::Value) -> bool;
}
