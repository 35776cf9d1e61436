//! A queue of waiters, each of which waits on a word of its own: in order of arrival.
//!
//! # Weak spot
//! If the thread that is next has lost its CPU, all wait for it, and the lock stands idle; a waiter that parked first
//! has to be woken, while a thread that just came could go on. A waiter cannot give up.
//!
//! # State
//! `tail`: FREE; HELD, without waiters; or the last waiter's node. `next`: the node of the holder's successor, if it is
//! known. A waiter's node is on its stack, and leaves the queue when the waiter gets the lock: then its successor
//! becomes the lock's `next`. So a holder needs no node.
//!
//! # Invariants
//! I1: a waiter that swaps itself into `tail` stores its node in the `next` of what it found there: of a node, or, for
//!     HELD, of the lock. It does so once, and never touches it again.
//! I2: a node stays on its stack until its waiter holds the lock, and, if another one is behind it, until that one has
//!     stored itself (I1).
//! I3: the lock's `next` is null while it is free, and when a waiter gets it: the last holder cleared it before it
//!     granted the turn.
//! I4: only the holder changes HELD to FREE, a node to HELD, or clears `next`.
//!
//! # Edges
//! mcs-free: `unlock` stores FREE -> `wait` and `try_lock` replace it. What the holder did.
//! mcs-empty: `leave` stores HELD -> the next `wait` replaces it. The cleared `next`: it must not come after the node
//!     that is stored there. (Of a HELD that replaced FREE, edge mcs-free carries it.)
//! mcs-link: `wait` stores its node -> its predecessor, or `unlock`, loads it. The node.
//! turn: see `turn`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/model_order.rs, tests/mutants/locks.toml.
//! # Sources
//! Mellor-Crummey and Scott 1991; the node that leaves: K42's form (Auslander, Edelsohn, Krieger, Rosenburg and
//! Wisniewski, US patent application 2003/0200457, abandoned), as in Scott's "Shared-Memory Synchronization", 2013.

use crate::pause::AboutToStore;
use crate::tail::{free, held};
use crate::{RawLock, Spin, Turn};
use std::ptr;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, Named};

/// A queue of waiters that wait by `W`. Two words.
///
/// `Mcs` alone, without its parameter, spins: with more threads than CPUs, all wait for one that has no CPU. There,
/// `Mcs<SpinThenPark>`, made by [`Mcs::<SpinThenPark>::new()`](Mcs::new); `<Mcs>::new()` is the default.
#[derive(Debug)]
pub struct Mcs<W = Spin> {
    tail: AtomicPtr<Node<W>>,
    next: AtomicPtr<Node<W>>,
}

#[derive(Debug)]
struct Node<W> {
    next: AtomicPtr<Node<W>>,
    turn: W,
}

impl<W> Mcs<W> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Mcs<W> {
        Mcs { tail: AtomicPtr::new(free()), next: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<W> Default for Mcs<W> {
    fn default() -> Mcs<W> {
        Mcs {
            tail: AtomicPtr::new(free()).named("tail"),
            next: AtomicPtr::new(ptr::null_mut()).named("next"),
        }
    }
}

impl<W: Turn> Mcs<W> {
    /// Whether some thread waits; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        let tail = self.tail.load(Relaxed);
        tail != free() && tail != held()
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        let node =
            Node { next: AtomicPtr::new(ptr::null_mut()).named("behind"), turn: W::default() };
        let own = (&raw const node).cast_mut();
        // EDGE mcs-free (acquire): what the last holder did.
        // EDGE mcs-empty (acquire): `next` is clear.
        // EDGE mcs-link (release): the node, for the one that finds it here.
        let before = self.tail.swap(own, AcqRel);
        if before != free() {
            let link = if before == held() {
                &self.next
            } else {
                // SAFETY: the node before is there until this thread has stored itself in it (I2).
                unsafe { &(*before).next }
            };
            // EDGE mcs-link (release): the node. I1
            link.store(own, Release);
            node.turn.wait();
        }
        self.leave(&node, own);
    }

    /// Takes the holder's node out of the queue (I2).
    #[cfg_attr(unc_model, track_caller)]
    fn leave(&self, node: &Node<W>, own: *mut Node<W>) {
        debug_assert!(self.next.load(Relaxed).is_null(), "I3");
        // EDGE mcs-link (acquire): the node behind.
        let mut behind = node.next.load(Acquire);
        if behind.is_null() {
            // EDGE mcs-empty (release): the lock's `next` was cleared (I3). The next waiter stores itself there.
            if self.tail.compare_exchange(own, held(), Release, Relaxed).is_ok() {
                return;
            }
            behind = followed(&node.next);
        }
        self.next.store(behind, Relaxed);
    }
}

/// The node that is about to be stored: another thread has swapped itself in, and stores it next.
#[cold]
#[cfg_attr(unc_model, track_caller)]
fn followed<W>(link: &AtomicPtr<Node<W>>) -> *mut Node<W> {
    let mut pause = AboutToStore::default();
    loop {
        // EDGE mcs-link (acquire): the node.
        let found = link.load(Acquire);
        if !found.is_null() {
            return found;
        }
        pause.pause();
    }
}

// SAFETY: the lock passes from FREE (mcs-free), or from its holder, who alone may (I4), to the one waiter whose turn it
// grants (turn).
unsafe impl<W: Turn> RawLock for Mcs<W> {
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
        // EDGE mcs-free (acquire): what the last holder did.
        self.tail.compare_exchange(free(), held(), Acquire, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE mcs-link (acquire): the successor's node.
        let mut next = self.next.load(Acquire);
        if next.is_null() {
            // EDGE mcs-free (release): what this holder did. I4
            if self.tail.compare_exchange(held(), free(), Release, Relaxed).is_ok() {
                return;
            }
            next = followed(&self.next);
        }
        self.next.store(ptr::null_mut(), Relaxed); // I3
        // SAFETY: the successor's node is on its stack until it holds the lock (I2).
        let turn = unsafe { &raw const (*next).turn };
        // SAFETY: the successor waits, and this is its only grant: it is no longer `next` (I4).
        unsafe { W::grant(turn) };
    }

    fn is_locked(&self) -> bool {
        self.tail.load(Relaxed) != free()
    }
}
