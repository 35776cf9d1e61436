//! A value behind a lock.
//!
//! # Invariants
//! I1: a guard is made by the thread that has just taken the lock, and gives it back when it is dropped: so while there
//!     is a guard, no other thread has one.

use crate::{Deadline, Futex, MappedGuard, RawLock, Timed, TimedOut};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use uncontended_atomic::UnsafeCell;

/// A value that one thread at a time has access to; `L` says how the others wait.
///
/// [`new`](Mutex::new) takes the default lock, [`with`](Mutex::with) any; both are `const`. So there is no
/// `Mutex::<_, Mcs<SpinThenPark>>::new(v)`: write `Mutex::with(Mcs::<SpinThenPark>::new(), v)`.
///
/// ```
/// use uncontended_locks::{Mcs, Mutex, SpinThenPark};
/// static QUEUE: Mutex<Vec<u32>> = Mutex::new(vec![]);
/// QUEUE.lock().push(7);
/// assert_eq!(QUEUE.try_lock().unwrap().len(), 1);
///
/// let in_order = Mutex::with(Mcs::<SpinThenPark>::new(), vec![7]);
/// assert_eq!(in_order.into_inner(), [7]);
/// ```
pub struct Mutex<T: ?Sized, L = Futex> {
    raw: L,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value (I1), which is sent from one to the next.
unsafe impl<T: ?Sized + Send, L: Sync> Sync for Mutex<T, L> {}

impl<T> Mutex<T> {
    /// A value behind the default lock; `const`.
    #[cfg(not(unc_model))]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex::with(Futex::new(), value)
    }

    /// A value behind the default lock.
    #[cfg(unc_model)]
    pub fn new(value: T) -> Mutex<T> {
        Mutex::with(Futex::default(), value)
    }
}

impl<T, L> Mutex<T, L> {
    /// A value behind a given lock; `const`.
    #[cfg(not(unc_model))]
    pub const fn with(raw: L, value: T) -> Mutex<T, L> {
        Mutex { raw, value: UnsafeCell::new(value) }
    }

    /// A value behind a given lock.
    #[cfg(unc_model)]
    pub fn with(raw: L, value: T) -> Mutex<T, L> {
        Mutex { raw, value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Waits until the lock is free, and takes it until the guard is dropped.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn lock(&self) -> Guard<'_, T, L> {
        self.raw.lock();
        // SAFETY: it was taken just now (I1).
        unsafe { self.guard() }
    }

    /// Takes the lock if it is free.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_lock(&self) -> Option<Guard<'_, T, L>> {
        // SAFETY: it was taken just now (I1).
        self.raw.try_lock().then(|| unsafe { self.guard() })
    }

    /// Takes the lock, or gives up at `deadline`, never earlier.
    ///
    /// # Errors
    /// The deadline passed.
    #[cfg_attr(unc_model, track_caller)]
    pub fn lock_deadline(&self, deadline: Deadline) -> Result<Guard<'_, T, L>, TimedOut>
    where
        L: Timed,
    {
        self.raw.lock_deadline(deadline)?;
        // SAFETY: it was taken just now (I1).
        Ok(unsafe { self.guard() })
    }

    /// Takes the lock if it is free within that time, measured from now.
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_lock_for(&self, time: Duration) -> Option<Guard<'_, T, L>>
    where
        L: Timed,
    {
        self.lock_deadline(Deadline::after(time)).ok()
    }

    /// Takes the lock if it is free before that instant.
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_lock_until(&self, end: Instant) -> Option<Guard<'_, T, L>>
    where
        L: Timed,
    {
        self.lock_deadline(end.into()).ok()
    }

    /// The value, which no other thread can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether some thread holds the lock; others may change that at once.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// # Safety
    /// The caller holds the lock, and has no guard of it.
    unsafe fn guard(&self) -> Guard<'_, T, L> {
        Guard { mutex: self, _value: PhantomData }
    }
}

impl<T: Default, L: RawLock> Default for Mutex<T, L> {
    fn default() -> Mutex<T, L> {
        Mutex::with(L::default(), T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for Mutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_tuple("Mutex").field(&&*guard).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// [`Guard`] by the name that std and parking_lot give it.
pub type MutexGuard<'m, T, L = Futex> = Guard<'m, T, L>;

/// Access to the value until it is dropped.
#[must_use = "the lock is given back at once: keep the guard in a variable, `let guard = ..` (not `let _ = ..`)"]
pub struct Guard<'m, T: ?Sized, L: RawLock = Futex> {
    mutex: &'m Mutex<T, L>,
    _value: PhantomData<&'m mut T>,
}

// SAFETY: a shared guard gives shared access to the value, as a reference would (I1).
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for Guard<'_, T, L> {}

impl<'m, T: ?Sized, L: RawLock> Guard<'m, T, L> {
    /// A guard of a part of the value. An associated function, since the value may have a method of this name.
    ///
    /// ```
    /// use uncontended_locks::{Guard, Mutex};
    /// let pair = Mutex::new((1, "one"));
    /// let mut number = Guard::map(pair.lock(), |pair| &mut pair.0);
    /// *number += 1;
    /// assert!(pair.is_locked());
    /// drop(number);
    /// assert_eq!(pair.into_inner(), (2, "one"));
    /// ```
    pub fn map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedGuard<'m, U, L> {
        let part = NonNull::from(part(&mut *guard));
        let raw = &guard.mutex.raw;
        mem::forget(guard);
        // SAFETY: the guard held the lock (I1), and was forgotten; the part was borrowed from its value.
        unsafe { MappedGuard::new(raw, part) }
    }

    /// Gives the lock back while `f` runs, and takes it again, also if `f` panics. Others may have changed the value.
    pub fn unlocked<R>(guard: &mut Self, f: impl FnOnce() -> R) -> R {
        struct Again<'m, L: RawLock>(&'m L);
        impl<L: RawLock> Drop for Again<'_, L> {
            fn drop(&mut self) {
                self.0.lock();
            }
        }
        // SAFETY: this guard holds the lock (I1), and takes it again before it can be used.
        unsafe { guard.mutex.raw.unlock() };
        let _again = Again(&guard.mutex.raw);
        f()
    }
}

impl<T: ?Sized, L: RawLock> Deref for Guard<'_, T, L> {
    type Target = T;

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock (I1).
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for Guard<'_, T, L> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock (I1), and is borrowed mutably.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: ?Sized, L: RawLock> Drop for Guard<'_, T, L> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn drop(&mut self) {
        // SAFETY: this guard holds the lock (I1), and is gone after this.
        unsafe { self.mutex.raw.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for Guard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for Guard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
