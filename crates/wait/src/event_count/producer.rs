//! The single producer of an event count, as a value that cannot be copied.
//!
//! # State
//! The producer keeps the count in the handle and never loads it from shared memory.
//!
//! # Invariants
//! I1: a count has at most one producer at a time, the holder of the count's role, and counting takes `&mut self`.
//! I2: dropping a producer, during a panic too, closes the count, so no thread waits for events that cannot come.
//! I3: a child that was forked does not hold its parent's role, so dropping its copy of the producer changes nothing.

use super::form::SingleProducer;
use super::{ClaimError, EventCount};
use crate::role::Holder;
use crate::width::Sealed as _;
use std::fmt;
use std::ops::Deref;

/// The producer of an [`EventCount`] that it reaches through `C`: a reference or an `Arc`.
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
    /// The count, shifted to the upper bits of a word.
    raised: F::Value,
}

/// The part of a producer with a destructor, kept apart from the value so that the value can stay in a register.
struct Claim<F: SingleProducer, C: Deref<Target = EventCount<F>>> {
    count: C,
    is_released: bool,
}

impl<F: SingleProducer> EventCount<F> {
    /// Claims the producer. Dropping it closes the count for good; [`Producer::release`] lets another thread claim it.
    ///
    /// # Errors
    /// The count has a producer, or is closed.
    pub fn producer(&self) -> Result<Producer<F, &EventCount<F>>, ClaimError> {
        Producer::claim(self)
    }

    /// Takes over from a producer whose process died. It continues after the last event counted, and wakes the waiters
    /// that the dead process may have left asleep. A count without a producer is simply claimed.
    ///
    /// # Errors
    /// The producer's process is alive, or the count is closed.
    pub fn take_over(&self) -> Result<Producer<F, &EventCount<F>>, ClaimError> {
        self.role.take_over(self.scope())?;
        self.form.wake_after_a_death();
        Producer::go_on(self)
    }

    /// The process of the producer. Waiters use it to find out whether the producer died ([`EventCount::shared`]).
    pub fn holder(&self) -> Holder {
        self.role.holder()
    }
}

impl<F: SingleProducer, C: Deref<Target = EventCount<F>>> Producer<F, C> {
    /// Like [`EventCount::producer`], for a count reached through an `Arc` or another pointer.
    ///
    /// # Errors
    /// As for [`EventCount::producer`].
    pub fn claim(count: C) -> Result<Producer<F, C>, ClaimError> {
        count.role.claim(count.scope())?;
        Producer::go_on(count)
    }

    /// Called by the thread that has just claimed the role.
    fn go_on(count: C) -> Result<Producer<F, C>, ClaimError> {
        if count.is_closed() {
            count.role.give_up();
            return Err(ClaimError::Closed);
        }
        let raised = count.value().raise();
        Ok(Producer { claim: Claim { count, is_released: false }, raised })
    }

    /// The number of events.
    #[inline(always)]
    pub fn value(&self) -> F::Value {
        self.raised.lower()
    }

    /// The event count.
    pub fn count(&self) -> &EventCount<F> {
        &self.claim.count
    }

    /// Counts one event and wakes all waiters.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify")]
    pub fn increment(&mut self) {
        self.add(F::Value::ONE);
    }

    /// Counts `events` events and wakes all waiters; zero does nothing.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn add(&mut self, events: F::Value) {
        if self.publish(events) {
            self.claim.count.form.wake_all();
        }
    }

    /// Like [`add`](Producer::add), but wakes only the thread that has waited longest. Use it for events that one
    /// waiter each consumes.
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
        // Not under the checker: a load would be one more step to explore.
        debug_assert!(cfg!(unc_model) || self.claim.count.value() == self.value(), "I1: one adds");
        self.raised = self.raised.plus(events);
        self.claim.count.form.publish(self.raised, events)
    }

    /// Gives the role back without closing the count.
    pub fn release(mut self) {
        self.claim.is_released = true;
    }
}

impl<F: SingleProducer, C: Deref<Target = EventCount<F>>> Drop for Claim<F, C> {
    fn drop(&mut self) {
        // The copy that a fork left in a child (I3). Not under the checker: a load would be one more step to explore.
        if !cfg!(unc_model) && !self.count.role.is_mine() {
            return;
        }
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
