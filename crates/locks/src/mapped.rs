//! Guards of a part of a value.
//!
//! # Invariants
//! I1: such a guard was made of one that held the lock, and was forgotten: so it holds the lock as that did, and gives
//!     it back when it is dropped.
//! I2: its pointer came from a reference to a part of the value, made by a closure that takes a reference of any
//!     lifetime: so the part is there, and this guard's as the value was the other's, until the lock is given back.
//! I3: a guard for reading stays with its thread: no type that holds one can be sent.

use crate::{Futex, PhaseFair, RawLock, RawRwLock};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

macro_rules! mapped {
    ($(#[$about:meta])* $guard:ident, $raw:ident = $default:ident, $unlock:ident, $kind:ty) => {
        $(#[$about])*
        #[must_use = "the lock is given back at once: keep the guard in a variable, `let guard = ..` (not `let _ = ..`)"]
        pub struct $guard<'l, T: ?Sized, L: $raw = $default> {
            raw: &'l L,
            part: NonNull<T>,
            _kind: PhantomData<$kind>,
        }

        // SAFETY: a shared guard gives shared access to the part, as a reference would (I2).
        unsafe impl<T: ?Sized + Sync, L: $raw> Sync for $guard<'_, T, L> {}

        impl<'l, T: ?Sized, L: $raw> $guard<'l, T, L> {
            /// # Safety
            /// What I1 and I2 say of the lock and the part.
            pub(crate) unsafe fn new(raw: &'l L, part: NonNull<T>) -> Self {
                $guard { raw, part, _kind: PhantomData }
            }
        }

        impl<T: ?Sized, L: $raw> Deref for $guard<'_, T, L> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: this guard holds the lock, and the part is there (I1, I2).
                unsafe { self.part.as_ref() }
            }
        }

        impl<T: ?Sized, L: $raw> Drop for $guard<'_, T, L> {
            #[inline]
            #[cfg_attr(unc_model, track_caller)]
            fn drop(&mut self) {
                // SAFETY: this guard holds the lock, in the thread that took it for reading (I1, I3).
                unsafe { self.raw.$unlock() };
            }
        }

        impl<T: ?Sized + fmt::Debug, L: $raw> fmt::Debug for $guard<'_, T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display, L: $raw> fmt::Display for $guard<'_, T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

macro_rules! mapped_mut {
    ($guard:ident, $raw:ident) => {
        // SAFETY: no other thread reaches the part, which may be sent; any thread may give the lock back (I1, I2).
        unsafe impl<T: ?Sized + Send, L: $raw> Send for $guard<'_, T, L> {}

        impl<T: ?Sized, L: $raw> DerefMut for $guard<'_, T, L> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: this guard holds the lock alone, and the part is there (I1, I2).
                unsafe { self.part.as_mut() }
            }
        }
    };
}

mapped!(
    /// Access to a part of a mutex's value until it is dropped: made by [`Guard::map`](crate::Guard::map). A condition
    /// variable does not take it: others could change the whole meanwhile, and with it the part.
    MappedGuard, RawLock = Futex, unlock, &'l mut T
);
mapped!(
    /// Shared access to a part of the value until it is dropped, in the thread that took the lock: made by
    /// [`ReadGuard::map`](crate::ReadGuard::map).
    MappedReadGuard, RawRwLock = PhaseFair, unlock_read, (&'l T, *const ())
);
mapped!(
    /// Access to a part of the value for this guard alone, until it is dropped: made by
    /// [`WriteGuard::map`](crate::WriteGuard::map).
    MappedWriteGuard, RawRwLock = PhaseFair, unlock_write, &'l mut T
);
mapped_mut!(MappedGuard, RawLock);
mapped_mut!(MappedWriteGuard, RawRwLock);

/// [`MappedGuard`] by the name that std and parking_lot give it.
pub type MappedMutexGuard<'l, T, L = Futex> = MappedGuard<'l, T, L>;

/// [`MappedReadGuard`] by the name that std and parking_lot give it.
pub type MappedRwLockReadGuard<'l, T, L = PhaseFair> = MappedReadGuard<'l, T, L>;

/// [`MappedWriteGuard`] by the name that std and parking_lot give it.
pub type MappedRwLockWriteGuard<'l, T, L = PhaseFair> = MappedWriteGuard<'l, T, L>;
