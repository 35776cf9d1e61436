//! A mutex that parks: three states of one word.
//!
//! # Weak spot
//! Unfair: a thread that comes while another is being woken takes the lock, and the woken one sleeps again; under
//! steady contention a thread may wait for long.
//!
//! # State
//! `word`: FREE; HELD; or WAITED: held, and some thread may sleep.
//!
//! # Invariants
//! I1: a thread sleeps only while the word is WAITED; so the holder that replaces WAITED by FREE wakes one.
//! I2: a thread that has slept, or was about to, takes the lock as WAITED: it does not know whether others sleep.
//! I3: the thread that replaces FREE holds the lock until FREE is stored.
//!
//! # Edges
//! futex: `unlock` -> `lock`, `try_lock`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/model_order.rs, tests/mutants/locks.toml.
//! # Sources
//! Drepper, "Futexes are tricky" (mutex 2); futex(2).

use crate::pause::{has_passed, look};
use crate::{Deadline, RawLock, Timed, TimedOut};
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Named, Scope, futex_wait, futex_wake};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED: u32 = 2;

/// A mutex that spins for about a microsecond, then sleeps. Four bytes. The default.
#[derive(Debug)]
pub struct Futex(AtomicU32);

impl Futex {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Futex {
        Futex(AtomicU32::new(FREE))
    }

    /// Whether some thread may sleep; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        self.0.load(Relaxed) == WAITED
    }

    /// Looks for a while, until the lock is free or another thread sleeps.
    fn spin(&self) -> u32 {
        look(|| self.0.load(Relaxed), |word| word != HELD)
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, deadline: Deadline) -> Result<(), TimedOut> {
        if self.spin() == FREE && self.try_lock() {
            return Ok(());
        }
        // EDGE futex (acquire): what the last holder did. I2
        while self.0.swap(WAITED, Acquire) != FREE {
            if has_passed(deadline) {
                return Err(TimedOut);
            }
            let until = (deadline != Deadline::NEVER).then_some(deadline.as_ns());
            futex_wait(&self.0, WAITED, until, Scope::Private);
            self.spin();
        }
        Ok(())
    }
}

impl Default for Futex {
    fn default() -> Futex {
        Futex(AtomicU32::new(FREE).named("futex"))
    }
}

// SAFETY: one thread at a time replaces FREE (I3), and sees what the last holder did (edge futex).
unsafe impl RawLock for Futex {
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
        // EDGE futex (acquire): what the last holder did.
        self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE futex (release): what this holder did.
        if self.0.swap(FREE, Release) == WAITED {
            // I1
            futex_wake(&self.0, 1, Scope::Private);
        }
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != FREE
    }
}

impl Timed for Futex {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut> {
        if self.try_lock() { Ok(()) } else { self.wait(deadline) }
    }
}
