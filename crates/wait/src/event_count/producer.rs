//! The one producer of an event count, as a value that cannot be copied.
//!
//! # State
//! The producer keeps the count and never loads it from shared memory.
//!
//! # Invariants
//! I1: a count has at most one producer at a time: it holds the count's role, and `&mut self` counts events.
//! I2: a producer that is dropped, by a panic too, closes the count: nobody waits for what can't come.

use super::form::SingleProducer;
use super::{ClaimError, EventCount};
use crate::role::Holder;
use crate::width::Sealed as _;
use std::fmt;
use std::ops::Deref;

/// The producer of an [`EventCount`] that it reaches by `C`: a reference, an `Arc`.
///
/// ```
/// use uncontended_wait::{ClaimError, Closed, single};
/// let log = single::EventCount64::new();
/// let mut writer = log.producer().unwrap();
/// assert_eq!(log.producer().unwrap_err(), ClaimError::Taken);
/// std::thread::scope(|threads| {
///     let reader = threads.spawn(|| log.wait_until(|bytes| bytes >= 300));
///     writer.add(100);
///     writer.add(200);
///     assert_eq!(reader.join().unwrap(), Ok(300));
/// });
/// drop(writer);
/// assert_eq!(log.wait(300), Err(Closed));
/// ```
pub struct Producer<F: SingleProducer, C: Deref<Target = EventCount<F>>> {
    claim: Claim<F, C>,
    /// As it stands in the upper bits of a word.
    raised: F::Value,
}

/// What is dropped with a producer: apart from the count, so that the count can stay in a register.
struct Claim<F: SingleProducer, C: Deref<Target = EventCount<F>>> {
    count: C,
    is_released: bool,
}

impl<F: SingleProducer> EventCount<F> {
    /// The producer. Dropped, it closes the count for good; [`Producer::release`] lets another go on.
    ///
    /// # Errors
    /// There is one, or it has closed the count.
    pub fn producer(&self) -> Result<Producer<F, &EventCount<F>>, ClaimError> {
        Producer::claim(self)
    }

    /// The producer in the place of one whose process died: it goes on from the last event that was counted, and
    /// whoever the dead was about to wake is woken. A count without a producer is claimed.
    ///
    /// # Errors
    /// There is one that lives, or it has closed the count.
    pub fn take_over(&self) -> Result<Producer<F, &EventCount<F>>, ClaimError> {
        self.role.take_over(self.scope())?;
        self.form.wake_after_a_death();
        Producer::go_on(self)
    }

    /// The producer's process: for those who wait for one that may have died ([`EventCount::shared`]).
    pub fn holder(&self) -> Holder {
        self.role.holder()
    }
}

impl<F: SingleProducer, C: Deref<Target = EventCount<F>>> Producer<F, C> {
    /// As [`EventCount::producer`], for a count that is reached in another way.
    ///
    /// # Errors
    /// As there.
    pub fn claim(count: C) -> Result<Producer<F, C>, ClaimError> {
        count.role.claim(count.scope())?;
        Producer::go_on(count)
    }

    /// By who has just come to hold the role.
    fn go_on(count: C) -> Result<Producer<F, C>, ClaimError> {
        if count.is_closed() {
            count.role.give_up();
            return Err(ClaimError::Closed);
        }
        let raised = count.value().raise();
        Ok(Producer { claim: Claim { count, is_released: false }, raised })
    }

    /// How many events there were.
    #[inline(always)]
    pub fn value(&self) -> F::Value {
        self.raised.lower()
    }

    /// The count.
    pub fn count(&self) -> &EventCount<F> {
        &self.claim.count
    }

    /// Counts one event and wakes all who wait.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn increment(&mut self) {
        self.add(F::Value::ONE);
    }

    /// Counts `events` events and wakes all who wait; zero does nothing.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn add(&mut self, events: F::Value) {
        if self.publish(events) {
            self.claim.count.form.wake_all();
        }
    }

    /// The same, but wakes only the one who has waited longest: for events of which each is for one waiter.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn add_and_wake_one(&mut self, events: F::Value) {
        if self.publish(events) {
            self.claim.count.form.wake_oldest();
        }
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn publish(&mut self, events: F::Value) -> bool {
        let events = events.raise();
        if events == F::Value::ZERO {
            return false;
        }
        self.raised = self.raised.plus(events);
        self.claim.count.form.publish(self.raised, events)
    }

    /// Gives the claim back without closing the count.
    pub fn release(mut self) {
        self.claim.is_released = true;
    }
}

impl<F: SingleProducer, C: Deref<Target = EventCount<F>>> Drop for Claim<F, C> {
    fn drop(&mut self) {
        if self.is_released {
            return self.count.role.give_back();
        }
        self.count.form.flagged().close();
        self.count.form.wake_after_close();
        self.count.role.give_up();
    }
}

impl<F: SingleProducer, C: Deref<Target = EventCount<F>>> fmt::Debug for Producer<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("value", &self.value()).finish_non_exhaustive()
    }
}
