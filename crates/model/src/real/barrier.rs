//! A stand-in for `std::sync::Barrier`.
//!
//! # Contract
//! What each thread of a group did before its `wait` happens before the return of every `wait` of the group; groups are
//! not ordered otherwise. The last thread to arrive is the leader. Outside an exploration it is `std`'s own.
//!
//! # State
//! B1: `arrived` counts all arrivals and never goes back: `arrived / threads` is the group, and `done` the number of
//!     groups that are complete.
//!
//! # Edges
//! arrived: each arrival -> the last one of its group, which sees all by read-modify-writes.
//! done: the last arrival -> the other returns. Carries what the group did before it.

use super::atomics::{AtomicUsize, Ordering};
use super::named::Named;
use super::thread::wait_until;
use std::fmt;

/// Stands in for `std::sync::Barrier`.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    done: AtomicUsize,
    alone: std::sync::Barrier,
}

/// Stands in for `std::sync::BarrierWaitResult`.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread was the last of its group to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for groups of `threads` threads; 0 means 1.
    #[track_caller]
    pub fn new(threads: usize) -> Barrier {
        let (arrived, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Barrier { threads: threads.max(1), arrived, done, alone: std::sync::Barrier::new(threads) }
    }

    /// Waits until the group is complete.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        if super::runtime::current().is_none() {
            return BarrierWaitResult(self.alone.wait().is_leader());
        }
        // EDGE arrived (release): what this thread did.
        // EDGE arrived (acquire): what those of the group did that came before it.
        let place = self.arrived.fetch_add(1, Ordering::AcqRel);
        let group = place / self.threads;
        let is_leader = place % self.threads == self.threads - 1;
        if is_leader {
            // EDGE done (release): what the group did.
            self.done.store(group + 1, Ordering::Release);
        } else {
            // EDGE done (acquire): what the group did.
            wait_until(|| self.done.load(Ordering::Acquire) > group);
        }
        BarrierWaitResult(is_leader)
    }
}

impl Named for Barrier {
    fn named(mut self, name: &'static str) -> Barrier {
        self.arrived = self.arrived.named(name);
        self
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Barrier")
    }
}
