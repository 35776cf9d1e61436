//! Each lock as a raw mutex, or a raw lock for readers, of the crate `lock_api`, with which its guards, its locks and
//! those of others work.
//!
//! # Invariants
//! I1: `lock_api` requires what [`RawLock`] and [`RawRwLock`] promise, and promises to unlock what it has locked.
//! I2: with `GuardNoSend` a guard stays with its thread, which unlocks what it has locked itself.

use crate::{
    Bounded, Bravo, Clh, Deadline, Futex, Mcs, Pause, PhaseFair, PreemptionAware, Published,
    RawLock, RawRwLock, Reciprocating, Tas, Ticket, Timed, Ttas, Turn, WordQueue,
};
use lock_api::{GuardNoSend, GuardSend, RawMutex, RawMutexTimed};
use std::time::{Duration, Instant};

macro_rules! raw_mutex {
    ($lock:ty $(, $($parameter:tt)+)?) => {
        // SAFETY: a `RawLock` does what is required (I1).
        unsafe impl $(<$($parameter)+>)? RawMutex for $lock {
            #[allow(clippy::declare_interior_mutable_const, reason = "what lock_api asks for")]
            const INIT: Self = Self::new();
            type GuardMarker = GuardSend;

            #[inline]
            fn lock(&self) {
                RawLock::lock(self);
            }

            #[inline]
            fn try_lock(&self) -> bool {
                RawLock::try_lock(self)
            }

            #[inline]
            unsafe fn unlock(&self) {
                // SAFETY: the caller holds it (I1).
                unsafe { RawLock::unlock(self) };
            }

            #[inline]
            fn is_locked(&self) -> bool {
                RawLock::is_locked(self)
            }
        }
    };
}

macro_rules! raw_mutex_timed {
    ($lock:ty $(, $($parameter:tt)+)?) => {
        // SAFETY: a lock that gave up is not held (I1).
        unsafe impl $(<$($parameter)+>)? RawMutexTimed for $lock {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, timeout: Duration) -> bool {
                self.lock_deadline(Deadline::after(timeout)).is_ok()
            }

            fn try_lock_until(&self, timeout: Instant) -> bool {
                self.lock_deadline(timeout.into()).is_ok()
            }
        }
    };
}

macro_rules! raw_rwlock {
    ($lock:ty = $free:expr $(, $($parameter:tt)+)?) => {
        // SAFETY: a `RawRwLock` does what is required; a guard stays with its thread (I2).
        unsafe impl $(<$($parameter)+>)? lock_api::RawRwLock for $lock {
            #[allow(clippy::declare_interior_mutable_const, reason = "what lock_api asks for")]
            const INIT: Self = $free;
            type GuardMarker = GuardNoSend;

            #[inline]
            fn lock_shared(&self) {
                RawRwLock::read(self);
            }

            #[inline]
            fn try_lock_shared(&self) -> bool {
                RawRwLock::try_read(self)
            }

            #[inline]
            unsafe fn unlock_shared(&self) {
                // SAFETY: this thread holds it for reading (I2).
                unsafe { RawRwLock::unlock_read(self) };
            }

            #[inline]
            fn lock_exclusive(&self) {
                RawRwLock::write(self);
            }

            #[inline]
            fn try_lock_exclusive(&self) -> bool {
                RawRwLock::try_write(self)
            }

            #[inline]
            unsafe fn unlock_exclusive(&self) {
                // SAFETY: the caller holds it for writing (I1).
                unsafe { RawRwLock::unlock_write(self) };
            }

            #[inline]
            fn is_locked(&self) -> bool {
                RawRwLock::is_locked(self)
            }
        }
    };
}

raw_mutex!(Bounded<MOST>, const MOST: u32);
raw_mutex!(Tas);
raw_mutex!(Futex);
raw_mutex!(Ttas<P>, P: Pause);
raw_mutex!(Ticket<P>, P: Pause);
raw_mutex!(Clh<P>, P: Pause);
raw_mutex!(Mcs<W>, W: Turn);
raw_mutex!(PreemptionAware);
raw_mutex!(Published);
raw_mutex!(Reciprocating<W>, W: Turn);
raw_mutex!(WordQueue<W>, W: Turn);
raw_rwlock!(PhaseFair<W> = PhaseFair::new(), W: Turn);
raw_rwlock!(Bravo<PhaseFair<W>> = Bravo::over(PhaseFair::new()), W: Turn);
raw_mutex_timed!(Tas);
raw_mutex_timed!(Futex);
raw_mutex_timed!(Ttas<P>, P: Pause);
raw_mutex_timed!(PreemptionAware);
raw_mutex_timed!(Published);
