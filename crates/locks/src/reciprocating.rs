//! A stack of waiters, which the holder takes over whole: the last to come is served first, but no thread twice before
//! another.
//!
//! # Weak spot
//! As [`Mcs`](crate::Mcs)'s: the thread that is next may have lost its CPU, and a waiter cannot give up. The wait
//! depends on when a thread came: the first of a stack is served last.
//!
//! # State
//! `arrivals`: FREE; HELD, without arrivals; or the node of the last waiter to come. `segment`: the node that is served
//! next, of the stack that was taken over; null if all of it were. A node is on its waiter's stack; each waiter knows
//! the node below its own.
//!
//! # Invariants
//! I1: a node is there until its waiter is granted its turn. One thread grants it: the holder that takes over the stack
//!     of which it is the top, or the waiter above it, once that holds the lock.
//! I2: `segment` is null while the lock is free; only the holder touches it.
//! I3: only the holder changes HELD to FREE, or nodes to HELD.
//! I4: a thread that comes is not served before the segment is, so each other thread overtakes a waiter at most once:
//!     by coming after it to the same stack.
//!
//! # Edges
//! reciprocating-free: `unlock` stores FREE -> `try_lock` and `wait` replace it. What the holder did.
//! reciprocating-node: `wait` pushes its node -> `unlock` takes over the stack. The nodes.
//! turn: see `turn`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/model_order.rs, tests/mutants/queues.toml.
//! # Sources
//! Dice and Kogan, "Reciprocating Locks", arXiv 2501.02380: the order of service. There a thread comes by one swap,
//! and marks the stack's end by its own node; here by compare and swap, so that a guard may go to another thread.

use crate::tail::{free, held};
use crate::{RawLock, Spin, Turn};
use std::ptr;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, Named};

/// A stack of waiters that wait by `W`. Two words.
///
/// `Reciprocating` alone, without its parameter, spins: with more threads than CPUs, all wait for one that has no CPU.
/// There, `Reciprocating<SpinThenPark>`.
#[derive(Debug)]
pub struct Reciprocating<W = Spin> {
    arrivals: AtomicPtr<W>,
    segment: AtomicPtr<W>,
}

impl<W> Reciprocating<W> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Reciprocating<W> {
        Reciprocating { arrivals: AtomicPtr::new(free()), segment: AtomicPtr::new(free()) }
    }
}

impl<W> Default for Reciprocating<W> {
    fn default() -> Reciprocating<W> {
        Reciprocating {
            arrivals: AtomicPtr::new(free()).named("arrivals"),
            segment: AtomicPtr::new(ptr::null_mut()).named("segment"),
        }
    }
}

impl<W: Turn> Reciprocating<W> {
    /// Whether some thread came since the holder took over the others; others may change that at once.
    pub fn has_arrivals(&self) -> bool {
        let arrivals = self.arrivals.load(Relaxed);
        arrivals != free() && arrivals != held()
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        let node = W::default();
        let Some(below) = self.push((&raw const node).cast_mut()) else { return };
        node.wait();
        let next = if below == held() { ptr::null_mut() } else { below };
        self.segment.store(next, Relaxed); // I2
    }

    /// Pushes a node, and returns what is below it; none if the lock was free, and is this thread's.
    #[cfg_attr(unc_model, track_caller)]
    fn push(&self, own: *mut W) -> Option<*mut W> {
        let mut found = self.arrivals.load(Relaxed);
        loop {
            let pushed = if found == free() {
                // EDGE reciprocating-free (acquire): what the last holder did.
                self.arrivals.compare_exchange(free(), held(), Acquire, Relaxed).map(|_| None)
            } else {
                // EDGE reciprocating-node (release): the node.
                self.arrivals.compare_exchange(found, own, Release, Relaxed).map(Some)
            };
            match pushed {
                Ok(below) => return below,
                Err(now) => found = now,
            }
        }
    }
}

// SAFETY: the lock passes from FREE, or from its holder, which alone may (I3), to the one waiter whose turn it grants
// (I1).
unsafe impl<W: Turn> RawLock for Reciprocating<W> {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        // EDGE reciprocating-free (acquire): what the last holder did.
        self.arrivals.compare_exchange(free(), held(), Acquire, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        let mut next = self.segment.load(Relaxed); // I4
        if next.is_null() {
            // EDGE reciprocating-free (release): what this holder did. I3
            if self.arrivals.compare_exchange(held(), free(), Release, Relaxed).is_ok() {
                return;
            }
            // EDGE reciprocating-node (acquire): the nodes. I3
            next = self.arrivals.swap(held(), Acquire);
        }
        // SAFETY: the node's waiter waits for this, its only grant (I1).
        unsafe { W::grant(next) };
    }

    fn is_locked(&self) -> bool {
        self.arrivals.load(Relaxed) != free()
    }
}
