//! A queue of waiters, each of which looks at a word of the one before it: in order of arrival, handed over by one
//! store.
//!
//! # Weak spot
//! If the thread that is next has lost its CPU, all wait for it, and the lock stands idle. A waiter allocates its node,
//! and its successor frees it. A waiter cannot give up.
//!
//! # State
//! `tail`: FREE; HELD, without waiters; or the last waiter's node. `first`: whether the lock was passed to the one that
//! found HELD. `own`: the holder's node, if another thread waits at it.
//!
//! # Invariants
//! I1: a node that a waiter found in `tail` is its own from the moment when the lock is passed to it: it frees it.
//! I2: a node is freed by its own thread only if it replaced it in `tail` by HELD: no other has found it.
//! I3: `own` is null while the lock is free or HELD. Only the holder touches it.
//! I4: only the holder changes HELD to FREE; `first` is false when HELD is stored.
//!
//! # Edges
//! clh-free: `unlock` stores FREE -> `try_lock` and `wait` replace it. What the holder did.
//! clh-node: `wait` stores its node, or HELD -> the next `wait` finds it. The node, or the cleared `first`.
//! clh-passed: `unlock` -> `wait`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, tests/mutants/queues.toml.
//! # Sources
//! Craig 1993; Magnusson, Landin and Hagersten 1994; as in Scott's "Shared-Memory Synchronization", 2013. A holder
//! without waiters keeps no node, so that the lock is `const` and can be tried.

use crate::tail::{free, held};
use crate::{Hint, Pause, RawLock};
use std::marker::PhantomData;
use std::ptr;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicBool, AtomicPtr, Box, Named};

/// A queue of waiters, with a pause `P` between looks at the one before. Three words.
#[derive(Debug)]
pub struct Clh<P = Hint> {
    tail: AtomicPtr<Node>,
    own: AtomicPtr<Node>,
    first: AtomicBool,
    pause: PhantomData<P>,
}

/// Whether the lock was passed on by the thread that came with it.
type Node = AtomicBool;

const FREE: *mut Node = free();
const HELD: *mut Node = held();

impl<P> Clh<P> {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Clh<P> {
        let (tail, own) = (AtomicPtr::new(FREE), AtomicPtr::new(ptr::null_mut()));
        Clh { tail, own, first: AtomicBool::new(false), pause: PhantomData }
    }
}

impl<P> Default for Clh<P> {
    fn default() -> Clh<P> {
        Clh {
            tail: AtomicPtr::new(FREE).named("tail"),
            own: AtomicPtr::new(ptr::null_mut()).named("own"),
            first: AtomicBool::new(false).named("first"),
            pause: PhantomData,
        }
    }
}

impl<P: Pause> Clh<P> {
    /// Whether some thread waits; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        let tail = self.tail.load(Relaxed);
        tail != FREE && tail != HELD
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self) {
        let node = Box::into_raw(Box::new(AtomicBool::new(false).named("passed")));
        // EDGE clh-free (acquire): what the last holder did.
        // EDGE clh-node (acquire): the node before, or `first`.
        // EDGE clh-node (release): the node, for the one that finds it here.
        let before = self.tail.swap(node, AcqRel);
        if before == HELD {
            await_passed::<P>(&self.first);
            self.first.store(false, Relaxed); // I4
        } else if before != FREE {
            // SAFETY: the node before is there until this thread frees it (I1).
            await_passed::<P>(unsafe { &*before });
            // SAFETY: it was made by `Box`, and is this thread's now (I1).
            drop(unsafe { Box::from_raw(before) });
        }
        // EDGE clh-node (release): `first` was cleared (I4).
        if self.tail.compare_exchange(node, HELD, Release, Relaxed).is_ok() {
            // SAFETY: it was made by `Box` above, and no other thread has found it (I2).
            drop(unsafe { Box::from_raw(node) });
        } else {
            self.own.store(node, Relaxed); // I3
        }
    }
}

#[cfg_attr(unc_model, track_caller)]
fn await_passed<P: Pause>(is_passed: &AtomicBool) {
    let mut pause = P::default();
    // EDGE clh-passed (acquire): what the last holder did.
    while !is_passed.load(Acquire) {
        pause.pause();
    }
}

// SAFETY: the lock passes from FREE (clh-free), or from its holder, which alone may (I4), to the one waiter that found
// the holder's node, or HELD, in `tail` (clh-passed).
unsafe impl<P: Pause> RawLock for Clh<P> {
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
        // EDGE clh-free (acquire): what the last holder did.
        self.tail.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        let own = self.own.load(Relaxed); // I3
        if !own.is_null() {
            self.own.store(ptr::null_mut(), Relaxed); // I3
            // SAFETY: its successor frees it after this store (I1).
            let is_passed = unsafe { &*own };
            // EDGE clh-passed (release): what this holder did.
            is_passed.store(true, Release);
            return;
        }
        // EDGE clh-free (release): what this holder did. I4
        if self.tail.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            // EDGE clh-passed (release): what this holder did.
            self.first.store(true, Release);
        }
    }

    fn is_locked(&self) -> bool {
        self.tail.load(Relaxed) != FREE
    }
}
