//! A condition variable for every lock of this crate.

use crate::{Deadline, Guard, RawLock, TimedOut};
use std::fmt;
use std::time::{Duration, Instant};
use uncontended_wait::WaitError;
use uncontended_wait::many::EventCount32;

/// Threads that give a lock back and sleep until another thread has changed what it guards.
///
/// A wait may end early, so it belongs in a loop; [`wait_while`](Condvar::wait_while) is that loop.
///
/// ```
/// use uncontended_locks::{Condvar, Mutex, Ttas, HintThenYield};
/// let (queue, changed) = (Mutex::with(Ttas::<HintThenYield>::new(), vec![]), Condvar::new());
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         let mut queue = queue.lock();
///         changed.wait_while(&mut queue, |queue| queue.is_empty());
///         assert_eq!(queue.pop(), Some("order"));
///     });
///     queue.lock().push("order");
///     changed.notify_one();
/// });
/// ```
pub struct Condvar(EventCount32);

/// Whether a wait with a limit ended because its time was over: what parking_lot's waits return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over; after a wait with a condition, whether the condition held still.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Without waiters.
    #[cfg(not(unc_model))]
    pub const fn new() -> Condvar {
        Condvar(EventCount32::new())
    }

    /// Without waiters.
    #[cfg(unc_model)]
    pub fn new() -> Condvar {
        Condvar(EventCount32::new())
    }

    /// Gives the lock back, sleeps until a notification, and takes the lock again. No notification is lost that comes
    /// after the lock was given back. It may return without one.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait<T: ?Sized, L: RawLock>(&self, guard: &mut Guard<'_, T, L>) {
        let _ = self.wait_deadline(guard, Deadline::NEVER); // It never passes.
    }

    /// Like [`wait`](Condvar::wait), but gives up at `deadline`, never earlier.
    ///
    /// # Errors
    /// The deadline passed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_deadline<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        deadline: Deadline,
    ) -> Result<(), TimedOut> {
        // Read under the lock: a notification after a change that this thread did not see comes later.
        let seen = self.0.value();
        match Guard::unlocked(guard, || self.0.wait_deadline(seen, deadline)) {
            Err(WaitError::TimedOut) => Err(TimedOut),
            Ok(_) | Err(WaitError::Closed) => Ok(()),
        }
    }

    /// Like [`wait`](Condvar::wait), but gives up after that time, never earlier.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_for<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        time: Duration,
    ) -> WaitTimeoutResult {
        self.timed(guard, Deadline::after(time))
    }

    /// Like [`wait`](Condvar::wait), but gives up at that instant, never earlier.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_until<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        instant: Instant,
    ) -> WaitTimeoutResult {
        self.timed(guard, instant.into())
    }

    #[cfg_attr(unc_model, track_caller)]
    fn timed<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        deadline: Deadline,
    ) -> WaitTimeoutResult {
        WaitTimeoutResult(self.wait_deadline(guard, deadline).is_err())
    }

    /// Waits for as long as `condition` holds.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_while<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Waits for as long as `condition` holds, or until that time has passed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_while_for<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        condition: impl FnMut(&mut T) -> bool,
        time: Duration,
    ) -> WaitTimeoutResult {
        self.timed_while(guard, condition, Deadline::after(time))
    }

    /// Waits for as long as `condition` holds, or until that instant.
    #[cfg_attr(unc_model, track_caller)]
    pub fn wait_while_until<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        condition: impl FnMut(&mut T) -> bool,
        instant: Instant,
    ) -> WaitTimeoutResult {
        self.timed_while(guard, condition, instant.into())
    }

    #[cfg_attr(unc_model, track_caller)]
    fn timed_while<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut Guard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Deadline,
    ) -> WaitTimeoutResult {
        while condition(guard) {
            if self.wait_deadline(guard, deadline).is_err() {
                return WaitTimeoutResult(condition(guard));
            }
        }
        WaitTimeoutResult(false)
    }

    /// Wakes one waiter, if there is any. Call it after the change, with the lock or after it was given back.
    #[cfg_attr(unc_model, track_caller)]
    pub fn notify_one(&self) {
        self.0.add_and_wake_one(1);
    }

    /// Wakes all waiters.
    #[cfg_attr(unc_model, track_caller)]
    pub fn notify_all(&self) {
        self.0.increment();
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
