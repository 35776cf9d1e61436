//! Atomics: std's, with [`step`] before each operation, which does nothing unless faults are injected.
//!
//! They are types of their own rather than aliases of std's, so that a lint can find code that bypasses this crate.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // This crate wraps them.

use crate::pause::step;
use core::fmt;
use core::sync::atomic::{self as raw, Ordering};

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$param:ident>)?, $value:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name $(<$param>)? (raw::$name $(<$param>)?);

        impl $(<$param>)? $name $(<$param>)? {
            /// See `std`.
            #[inline(always)]
            pub const fn new(value: $value) -> Self {
                Self(raw::$name::new(value))
            }

            /// See `std`.
            ///
            /// # Safety
            /// As there.
            #[inline(always)]
            pub const unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
                // SAFETY: I2: a transparent wrapper of std's atomic of the same value; the rest is std's own contract.
                unsafe { &*pointer.cast::<Self>() }
            }

            /// See `std`.
            #[inline(always)]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// See `std`.
            #[inline(always)]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// See `std`.
            #[inline(always)]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// See `std`.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $value {
                step();
                self.0.load(order)
            }

            /// See `std`.
            #[inline(always)]
            pub fn store(&self, value: $value, order: Ordering) {
                step();
                self.0.store(value, order);
            }

            /// See `std`.
            #[inline(always)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.swap(value, order)
            }

            /// See `std`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                step();
                self.0.compare_exchange(current, new, success, failure)
            }

            /// See `std`.
            ///
            /// # Errors
            /// The value found, if it is not `current` or the exchange failed spuriously.
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                step();
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// See `std`.
            ///
            /// # Errors
            /// The value found, if `update` returns `None` for it.
            #[inline(always)]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut found = self.load(fetch);
                while let Some(new) = update(found) {
                    match self.compare_exchange_weak(found, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(now) => found = now,
                    }
                }
                Err(found)
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $(<$param>)? Default for $name $(<$param>)? {
            fn default() -> Self {
                Self(raw::$name::default())
            }
        }

        impl $(<$param>)? From<$value> for $name $(<$param>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! fetch {
    ($name:ident, $value:ty, $($method:ident)*) => {
        impl $name {
            $(
                /// See `std`.
                #[inline(always)]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.$method(value, order)
                }
            )*
        }
    };
}

macro_rules! integers {
    ($($name:ident $value:ty,)*) => { $(
        atomic! {
            #[doc = concat!("`std::sync::atomic::", stringify!($name), "`.")]
            $name, $value
        }
        fetch!($name, $value, fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min);
    )* };
}

integers! {
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
}

atomic! {
    /// `std::sync::atomic::AtomicBool`.
    AtomicBool, bool
}
fetch!(AtomicBool, bool, fetch_and fetch_nand fetch_or fetch_xor);

atomic! {
    /// `std::sync::atomic::AtomicPtr`.
    AtomicPtr<T>, *mut T
}

#[cfg(all(feature = "std", target_os = "linux", not(unc_portable)))]
impl AtomicU32 {
    /// The type that floor 0 takes.
    pub(crate) fn raw(&self) -> &raw::AtomicU32 {
        &self.0
    }
}

/// See `std`.
#[inline(always)]
pub fn fence(order: Ordering) {
    step();
    raw::fence(order);
}

/// See `std`.
#[inline(always)]
pub fn compiler_fence(order: Ordering) {
    step();
    raw::compiler_fence(order);
}
