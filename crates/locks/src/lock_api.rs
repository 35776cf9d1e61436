//! Each lock as a raw mutex of the crate `lock_api`, with which its guards, its mutexes and those of others work.
//!
//! # Invariants
//! I1: `lock_api` requires of a raw mutex what [`RawLock`] promises, and promises to unlock what it has locked.

use crate::{
    Bounded, Clh, Deadline, Futex, Mcs, Pause, PreemptionAware, Published, RawLock, Reciprocating,
    Tas, Ticket, Timed, Ttas, Turn, WordQueue,
};
use lock_api::{GuardSend, RawMutex, RawMutexTimed};
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
raw_mutex_timed!(Tas);
raw_mutex_timed!(Futex);
raw_mutex_timed!(Ttas<P>, P: Pause);
raw_mutex_timed!(PreemptionAware);
raw_mutex_timed!(Published);
