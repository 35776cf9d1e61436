//! Test, then test and set: waiters only read while the lock is held.
//!
//! # Weak spot
//! Unfair: the thread whose CPU has the cache line wins, so one may starve. If the holder loses its CPU, waiters with
//! [`Hint`] or [`Backoff`](crate::Backoff) spin until it runs again; on its CPU, until their time slice ends.
//!
//! # Invariants
//! I1: the thread that swaps `false` out holds the lock until `false` is stored.
//!
//! # Edges
//! ttas: `unlock` -> `try_lock`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/mutants/locks.toml.
//! # Sources
//! Rudolph and Segall 1984; with backoff: Anderson 1990.

use crate::{Deadline, Hint, Pause, RawLock, Timed, TimedOut};
use std::marker::PhantomData;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, Named};

/// Test, then test and set, with a pause `P` between looks. One byte.
///
/// [`Ttas::<HintThenYield>::new()`](Ttas::new), or `<Ttas>::new()` for the default, which spins.
#[derive(Debug)]
pub struct Ttas<P = Hint> {
    is_held: AtomicBool,
    pause: PhantomData<P>,
}

impl<P> Ttas<P> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Ttas<P> {
        Ttas { is_held: AtomicBool::new(false), pause: PhantomData }
    }
}

impl<P> Default for Ttas<P> {
    fn default() -> Ttas<P> {
        Ttas { is_held: AtomicBool::new(false).named("held"), pause: PhantomData }
    }
}

impl<P: Pause> Ttas<P> {
    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, deadline: Deadline) -> Result<(), TimedOut> {
        let mut pause = P::default();
        while !self.try_lock() {
            if deadline.has_passed() {
                return Err(TimedOut);
            }
            pause.pause();
        }
        Ok(())
    }
}

// SAFETY: one thread at a time swaps `false` out (I1), and sees what the last holder did (edge ttas).
unsafe impl<P: Pause> RawLock for Ttas<P> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.try_lock() {
            let _ = self.wait(Deadline::NEVER); // It never passes.
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        // EDGE ttas (acquire): what the last holder did.
        !self.is_held.load(Relaxed) && !self.is_held.swap(true, Acquire)
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE ttas (release): what this holder did.
        self.is_held.store(false, Release);
    }

    fn is_locked(&self) -> bool {
        self.is_held.load(Relaxed)
    }
}

impl<P: Pause> Timed for Ttas<P> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut> {
        if self.try_lock() { Ok(()) } else { self.wait(deadline) }
    }
}
