//! A table that threads fill and search without a lock: which slots are taken, complete, and still valid.
//!
//! # Contract
//! A thread that [takes](Slots::take) a slot writes its facts and [confirms](Stamp::confirm) it. A thread that then
//! [reads](Stamp::read) a generation finds the facts complete, and they never change. A thread
//! reads the table's generation before it collects facts; the slot is valid while that is still the table's.
//! # Edges
//! slot: `Stamp::confirm` stores the generation -> `Stamp::read` loads it. Carries the facts.
//! # Invariants
//! I1: each number is handed out once.
//! # Evidence
//! `tests/model.rs`: facts that are read are complete; each thread has slots of its own.

use uncontended_atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// What the slots of a table share.
#[derive(Debug)]
pub struct Slots {
    /// How many were taken; more than there are once a thread found none.
    pub taken: AtomicUsize,
    /// At least 1.
    pub generation: AtomicU32,
}

impl Slots {
    /// How many slots of `room` are taken: the first ones.
    pub fn used(&self, room: usize) -> usize {
        self.taken.load(Relaxed).min(room)
    }

    /// The number of a slot that is now the caller's alone, unless all of `room` are taken.
    pub fn take(&self, room: usize) -> Option<usize> {
        // Without the comparison, a full table's count would wrap around some day (I1).
        let is_full = self.used(room) == room;
        (!is_full).then(|| self.taken.fetch_add(1, Relaxed)).filter(|&number| number < room)
    }

    /// The present generation.
    pub fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// Whether slots have ever been made invalid.
    pub fn is_outdated(&self) -> bool {
        self.generation() != 1
    }

    /// Makes every slot invalid until it is confirmed again.
    pub fn outdate(&self) {
        self.generation.fetch_add(1, Relaxed);
    }
}

/// The generation in which a slot was last known to be valid; 0 while it is being written.
#[derive(Debug)]
#[repr(transparent)]
pub struct Stamp(pub AtomicU32);

impl Stamp {
    /// The generation, if the slot is complete.
    pub fn read(&self) -> Option<u32> {
        // EDGE slot (acquire): the facts.
        Some(self.0.load(Acquire)).filter(|&generation| generation != 0)
    }

    /// Marks the slot as complete, and valid in this generation.
    pub fn confirm(&self, generation: u32) {
        // EDGE slot (release): the facts.
        self.0.store(generation, Release);
    }
}
