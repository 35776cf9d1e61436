//! Counts of 32 and of 64 bits behind one trait: a word whose bit 0 is a flag and whose upper bits count. Where no
//! thread adds to the word, bit 1 is a second flag (I7 of `flagged`).

use std::fmt::Debug;
use uncontended_atomic::{AtomicU32, AtomicU64, FutexWord, Named, Ordering};

/// The type of an event count's value: `u32`, with a count of 31 bits, or `u64`, with one of 63.
pub trait Width: Copy + Eq + Ord + Debug + Send + Sync + Sealed + 'static {}

impl Width for u32 {}
impl Width for u64 {}

/// The operations the crate needs.
pub trait Sealed: Sized {
    const ZERO: Self;
    const ONE: Self;
    type Atomic: FutexWord + Debug + Send + Sync;
    /// A new atomic of zero.
    #[cfg(not(unc_model))]
    const ZEROED: Self::Atomic;

    fn atomic(value: Self) -> Self::Atomic;
    fn load(atomic: &Self::Atomic, order: Ordering) -> Self;
    fn store(atomic: &Self::Atomic, value: Self, order: Ordering);
    fn fetch_add(atomic: &Self::Atomic, value: Self, order: Ordering) -> Self;
    fn compare_exchange(
        atomic: &Self::Atomic,
        current: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self, Self>;

    /// Adds `value`, in one instruction without LOCK, to a word that only this thread adds to. Returns whether the flag
    /// is set afterwards.
    #[cfg(target_arch = "x86_64")]
    fn add_unlocked(atomic: &Self::Atomic, value: Self) -> bool;

    fn is_flagged(&self) -> bool;
    fn flagged(self) -> Self;
    fn unflagged(self) -> Self;
    fn is_ordered(&self) -> bool;
    fn ordered(self) -> Self;
    /// The half that a futex compares.
    fn low(self) -> u32;
    /// A count shifted to the upper bits.
    fn raise(self) -> Self;
    /// The count in the upper bits.
    fn lower(self) -> Self;
    fn plus(self, value: Self) -> Self;
}

macro_rules! width {
    ($value:ident, $atomic:ident, $add:ident) => {
        impl Sealed for $value {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            type Atomic = $atomic;
            #[cfg(not(unc_model))]
            const ZEROED: $atomic = $atomic::new(0);

            #[inline(always)]
            #[track_caller]
            fn atomic(value: Self) -> $atomic {
                $atomic::new(value).named("word")
            }

            #[inline(always)]
            #[track_caller]
            fn load(atomic: &$atomic, order: Ordering) -> Self {
                atomic.load(order)
            }

            #[inline(always)]
            #[track_caller]
            fn store(atomic: &$atomic, value: Self, order: Ordering) {
                atomic.store(value, order);
            }

            #[inline(always)]
            #[track_caller]
            fn fetch_add(atomic: &$atomic, value: Self, order: Ordering) -> Self {
                atomic.fetch_add(value, order)
            }

            #[inline(always)]
            #[track_caller]
            fn compare_exchange(
                atomic: &$atomic,
                current: Self,
                new: Self,
                success: Ordering,
                failure: Ordering,
            ) -> Result<Self, Self> {
                atomic.compare_exchange(current, new, success, failure)
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            #[track_caller]
            fn add_unlocked(atomic: &$atomic, value: Self) -> bool {
                crate::event_count::unlocked::$add(atomic, value)
            }

            #[inline(always)]
            fn is_flagged(&self) -> bool {
                *self & 1 != 0
            }

            #[inline(always)]
            fn flagged(self) -> Self {
                self | 1
            }

            #[inline(always)]
            fn unflagged(self) -> Self {
                self & !1
            }

            #[inline(always)]
            fn is_ordered(&self) -> bool {
                *self & 2 != 0
            }

            #[inline(always)]
            fn ordered(self) -> Self {
                self | 2
            }

            #[inline(always)]
            fn low(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn raise(self) -> Self {
                self << 1
            }

            #[inline(always)]
            fn lower(self) -> Self {
                self >> 1
            }

            #[inline(always)]
            fn plus(self, value: Self) -> Self {
                self.wrapping_add(value)
            }
        }
    };
}

width!(u32, AtomicU32, add_u32);
width!(u64, AtomicU64, add_u64);
