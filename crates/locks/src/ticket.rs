//! A ticket each, and a display of the one that is served: in order of arrival.
//!
//! # Weak spot
//! If the thread that is next has lost its CPU, all wait for it, and the lock stands idle. With more threads than CPUs
//! that is the rule: a hand-off then takes a time slice. All waiters read the display, so each hand-off moves its cache
//! line to all of them. A waiter cannot give up.
//!
//! # State
//! `next`: the ticket for the next thread that comes. `served`: the ticket of the holder; equal to `next` if the lock
//! is free.
//!
//! # Invariants
//! I1: a ticket is given out once; they wrap, so there are fewer than 2^32 waiters.
//! I2: only the holder changes `served`, so it need not do so atomically.
//!
//! # Edges
//! ticket: `unlock` -> `lock`, `try_lock`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/mutants/locks.toml.
//! # Sources
//! Mellor-Crummey and Scott 1991; Reed and Kanodia 1979.

use crate::{Hint, Pause, RawLock};
use std::marker::PhantomData;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Named};

/// Tickets, with a pause `P` between looks at the display. Eight bytes.
#[derive(Debug)]
pub struct Ticket<P = Hint> {
    next: AtomicU32,
    served: AtomicU32,
    pause: PhantomData<P>,
}

impl<P> Ticket<P> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Ticket<P> {
        Ticket { next: AtomicU32::new(0), served: AtomicU32::new(0), pause: PhantomData }
    }
}

impl<P> Default for Ticket<P> {
    fn default() -> Ticket<P> {
        let (next, served) = (AtomicU32::new(0).named("next"), AtomicU32::new(0).named("served"));
        Ticket { next, served, pause: PhantomData }
    }
}

impl<P: Pause> Ticket<P> {
    /// Whether some thread waits; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        self.next.load(Relaxed).wrapping_sub(self.served.load(Relaxed)) > 1
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, ticket: u32) {
        let mut pause = P::default();
        // EDGE ticket (acquire): what the last holder did.
        while self.served.load(Acquire) != ticket {
            pause.pause();
        }
    }
}

// SAFETY: the holder is the thread with the ticket that is served (I1), which `unlock` alone changes (edge ticket).
unsafe impl<P: Pause> RawLock for Ticket<P> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        let ticket = self.next.fetch_add(1, Relaxed);
        // EDGE ticket (acquire): what the last holder did.
        if self.served.load(Acquire) != ticket {
            self.wait(ticket);
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        // EDGE ticket (acquire): what the last holder did.
        let served = self.served.load(Acquire);
        self.next.compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        let served = self.served.load(Relaxed); // I2
        // EDGE ticket (release): what this holder did.
        self.served.store(served.wrapping_add(1), Release);
    }

    fn is_locked(&self) -> bool {
        self.served.load(Relaxed) != self.next.load(Relaxed)
    }
}
