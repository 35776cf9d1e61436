//! Stand-ins for `std::sync::{Mutex, Condvar}`, never poisoned: a thread that panics ends its execution.
//!
//! # Contract
//! A mutex acquires and releases. A condition variable wakes any of the waiting threads, and none spuriously unless
//! [`Explorer::spurious`](super::Explorer::spurious) requests it. A wait with a limit may time out at any moment.
//! Outside an exploration both are `std`'s own.

use super::atomics::Word;
use super::futex::{self, Wait};
use super::named::Named;
use super::op::{Op, Order};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Site;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

/// Stands in for `std::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    /// 1 while the lock is held.
    held: Word,
    /// Free whenever `held` is 0.
    data: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A new mutex.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex { held: Word::new(0), data: std::sync::Mutex::new(value) }
    }

    /// See `std`: no other thread uses it.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.held.own(Site::caller());
        Ok(self.data.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if self.held.location().is_some() {
            self.held.perform(
                Op::AwaitCas { expected: 0, new: 1, order: Order::ACQUIRE, timed: false },
                false,
                Site::caller(),
            );
        }
        Ok(self.guard(Site::caller()))
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `WouldBlock` if it is held.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.held.location().is_some() {
            let op =
                Op::Cas { expected: 0, new: 1, success: Order::ACQUIRE, failure: Order::RELAXED };
            if self.held.perform(op, false, Site::caller()) == 1 {
                return Err(TryLockError::WouldBlock);
            }
            return Ok(self.guard(Site::caller()));
        }
        match self.data.try_lock() {
            Ok(data) => Ok(MutexGuard { mutex: self, data: Some(data), site: Site::caller() }),
            Err(TryLockError::Poisoned(poisoned)) => Ok(MutexGuard {
                mutex: self,
                data: Some(poisoned.into_inner()),
                site: Site::caller(),
            }),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    /// See `std`: no other thread uses it.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.held.own(Site::caller());
        Ok(self.data.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    fn guard(&self, site: &'static Site<'static>) -> MutexGuard<'_, T> {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { mutex: self, data: Some(data), site }
    }
}

impl<T> Named for Mutex<T> {
    fn named(mut self, name: &'static str) -> Mutex<T> {
        self.held.name(name);
        self
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

/// A guard that holds a [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    data: Option<std::sync::MutexGuard<'a, T>>,
    site: &'static Site<'static>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect("held until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect("held until it is dropped")
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        if self.mutex.held.location().is_some() {
            self.mutex.held.perform(
                Op::Store { value: 0, order: Order::RELEASE },
                false,
                self.site,
            );
        }
    }
}

impl<T: ?Sized> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MutexGuard")
    }
}

/// Stands in for `std::sync::WaitTimeoutResult`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Waits in the queue of `location` without the mutex.
#[track_caller]
fn sleep_without<T>(
    location: u32,
    guard: MutexGuard<'_, T>,
    timed: bool,
) -> (MutexGuard<'_, T>, Wait) {
    let (site, queue) = (Site::caller(), futex::queue_of(location));
    futex::enqueue(queue, site);
    let mutex = guard.mutex;
    drop(guard);
    let wait = futex::sleep_in(queue, timed, site);
    (mutex.lock().unwrap_or_else(PoisonError::into_inner), wait)
}

/// Stands in for `std::sync::Condvar`.
pub struct Condvar {
    /// Names the queue of waiters.
    word: Word,
    alone: std::sync::Condvar,
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl Condvar {
    /// A new condition variable.
    #[track_caller]
    pub fn new() -> Condvar {
        Condvar { word: Word::new(0), alone: std::sync::Condvar::new() }
    }

    /// Releases the mutex, waits to be notified, and locks the mutex again.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let Some(location) = self.word.location() else {
            let data = guard.data.take().expect("held until it is dropped");
            guard.data = Some(self.alone.wait(data).unwrap_or_else(PoisonError::into_inner));
            return Ok(guard);
        };
        Ok(sleep_without(location, guard, false).0)
    }

    /// Like [`Condvar::wait`], but the wait may also time out at any moment: time does not pass in an exploration.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let Some(location) = self.word.location() else {
            let data = guard.data.take().expect("held until it is dropped");
            let waited = self.alone.wait_timeout(data, limit);
            let (data, result) = waited.unwrap_or_else(PoisonError::into_inner);
            guard.data = Some(data);
            return Ok((guard, WaitTimeoutResult(result.timed_out())));
        };
        let (guard, wait) = sleep_without(location, guard, true);
        Ok((guard, WaitTimeoutResult(wait == Wait::TimedOut)))
    }

    /// Waits as long as `condition` holds, or until it times out.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let begun = Instant::now();
        let mut is_over = false;
        while condition(&mut guard) {
            if is_over {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let left = limit.saturating_sub(begun.elapsed());
            let (held, result) = self.wait_timeout(guard, left)?;
            (guard, is_over) = (held, result.timed_out());
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Waits as long as `condition` holds.
    ///
    /// # Errors
    /// None; the type is `std`'s.
    #[track_caller]
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Wakes one of the waiting threads, any of them.
    #[track_caller]
    pub fn notify_one(&self) {
        match self.word.location() {
            Some(location) => futex::wake_any(futex::queue_of(location), Site::caller()),
            None => self.alone.notify_one(),
        }
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        match self.word.location() {
            Some(location) => {
                futex::wake(futex::queue_of(location), u64::MAX, Site::caller());
            }
            None => self.alone.notify_all(),
        }
    }
}

impl Named for Condvar {
    fn named(mut self, name: &'static str) -> Condvar {
        self.word.name(name);
        self
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
