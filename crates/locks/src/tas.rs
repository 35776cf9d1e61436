//! Test and set, the simplest lock: every look is a write.
//!
//! # Weak spot
//! Each waiter takes the lock's cache line for itself with every look, from the holder too, and slows all that shares
//! the memory system with it. It never lets another thread run. It is here to be measured; do not use it.
//!
//! # Invariants
//! I1: the thread that swaps `false` out holds the lock until `false` is stored.
//!
//! # Edges
//! tas: `unlock` -> `lock`, `try_lock`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/mutants/locks.toml.

use crate::{Deadline, RawLock, Timed, TimedOut};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, Named};

/// Test and set, without a pause: a look is an atomic swap. One byte.
#[derive(Debug)]
pub struct Tas(AtomicBool);

impl Tas {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Tas {
        Tas(AtomicBool::new(false))
    }
}

impl Default for Tas {
    fn default() -> Tas {
        Tas(AtomicBool::new(false).named("held"))
    }
}

// SAFETY: one thread at a time swaps `false` out (I1), and sees what the last holder did (edge tas).
unsafe impl RawLock for Tas {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        while !self.try_lock() {
            between_looks();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        // EDGE tas (acquire): what the last holder did.
        !self.0.swap(true, Acquire)
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE tas (release): what this holder did.
        self.0.store(false, Release);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Timed for Tas {
    #[cfg_attr(unc_model, track_caller)]
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut> {
        while !self.try_lock() {
            if deadline.has_passed() {
                return Err(TimedOut);
            }
            between_looks();
        }
        Ok(())
    }
}

/// Nothing: that is the point of this lock. The checker has to know a loop that waits.
#[inline(always)]
#[cfg_attr(unc_model, track_caller)]
fn between_looks() {
    #[cfg(unc_model)]
    uncontended_atomic::spin_loop();
}
