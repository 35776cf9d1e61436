//! A queue of waiters that publish the time while they wait: in order of arrival, but a waiter whose time is old has
//! lost its CPU, and is passed over.
//!
//! # Weak spot
//! A waiter that is passed over comes again at the end of the queue, so one that often loses its CPU may wait for long.
//! A waiter allocates its node, and reads the clock once a microsecond. The node of one that gives up stays until the
//! lock is given back; so once there are 64 such nodes, a waiter with a deadline does not queue, but tries the lock and
//! yields in turn. One that loses its CPU just after it published holds up the others for as long as it takes.
//!
//! # State
//! `tail`: FREE; HELD, without waiters; or the last waiter's node. `next`: the node of the holder's successor, if it is
//! known. A node: WAITING, until it is GRANTED the lock or PASSED over, or its waiter has LEFT. `left`: how many have
//! LEFT and are there still.
//!
//! # Invariants
//! I1: as I1 of `mcs`: a waiter stores its node once, in what it found in `tail`.
//! I2: a node leaves WAITING once. If its waiter left, the holder that finds it frees it; else the waiter does so, once
//!     it is GRANTED and out of the queue, or PASSED.
//! I3: a holder that passes over a node has read the one behind it, or replaced it in `tail` by FREE, before: so no
//!     other thread finds it.
//! I4: `next` is null while the lock is free, and when a waiter gets it.
//! I5: only the holder changes HELD or a node to FREE, a node to HELD, or clears `next`.
//! I6: `left` is changed after the node, by its waiter and by the holder, in either order; modulo 2^32 it is right once
//!     both have done so. It only limits how many nodes are left; a thread may leave one more.
//!
//! # Edges
//! published-free: `unlock` stores FREE -> `enqueue` and `try_lock` replace it. What the holder did.
//! published-empty: `leave` stores HELD -> the next `enqueue` replaces it. The cleared `next`.
//! published-link: `enqueue` stores its node -> its predecessor, or `unlock`, loads it. The node.
//! published-turn: `unlock` stores GRANTED or PASSED -> `wait`. What the holder did; that it no longer needs the node.
//! published-left: `wait` stores LEFT -> `unlock`. That the waiter no longer needs the node.
//!
//! # Evidence
//! tests/model.rs, tests/model_order.rs, where any waiter may seem to have lost its CPU; tests/mutants/queues.toml.
//! # Sources
//! He, Scherer and Scott, "Preemption adaptivity in time-published queue-based spin locks", HiPC 2005.

use crate::pause::{AboutToStore, HINT_NS, has_passed};
use crate::tail::{free, held};
use crate::{Deadline, RawLock, Timed, TimedOut};
use std::ptr;
use std::time::Duration;
use uncontended_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicPtr, AtomicU32, AtomicU64, Box, Named, spin_for_ns, yield_now};

/// A queue of waiters that yield after ten microseconds. Two words and a half.
#[derive(Debug)]
pub struct Published {
    tail: AtomicPtr<Node>,
    next: AtomicPtr<Node>,
    left: AtomicU32,
}

#[derive(Debug)]
struct Node {
    next: AtomicPtr<Node>,
    state: AtomicU32,
    /// When its waiter had a CPU last.
    seen_ns: AtomicU64,
}

const FREE: *mut Node = free();
const HELD: *mut Node = held();

const WAITING: u32 = 0;
const GRANTED: u32 = 1;
const PASSED: u32 = 2;
const LEFT: u32 = 3;

/// Nodes that may be left in the queue before waiters with a deadline no longer join it.
const MOST_LEFT: u32 = if cfg!(unc_model) { 1 } else { 64 };
/// Looks between two publications: about a microsecond.
const LOOKS: u32 = 40;
/// A waiter that has not published for so long has lost its CPU, or gave it away.
const STALE_NS: u64 = 10_000;
/// A waiter that has spun for so long yields between its looks.
const SPIN_NS: u64 = 10_000;

fn now_ns() -> u64 {
    Deadline::after(Duration::ZERO).as_ns()
}

/// Whether a waiter that published this has lost its CPU. Under the checker, any may have.
#[cfg_attr(unc_model, track_caller)]
fn is_stale(seen_ns: u64) -> bool {
    let age_ns = now_ns().saturating_sub(seen_ns);
    #[cfg(unc_model)]
    let age_ns = age_ns + uncontended_atomic::choose(2) * (STALE_NS + 1);
    age_ns > STALE_NS
}

impl Published {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> Published {
        Published {
            tail: AtomicPtr::new(FREE),
            next: AtomicPtr::new(ptr::null_mut()),
            left: AtomicU32::new(0),
        }
    }

    /// Whether some thread waits, or has left; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        let tail = self.tail.load(Relaxed);
        tail != FREE && tail != HELD
    }

    /// How many nodes of waiters that gave up are in the queue; others may change that at once.
    pub fn left(&self) -> u32 {
        self.left.load(Relaxed).cast_signed().max(0).cast_unsigned()
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, deadline: Deadline) -> Result<(), TimedOut> {
        loop {
            if deadline != Deadline::NEVER && self.left() >= MOST_LEFT {
                return self.poll(deadline);
            }
            let node = Box::into_raw(Box::new(Node {
                next: AtomicPtr::new(ptr::null_mut()).named("behind"),
                state: AtomicU32::new(WAITING).named("state"),
                seen_ns: AtomicU64::new(now_ns()).named("seen"),
            }));
            let state = if self.enqueue(node) {
                GRANTED
            } else {
                // SAFETY: the node is this thread's until it has left WAITING (I2).
                await_turn(unsafe { &*node }, deadline)
            };
            match state {
                LEFT => {
                    self.left.fetch_add(1, Relaxed); // I6
                    return Err(TimedOut); // The holder frees the node (I2).
                }
                // SAFETY: this thread holds the lock, and the node is in the queue still (I2).
                GRANTED => self.leave(unsafe { &*node }, node),
                _ => {}
            }
            // SAFETY: it was made by `Box` above; it is out of the queue, and this thread's (I2).
            drop(unsafe { Box::from_raw(node) });
            if state == GRANTED {
                return Ok(());
            }
        }
    }

    /// Waits without a node.
    #[cfg_attr(unc_model, track_caller)]
    fn poll(&self, deadline: Deadline) -> Result<(), TimedOut> {
        while !self.try_lock() {
            if has_passed(deadline) {
                return Err(TimedOut);
            }
            yield_now();
        }
        Ok(())
    }

    /// Puts a node at the end of the queue; whether the lock was free, and is this thread's.
    #[cfg_attr(unc_model, track_caller)]
    fn enqueue(&self, node: *mut Node) -> bool {
        // EDGE published-free (acquire): what the last holder did.
        // EDGE published-empty (acquire): `next` is clear.
        // EDGE published-link (release): the node, for the one that finds it here.
        let before = self.tail.swap(node, AcqRel);
        if before == FREE {
            return true;
        }
        let link = if before == HELD {
            &self.next
        } else {
            // SAFETY: the node before is there until this thread has stored itself in it (I2, I3).
            unsafe { &(*before).next }
        };
        // EDGE published-link (release): the node. I1
        link.store(node, Release);
        false
    }

    /// Takes the holder's node out of the queue.
    #[cfg_attr(unc_model, track_caller)]
    fn leave(&self, node: &Node, own: *mut Node) {
        debug_assert!(self.next.load(Relaxed).is_null(), "I4");
        // EDGE published-link (acquire): the node behind.
        let mut behind = node.next.load(Acquire);
        if behind.is_null() {
            // EDGE published-empty (release): `next` is clear (I4).
            if self.tail.compare_exchange(own, HELD, Release, Relaxed).is_ok() {
                return;
            }
            behind = followed(&node.next);
        }
        self.next.store(behind, Relaxed);
    }

    /// The node behind one that is passed over; none if that was the last, and the lock is free now.
    #[cfg_attr(unc_model, track_caller)]
    fn behind(&self, node: *mut Node, link: &AtomicPtr<Node>) -> Option<*mut Node> {
        // EDGE published-link (acquire): the node behind.
        let behind = link.load(Acquire);
        if !behind.is_null() {
            return Some(behind);
        }
        // EDGE published-free (release): what this holder did. I5
        let freed = self.tail.compare_exchange(node, FREE, Release, Relaxed).is_ok();
        (!freed).then(|| followed(link))
    }
}

impl Default for Published {
    fn default() -> Published {
        Published {
            tail: AtomicPtr::new(FREE).named("tail"),
            next: AtomicPtr::new(ptr::null_mut()).named("next"),
            left: AtomicU32::new(0).named("left"),
        }
    }
}

/// Waits until the node is GRANTED or PASSED, or the deadline has passed, and it is LEFT. Returns which.
#[cfg_attr(unc_model, track_caller)]
fn await_turn(node: &Node, deadline: Deadline) -> u32 {
    let yields_ns = node.seen_ns.load(Relaxed) + SPIN_NS;
    loop {
        for _ in 0..if cfg!(unc_model) { 1 } else { LOOKS } {
            // EDGE published-turn (acquire): what the holder did.
            let state = node.state.load(Acquire);
            if state != WAITING {
                return state;
            }
            spin_for_ns(HINT_NS);
        }
        if has_passed(deadline) {
            // EDGE published-left (release): this thread no longer needs the node.
            // EDGE published-turn (acquire): what the holder did.
            return match node.state.compare_exchange(WAITING, LEFT, Release, Acquire) {
                Ok(_) => LEFT,
                Err(state) => state,
            };
        }
        if cfg!(unc_model) {
            continue; // No time passes, and what is published is not used.
        }
        let now = now_ns();
        if now > yields_ns {
            yield_now();
        }
        node.seen_ns.store(now, Relaxed);
    }
}

/// The node that is about to be stored: another thread has swapped itself in, and stores it next.
#[cold]
#[cfg_attr(unc_model, track_caller)]
fn followed(link: &AtomicPtr<Node>) -> *mut Node {
    let mut pause = AboutToStore::default();
    loop {
        // EDGE published-link (acquire): the node.
        let found = link.load(Acquire);
        if !found.is_null() {
            return found;
        }
        pause.pause();
    }
}

/// Passes over a node, which its waiter frees, or this thread if that has left. Whether it has.
///
/// # Safety
/// The node is out of the queue (I3), and was not GRANTED.
#[cfg_attr(unc_model, track_caller)]
unsafe fn pass_over(node: *mut Node) -> bool {
    // SAFETY: the waiter needs it until it has left WAITING, and if it left, it is this thread's (I2).
    let state = unsafe { &(*node).state };
    // EDGE published-turn (release): this thread no longer needs the node.
    // EDGE published-left (acquire): the waiter no longer needs it.
    let has_left = state.compare_exchange(WAITING, PASSED, Release, Acquire).is_err();
    if has_left {
        // SAFETY: it was made by `Box`, and its waiter has LEFT it (I2).
        drop(unsafe { Box::from_raw(node) });
    }
    has_left
}

// SAFETY: the lock passes from FREE (published-free), or from its holder, who alone may (I5), to the one waiter that it
// GRANTED (published-turn).
unsafe impl RawLock for Published {
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
        // EDGE published-free (acquire): what the last holder did.
        self.tail.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE published-link (acquire): the successor's node.
        let mut node = self.next.load(Acquire);
        if node.is_null() {
            // EDGE published-free (release): what this holder did. I5
            if self.tail.compare_exchange(HELD, FREE, Release, Relaxed).is_ok() {
                return;
            }
            node = followed(&self.next);
        }
        self.next.store(ptr::null_mut(), Relaxed); // I4
        loop {
            // SAFETY: it is in the queue, and there until this thread changes its state, or has seen LEFT (I2).
            let Node { next, state, seen_ns } = unsafe { &*node };
            let is_granted = !is_stale(seen_ns.load(Relaxed)) && {
                // EDGE published-turn (release): what this holder did.
                // EDGE published-left (acquire): in the case that the waiter left, which `pass_over` finds again.
                state.compare_exchange(WAITING, GRANTED, Release, Relaxed).is_ok()
            };
            if is_granted {
                return;
            }
            let behind = self.behind(node, next);
            // SAFETY: it is out of the queue: the one behind it was read, or it is no longer the tail (I3).
            if unsafe { pass_over(node) } {
                self.left.fetch_sub(1, Relaxed); // I6
            }
            let Some(behind) = behind else { return };
            node = behind;
        }
    }

    fn is_locked(&self) -> bool {
        self.tail.load(Relaxed) != FREE
    }
}

impl Timed for Published {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut> {
        if self.try_lock() {
            return Ok(());
        }
        if has_passed(deadline) { Err(TimedOut) } else { self.wait(deadline) }
    }
}
