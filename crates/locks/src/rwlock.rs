//! A value that many threads read at once, and one at a time changes.
//!
//! # Invariants
//! I1: a guard is made by the thread that has just taken the lock, for reading or for writing, and gives that back when
//!     it is dropped: so while there is a guard for writing, there is no other guard.
//! I2: a guard for reading stays with its thread: no type that holds one can be sent.

use crate::{MappedReadGuard, MappedWriteGuard, PhaseFair, RawRwLock};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use uncontended_atomic::UnsafeCell;

/// A value that many threads read at once, and one at a time changes; `L` says which are next, and how the others wait.
/// [`new`](RwLock::new) takes the default lock, [`with`](RwLock::with) any; both are `const`. So there is no
/// `RwLock::<_, Bravo>::new(v)`: write `RwLock::with(Bravo::new(), v)`.
///
/// A thread that reads must not read again before it has given the first guard back: where a writer waits between the
/// two, both wait forever. Nothing is poisoned: a panic gives the lock back.
///
/// ```
/// use uncontended_locks::RwLock;
/// let names = RwLock::new(vec!["one"]);
/// names.write().push("two");
/// {
///     let names = names.read();
///     // A reference may go to other threads. The guard may not.
///     std::thread::scope(|threads| threads.spawn(|| names.len()).join().unwrap());
/// }
/// assert_eq!(names.into_inner(), ["one", "two"]);
/// ```
///
/// A guard for reading cannot be sent to another thread:
///
/// ```compile_fail
/// let lock = uncontended_locks::RwLock::new(1);
/// let guard = lock.read();
/// std::thread::scope(|threads| threads.spawn(move || drop(guard)).join().unwrap());
/// ```
pub struct RwLock<T: ?Sized, L = PhaseFair> {
    raw: L,
    value: UnsafeCell<T>,
}

// SAFETY: readers share the value, and a writer has it alone, and may send it to the next (I1).
unsafe impl<T: ?Sized + Send + Sync, L: Sync> Sync for RwLock<T, L> {}

impl<T> RwLock<T> {
    /// A value behind the default lock; `const`.
    #[cfg(not(unc_model))]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock::with(PhaseFair::new(), value)
    }

    /// A value behind the default lock.
    #[cfg(unc_model)]
    pub fn new(value: T) -> RwLock<T> {
        RwLock::with(PhaseFair::default(), value)
    }
}

impl<T, L> RwLock<T, L> {
    /// A value behind a given lock; `const`.
    #[cfg(not(unc_model))]
    pub const fn with(raw: L, value: T) -> RwLock<T, L> {
        RwLock { raw, value: UnsafeCell::new(value) }
    }

    /// A value behind a given lock.
    #[cfg(unc_model)]
    pub fn with(raw: L, value: T) -> RwLock<T, L> {
        RwLock { raw, value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, L: RawRwLock> RwLock<T, L> {
    /// Waits until no thread writes, and reads until the guard is dropped.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn read(&self) -> ReadGuard<'_, T, L> {
        self.raw.read();
        // SAFETY: it was taken just now (I1).
        unsafe { self.read_guard() }
    }

    /// Reads if no thread writes, or waits to.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T, L>> {
        // SAFETY: it was taken just now (I1).
        self.raw.try_read().then(|| unsafe { self.read_guard() })
    }

    /// Waits until no other thread reads or writes, and has the value alone until the guard is dropped.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn write(&self) -> WriteGuard<'_, T, L> {
        self.raw.write();
        // SAFETY: it was taken just now (I1).
        unsafe { self.write_guard() }
    }

    /// Writes if no other thread reads or writes.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T, L>> {
        // SAFETY: it was taken just now (I1).
        self.raw.try_write().then(|| unsafe { self.write_guard() })
    }

    /// The value, which no other thread can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether some thread reads or writes; others may change that at once.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// # Safety
    /// The caller holds the lock for reading, once more than it has guards of it.
    unsafe fn read_guard(&self) -> ReadGuard<'_, T, L> {
        ReadGuard { lock: self, _stays: PhantomData }
    }

    /// # Safety
    /// The caller holds the lock for writing, and has no guard of it.
    unsafe fn write_guard(&self) -> WriteGuard<'_, T, L> {
        WriteGuard { lock: self, _value: PhantomData }
    }
}

impl<T: Default, L: RawRwLock> Default for RwLock<T, L> {
    fn default() -> RwLock<T, L> {
        RwLock::with(L::default(), T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawRwLock> fmt::Debug for RwLock<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(guard) => f.debug_tuple("RwLock").field(&&*guard).finish(),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

/// [`ReadGuard`] by the name that std and parking_lot give it.
pub type RwLockReadGuard<'l, T, L = PhaseFair> = ReadGuard<'l, T, L>;

/// [`WriteGuard`] by the name that std and parking_lot give it.
pub type RwLockWriteGuard<'l, T, L = PhaseFair> = WriteGuard<'l, T, L>;

/// Shared access to the value until it is dropped, in the thread that took it.
#[must_use = "the lock is given back at once: keep the guard in a variable, `let guard = ..` (not `let _ = ..`)"]
pub struct ReadGuard<'l, T: ?Sized, L: RawRwLock = PhaseFair> {
    lock: &'l RwLock<T, L>,
    /// Not sent (I2).
    _stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value, as a reference would (I1); it is dropped where it is (I2).
unsafe impl<T: ?Sized + Sync, L: RawRwLock> Sync for ReadGuard<'_, T, L> {}

/// Access to the value for this guard alone, until it is dropped.
#[must_use = "the lock is given back at once: keep the guard in a variable, `let guard = ..` (not `let _ = ..`)"]
pub struct WriteGuard<'l, T: ?Sized, L: RawRwLock = PhaseFair> {
    lock: &'l RwLock<T, L>,
    _value: PhantomData<&'l mut T>,
}

// SAFETY: a shared guard gives shared access to the value, as a reference would (I1).
unsafe impl<T: ?Sized + Sync, L: RawRwLock> Sync for WriteGuard<'_, T, L> {}

macro_rules! reads {
    ($guard:ident, $unlock:ident, $mapped:ident $(, $mut:tt)?) => {
        impl<'l, T: ?Sized, L: RawRwLock> $guard<'l, T, L> {
            /// A guard of a part of the value. An associated function, since the value may have a method of this name.
            pub fn map<U: ?Sized>(
                $($mut)? guard: Self,
                part: impl FnOnce(&$($mut)? T) -> &$($mut)? U,
            ) -> $mapped<'l, U, L> {
                let part = NonNull::from(part(&$($mut)? *guard));
                let raw = &guard.lock.raw;
                mem::forget(guard);
                // SAFETY: the guard held the lock (I1), and was forgotten; the part was borrowed from its value.
                unsafe { $mapped::new(raw, part) }
            }
        }

        impl<T: ?Sized, L: RawRwLock> Deref for $guard<'_, T, L> {
            type Target = T;

            #[inline]
            #[cfg_attr(unc_model, track_caller)]
            fn deref(&self) -> &T {
                // SAFETY: this guard holds the lock (I1).
                self.lock.value.with(|value| unsafe { &*value })
            }
        }

        impl<T: ?Sized, L: RawRwLock> Drop for $guard<'_, T, L> {
            #[inline]
            #[cfg_attr(unc_model, track_caller)]
            fn drop(&mut self) {
                // SAFETY: this guard holds the lock, in the thread that took it for reading (I1, I2).
                unsafe { self.lock.raw.$unlock() };
            }
        }

        impl<T: ?Sized + fmt::Debug, L: RawRwLock> fmt::Debug for $guard<'_, T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display, L: RawRwLock> fmt::Display for $guard<'_, T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

reads!(ReadGuard, unlock_read, MappedReadGuard);
reads!(WriteGuard, unlock_write, MappedWriteGuard, mut);

impl<T: ?Sized, L: RawRwLock> DerefMut for WriteGuard<'_, T, L> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock for writing (I1), and is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}
