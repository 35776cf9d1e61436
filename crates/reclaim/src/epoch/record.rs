//! A reader's record: whether it is pinned, and what it has retired.
//!
//! # State
//! `state`: 0, or the epoch to which it is pinned; written by its owner. `depth`: guards that exist. `is_left`: the
//! last of them gives the place back. `bag`: what the owner retired last; `objects` and `bytes` say how much that is,
//! for reports. `blocked_in`, `blocked_since_ns`: the epoch that it was found to be pinned to while it kept a collector
//! from advancing, and since when.
//!
//! # Invariants
//! I1: only the owner of the record's place touches `depth`, `is_left` and `bag`; but a thread may empty the bag that
//!     has the collector to itself, or that is the only one of a forked process.
//! I2: `state` is 0 exactly when `depth` is.

use crate::garbage::{Garbage, Limits};
use crate::retired::Retired;
use std::mem;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU64, AtomicUsize, Own, UnsafeCell};
use uncontended_fence::Fences;

/// In `state`: not pinned.
pub(super) const UNPINNED: u64 = 0;

/// A bag goes to the collector when it has this much: one latch for 64 objects.
const BAG: Limits = Limits { objects: if cfg!(unc_model) { 1 } else { 64 }, bytes: 1 << 16 };

#[derive(Debug)]
pub(super) struct Record {
    state: AtomicU64,
    depth: Own<usize>,
    pub(super) is_left: Own<bool>,
    bag: UnsafeCell<Vec<Retired>>,
    objects: AtomicUsize,
    bytes: AtomicUsize,
    blocked_in: AtomicU64,
    blocked_since_ns: AtomicU64,
}

// SAFETY: all but the atomics is its owner's (I1).
unsafe impl Sync for Record {}

impl Record {
    pub(super) fn new() -> Record {
        Record {
            state: AtomicU64::new(UNPINNED),
            depth: Own::new(0),
            is_left: Own::new(false),
            bag: UnsafeCell::new(Vec::new()),
            objects: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            blocked_in: AtomicU64::new(UNPINNED),
            blocked_since_ns: AtomicU64::new(0),
        }
    }

    /// One guard more; the first pins the record to the current epoch.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn enter(&self, epoch: &AtomicU64, fences: Fences) {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        if depth == 0 {
            self.pin(epoch, fences);
        }
    }

    #[inline(always)]
    #[cfg_attr(unc_model, track_caller)]
    fn pin(&self, epoch: &AtomicU64, fences: Fences) {
        let mut seen = epoch.load(Relaxed);
        loop {
            // EDGE unpinned (release): the last use before; a collector may find this instead of the zero.
            self.state.store(seen, Release);
            fences.light();
            let now = epoch.load(Relaxed);
            if now == seen {
                return;
            }
            seen = now;
        }
    }

    /// One guard less; the last unpins the record. Whether the place is to be given back.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn leave(&self) -> bool {
        let depth = self.depth.get() - 1;
        self.depth.set(depth);
        if depth == 0 {
            // EDGE unpinned (release): this reader's last use.
            self.state.store(UNPINNED, Release);
        }
        depth == 0 && self.is_left.get()
    }

    /// Pins the record again, to the current epoch. Only one guard exists.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn repin(&self, epoch: &AtomicU64, fences: Fences) {
        if self.depth.get() == 1 {
            self.pin(epoch, fences);
        }
    }

    /// Whether a guard exists, or was leaked. For the owner.
    pub(super) fn is_pinned(&self) -> bool {
        self.depth.get() > 0
    }

    /// The epoch to which it is pinned, as a collector sees it.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn state(&self) -> u64 {
        // EDGE unpinned (acquire): the reader's last use of what it found.
        self.state.load(Acquire)
    }

    /// Retires an object; whether the bag is new or full, and so the limits are to be looked at. For the owner.
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn push(&self, item: Retired) -> bool {
        let mut weight = self.weight();
        weight.add(item.bytes());
        self.bag.with_mut(|bag| {
            // SAFETY: the owner's, which is in no other closure (I1).
            let bag = unsafe { &mut *bag };
            if bag.capacity() == 0 {
                bag.reserve_exact(BAG.objects);
            }
            bag.push(item);
        });
        self.weighs(weight);
        weight.objects == 1 || BAG.are_reached(weight)
    }

    /// What the bag holds, if it is full. For the owner.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn take_full_bag(&self) -> Vec<Retired> {
        if BAG.are_reached(self.weight()) { self.take_bag() } else { Vec::new() }
    }

    /// What the bag holds. For the owner.
    #[cfg_attr(unc_model, track_caller)]
    pub(super) fn take_bag(&self) -> Vec<Retired> {
        self.weighs(Garbage::default());
        // SAFETY: the owner's, or that of a thread that has the collector to itself (I1).
        self.bag.with_mut(|bag| mem::take(unsafe { &mut *bag }))
    }

    pub(super) fn weight(&self) -> Garbage {
        Garbage { objects: self.objects.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }

    fn weighs(&self, garbage: Garbage) {
        self.objects.store(garbage.objects, Relaxed);
        self.bytes.store(garbage.bytes, Relaxed);
    }

    /// Notes that a collector found it pinned to `epoch`, which it needed to be over.
    pub(super) fn blocks(&self, epoch: u64, now_ns: u64) {
        if self.blocked_in.load(Relaxed) != epoch {
            self.blocked_since_ns.store(now_ns, Relaxed);
            self.blocked_in.store(epoch, Relaxed);
        }
    }

    /// Since when it keeps collectors from advancing, if it is pinned to `epoch`.
    pub(super) fn blocked_since_ns(&self, epoch: u64) -> Option<u64> {
        (self.blocked_in.load(Relaxed) == epoch).then(|| self.blocked_since_ns.load(Relaxed))
    }

    /// Unpins what a thread left that vanished in a fork. What is in its bag leaks: it may have been changing it.
    ///
    /// # Safety
    /// The owner no longer exists.
    pub(super) unsafe fn bury(&self) {
        self.depth.set(0);
        self.is_left.set(false);
        mem::forget(self.take_bag());
        self.state.store(UNPINNED, Relaxed);
    }
}
