//! The event count: reading it, waiting for it, and, in the form for many producers, incrementing it.

use super::form::{Form, Layout};
use super::one_word::{Locked, OneWord};
use super::{Closed, WaitError};
use crate::deadline::Deadline;
use crate::role::Role;
use crate::width::Width;
use std::fmt;
use uncontended_atomic::Scope;
use uncontended_fence::Refused;

/// A number of events, and the threads that wait for it to change. [`single`](super::single) and [`many`](super::many)
/// describe the forms `F`.
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
#[doc(alias = "Event")]
pub struct EventCount<F: Form> {
    pub(crate) form: F,
    /// The producer's role, in forms that have one.
    pub(crate) role: Role,
}

impl<F: Form> EventCount<F> {
    /// A count of no events, for threads of one process.
    ///
    /// ```
    /// use uncontended_wait::many::EventCount64;
    /// static DONE: EventCount64 = EventCount64::new();
    /// std::thread::spawn(|| DONE.increment());
    /// assert_eq!(DONE.wait(0), Ok(1));
    /// ```
    #[cfg(not(unc_model))]
    pub const fn new() -> EventCount<F> {
        EventCount { form: F::ZEROED, role: Role::new() }
    }

    /// A count of no events, for threads of one process.
    #[cfg(unc_model)]
    pub fn new() -> EventCount<F> {
        EventCount { form: F::new(Scope::Private), role: Role::new() }
    }

    /// A count of no events, for threads of several processes that map its memory. Each process, including the one that
    /// created it, first calls [`attach`](EventCount::attach). A sleep lasts at most
    /// [`LONGEST_SHARED_SLEEP`](crate::LONGEST_SHARED_SLEEP) before the sleeper checks again. So a waiter whose waker
    /// died returns by itself, or when the role is [taken over](EventCount::take_over).
    pub fn shared() -> EventCount<F> {
        EventCount { form: F::new(Scope::Shared), role: Role::new() }
    }

    /// Registers this process, so that the heavy fences of waiters in other processes reach it. Where that is refused,
    /// all waiters of this count use bounded sleeps from then on. Within one process it does nothing and is not needed.
    ///
    /// # Errors
    /// Why it was refused. The count works all the same.
    pub fn attach(&self) -> Result<(), Refused> {
        self.form.flagged().attach()
    }

    /// Whether its threads are of one process or of several.
    pub fn scope(&self) -> Scope {
        self.form.flagged().scope()
    }

    /// The number of events, modulo 2^31 or 2^63. The caller sees what happened before each of them.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    pub fn value(&self) -> F::Value {
        self.form.load()
    }

    /// Whether a thread may be asleep.
    #[cfg_attr(unc_model, track_caller)]
    pub fn has_waiters(&self) -> bool {
        self.form.flagged().is_flagged()
    }

    /// How often an event found threads to wake; wraps at 2^30 or later.
    pub fn wakes(&self) -> u32 {
        self.form.wakes()
    }

    /// Whether the count is closed: no more events are expected.
    #[cfg_attr(unc_model, track_caller)]
    pub fn is_closed(&self) -> bool {
        self.form.flagged().is_closed()
    }

    /// Waits until the count differs from `old`, and returns its new value.
    ///
    /// # Errors
    /// The count is closed and still `old`.
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias("listen", "park"))]
    pub fn wait(&self, old: F::Value) -> Result<F::Value, Closed> {
        self.wait_until(|value| value != old)
    }

    /// Like [`wait`](EventCount::wait), but ends at `deadline`, never earlier. If the deadline has passed, the count is
    /// checked once.
    ///
    /// # Errors
    /// The count is still `old`, and the deadline has passed or the count is closed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_deadline(&self, old: F::Value, deadline: Deadline) -> Result<F::Value, WaitError> {
        self.wait_until_deadline(|value| value != old, deadline)
    }

    /// Waits until `is_enough` accepts the count, and returns that count. `is_enough` is called after events, but not
    /// after each.
    ///
    /// # Errors
    /// The count is closed, and `is_enough` rejects its last value.
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

    /// Like [`wait_until`](EventCount::wait_until), but ends at `deadline`.
    ///
    /// # Errors
    /// The deadline has passed or the count is closed, and `is_enough` rejects the count.
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

    /// [`EventCount::wait_until`] as a future. Deadlines are left to the executor. The future may be dropped at any
    /// time.
    ///
    /// # Errors
    /// As for [`EventCount::wait_until`].
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

    /// A check of the count: it is enough, not enough, or closed without being enough.
    #[cfg_attr(unc_model, track_caller)]
    fn look(
        &self,
        is_enough: &mut impl FnMut(F::Value) -> bool,
    ) -> impl FnMut() -> Option<Result<F::Value, Closed>> {
        let mut enough = || Some(self.form.load()).filter(|&value| is_enough(value));
        move || match enough() {
            // The last value is the one read after the count was found closed.
            None if self.is_closed() => Some(enough().ok_or(Closed)),
            value => value.map(Ok),
        }
    }
}

impl<W: Width> EventCount<OneWord<W, Locked>> {
    /// Counts one event and wakes all waiters. Returns the count before it.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify")]
    pub fn increment(&self) -> W {
        self.add(W::ONE)
    }

    /// Counts `events` events and wakes all waiters; zero does nothing. Returns the count before them.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify")]
    pub fn add(&self, events: W) -> W {
        let (before, asleep) = self.form.publish(events);
        if asleep && events.raise() != W::ZERO {
            self.form.wake_all();
        }
        before
    }

    /// Like [`add`](EventCount::add), but wakes only the thread that has waited longest. Use it for events that one
    /// waiter each consumes.
    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    #[doc(alias = "notify_one")]
    pub fn add_and_wake_one(&self, events: W) -> W {
        let (before, asleep) = self.form.publish(events);
        if asleep && events.raise() != W::ZERO {
            self.form.wake_oldest();
        }
        before
    }

    /// Closes the count: no more events are expected, and all waiters return. Later events are counted all the same and
    /// seen by threads that read the count.
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
