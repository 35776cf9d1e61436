//! The event count itself: reading it, waiting for it, and for the form of many producers, incrementing it.

use super::form::{Form, Layout};
use super::one_word::{Locked, OneWord};
use super::{Closed, WaitError};
use crate::deadline::Deadline;
use crate::role::Role;
use crate::width::Width;
use std::fmt;
use uncontended_atomic::Scope;
use uncontended_fence::Refused;

/// A number of events, and the threads that wait for it to change. For the forms `F` see [`single`](super::single) and
/// [`many`](super::many).
///
/// ```
/// use uncontended_wait::{Closed, many};
/// let done = many::EventCount32::new();
/// std::thread::scope(|threads| {
///     for _ in 0..3 {
///         threads.spawn(|| done.increment());
///     }
///     assert_eq!(done.wait_until(|finished| finished == 3), Ok(3));
/// });
/// done.close();
/// assert_eq!(done.wait(3), Err(Closed));
/// ```
#[repr(C)]
pub struct EventCount<F: Form> {
    pub(crate) form: F,
    /// The producer's, where there is one.
    pub(crate) role: Role,
}

impl<F: Form> EventCount<F> {
    /// A count of no events, for threads of one process.
    pub fn new() -> EventCount<F> {
        EventCount { form: F::new(Scope::Private), role: Role::new() }
    }

    /// A count of no events, for threads of several processes that map its memory. Each process calls
    /// [`attach`](EventCount::attach) before anything else, the one that made it too. A sleep lasts at most
    /// [`LONGEST_SHARED_SLEEP`](crate::LONGEST_SHARED_SLEEP) before the sleeper looks again: whom a process that died
    /// was about to wake comes back by itself, or when its role is [taken over](EventCount::take_over).
    pub fn shared() -> EventCount<F> {
        EventCount { form: F::new(Scope::Shared), role: Role::new() }
    }

    /// Makes this process one that the heavy fences of other processes' waiters reach. Where that is refused, all
    /// waiters of this count sleep for bounded times from now on. Within one process it is not needed and does nothing.
    ///
    /// # Errors
    /// Why it was refused; the count can be used all the same.
    pub fn attach(&self) -> Result<(), Refused> {
        self.form.flagged().attach()
    }

    /// The waiters of this count.
    pub fn scope(&self) -> Scope {
        self.form.flagged().scope()
    }

    /// How many events there were, modulo 2^31 or 2^63. What happened before each of them is seen.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn value(&self) -> F::Value {
        self.form.load()
    }

    /// Whether somebody may be asleep.
    #[cfg_attr(unc_model, track_caller)]
    pub fn has_waiters(&self) -> bool {
        self.form.flagged().is_flagged()
    }

    /// How often an event found somebody to wake, modulo 2^31 at least.
    pub fn wakes(&self) -> u32 {
        self.form.wakes()
    }

    /// Whether no more events come.
    #[cfg_attr(unc_model, track_caller)]
    pub fn is_closed(&self) -> bool {
        self.form.flagged().is_closed()
    }

    /// Waits until the count is no longer `old`, and returns what it is then.
    ///
    /// # Errors
    /// It is still `old`, and no more events come.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait(&self, old: F::Value) -> Result<F::Value, Closed> {
        self.wait_until(|value| value != old)
    }

    /// The same, but not longer than to `deadline`, never a moment less; if that has passed, one look is taken.
    ///
    /// # Errors
    /// It is still `old`, and the deadline has passed, or no more events come.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_deadline(&self, old: F::Value, deadline: Deadline) -> Result<F::Value, WaitError> {
        self.wait_until_deadline(|value| value != old, deadline)
    }

    /// Waits until `is_enough` says so of the count, and returns that count. It is asked after events, but not after
    /// each.
    ///
    /// # Errors
    /// It says no of the last event there will be.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_until(
        &self,
        mut is_enough: impl FnMut(F::Value) -> bool,
    ) -> Result<F::Value, Closed> {
        loop {
            match self.wait_until_deadline(&mut is_enough, Deadline::NEVER) {
                Ok(value) => return Ok(value),
                Err(WaitError::Closed) => return Err(Closed),
                Err(WaitError::TimedOut) => {}
            }
        }
    }

    /// The same, but not longer than to `deadline`.
    ///
    /// # Errors
    /// The deadline has passed, or no more events come, and it says still no.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_until_deadline(
        &self,
        mut is_enough: impl FnMut(F::Value) -> bool,
        deadline: Deadline,
    ) -> Result<F::Value, WaitError> {
        let result = self.form.sleep_until_deadline(self.look(&mut is_enough), deadline)?;
        if result.is_err() {
            self.form.leave_closed();
        }
        result.map_err(|Closed| WaitError::Closed)
    }

    /// A future of [`EventCount::wait_until`]: for async tasks, whose deadlines are their executor's business. It may
    /// be dropped at any time.
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "async")]
    pub async fn until(
        &self,
        mut is_enough: impl FnMut(F::Value) -> bool,
    ) -> Result<F::Value, Closed> {
        let result = self.form.until(self.look(&mut is_enough)).await;
        if result.is_err() {
            self.form.leave_closed();
        }
        result
    }

    /// Looks whether the count is enough, or is not and will never be.
    #[cfg_attr(unc_model, track_caller)]
    fn look(
        &self,
        is_enough: &mut impl FnMut(F::Value) -> bool,
    ) -> impl FnMut() -> Option<Result<F::Value, Closed>> {
        let mut enough = || Some(self.form.load()).filter(|&value| is_enough(value));
        move || match enough() {
            // The last value is the one that is there once the count is closed.
            None if self.is_closed() => Some(enough().ok_or(Closed)),
            value => value.map(Ok),
        }
    }
}

impl<W: Width> EventCount<OneWord<W, Locked>> {
    /// Counts one event and wakes all who wait. Returns the count before it.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn increment(&self) -> W {
        self.add(W::ONE)
    }

    /// Counts `events` events and wakes all who wait; zero does nothing. Returns the count before them.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn add(&self, events: W) -> W {
        let (before, asleep) = self.form.publish(events);
        if asleep && events.raise() != W::ZERO {
            self.form.wake_all();
        }
        before
    }

    /// The same, but wakes only the one who has waited longest: for events of which each is for one waiter.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn add_and_wake_one(&self, events: W) -> W {
        let (before, asleep) = self.form.publish(events);
        if asleep && events.raise() != W::ZERO {
            self.form.wake_oldest();
        }
        before
    }

    /// Says that no more events come, and wakes all who wait. Events counted nevertheless are counted, and seen by
    /// who reads the count.
    #[cfg_attr(unc_model, track_caller)]
    pub fn close(&self) {
        self.form.flagged().close();
        self.form.wake_after_close();
    }
}

impl<F: Form> Default for EventCount<F> {
    fn default() -> EventCount<F> {
        EventCount::new()
    }
}

impl<F: Form> fmt::Debug for EventCount<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCount")
            .field("value", &self.value())
            .field("has_waiters", &self.has_waiters())
            .field("is_closed", &self.is_closed())
            .field("scope", &self.scope())
            .finish()
    }
}
