//! The locks that a thread held when it took another one: the evidence for locks that are taken in two orders.
//!
//! # Contract
//! [`Nest::took`] follows each acquisition of a thread whose lock order is recorded. If the call would have waited
//! without a limit, the lock and the set of locks held are kept in the record, once for each thread, with the stacks
//! of the first time. What finds no room is counted. A release need not be told: a lock that the thread no longer
//! holds is dropped at its next acquisition.
//! # State
//! `held` has the cells of the locks taken lately, oldest first, `count` of them. `kept` finds an entry by the locks.
//! # Invariants
//! I1: only its own thread reaches a `Nest`, and no handler while the thread is marked as recording.
//! I2: while `is_lost` is false, every lock is in `held` that the thread was seen to take and still holds.
//! # Evidence
//! `tests/nested.rs`; `tests/programs`: `lock_order.c`.
//! # Sources
//! The set with the lock is the "lock dependency" of Joshi, Park, Sen and Naik, "A randomized dynamic program analysis
//! technique for detecting real deadlocks" (PLDI 2009).

use crate::counter::bump;
use crate::events::id;
use crate::generations::is_dead;
use crate::site::{Recorder, Row, Site};
use crate::summed::is_summed;
use uncontended_atomic::{Ordering::Relaxed, Own};
use uncontended_trace::layout::{Cell, Lock, NESTED, Nested, kind};

/// Most locks that a thread holds at once.
pub const HELD: usize = 64;
/// Places for entries in the record.
const PLACES: usize = 4096;
/// Places in which an entry may be.
const PROBES: usize = 16;

/// The locks that one thread holds, and where the record has the sets seen so far.
#[derive(Debug)]
pub struct Nest {
    held: [Own<u32>; HELD],
    count: Own<usize>,
    kept: [Own<u32>; PLACES],
    /// Whether the thread once held more than [`HELD`] locks: its sets may lack one since.
    is_lost: Own<bool>,
    /// Whether other threads were seen.
    has_company: Own<bool>,
}

impl Nest {
    /// No locks: all is zero.
    pub const fn new() -> Self {
        Nest {
            held: [const { Own::new(0) }; HELD],
            count: Own::new(0),
            kept: [const { Own::new(0) }; PLACES],
            is_lost: Own::new(false),
            has_company: Own::new(false),
        }
    }

    /// The thread took the lock of `row` by a call that `waits` without a limit. `is_alone` tells whether the process
    /// has no other thread: threads that it begins later cannot have been in this one's way. The thread must be marked
    /// as recording.
    pub fn took(&self, at: impl Site, row: Row, waits: bool, is_alone: impl FnOnce() -> bool) {
        let recorder = at.recorder();
        if is_summed(row.lock) {
            // Which lock it is, is not known.
            if waits && self.drop_released(recorder, 0) > 0 {
                bump(&recorder.thread.nested_lost);
            }
            return;
        }
        if row.cell.depth.load(Relaxed) != 1 {
            return; // Again: the thread need not wait for itself.
        }
        let cell = id(recorder, row.cell);
        let count = self.drop_released(recorder, cell);
        let is_kept = || self.is_alone(is_alone) || self.keep(at, row, count);
        if waits && count > 0 && !is_kept() {
            bump(&recorder.thread.nested_lost);
        }
        match self.held.get(count) {
            Some(place) => {
                place.set(cell);
                self.count.set(count + 1);
            }
            None => self.is_lost.set(true),
        }
    }

    /// Asks `is_alone` until it says no.
    fn is_alone(&self, is_alone: impl FnOnce() -> bool) -> bool {
        let is_alone = !self.has_company.get() && is_alone();
        self.has_company.set(!is_alone);
        is_alone
    }

    /// Removes what the thread no longer holds, and `taken`. Returns how many are left.
    fn drop_released(&self, recorder: &Recorder, taken: u32) -> usize {
        let mut count = 0;
        for place in &self.held[..self.count.get()] {
            let cell = place.get();
            if cell != taken && is_held(recorder, cell) {
                self.held[count].set(cell);
                count += 1;
            }
        }
        self.count.set(count);
        count
    }

    /// Keeps the lock of `row` with the first `count` locks held; false if there is no room.
    fn keep(&self, at: impl Site, row: Row, count: usize) -> bool {
        let recorder = at.recorder();
        let lock = recorder.arena.unit_of(row.lock);
        let held = &self.held[..count];
        if count > NESTED || self.is_lost.get() {
            return false;
        }
        let lock_of = |cell: &Own<u32>| cell_of(recorder, cell.get()).lock.load(Relaxed);
        let hash = held.iter().fold(lock, |hash, cell| hash.wrapping_mul(31) ^ lock_of(cell));
        // The upper bits depend on all bits of the locks' numbers.
        let first = (hash.wrapping_mul(0x9E37_79B1) >> (u32::BITS - PLACES.ilog2())) as usize;
        for place in (0..PROBES).map(|probe| &self.kept[(first ^ probe) % PLACES]) {
            let Some(entry) = (place.get() != 0).then(|| recorder.arena.at::<Nested>(place.get()))
            else {
                return add(at, place, lock, held);
            };
            let locks = entry.held.iter().map(|held| held.lock.load(Relaxed));
            let is_same = entry.lock.load(Relaxed) == lock
                && entry.count.load(Relaxed) as usize == count
                && locks.take(count).eq(held.iter().map(lock_of));
            if is_same {
                return true;
            }
        }
        false
    }
}

/// Adds an entry to the record, and keeps its number in `place`; false if there is no room.
#[cold]
fn add(at: impl Site, place: &Own<u32>, lock: u32, held: &[Own<u32>]) -> bool {
    let recorder = at.recorder();
    let Some((unit, entry)) = recorder.arena.make::<Nested>() else { return false };
    entry.lock.store(lock, Relaxed);
    entry.stack.store(at.stack(), Relaxed);
    entry.count.store(held.len() as u32, Relaxed);
    for (to, cell) in entry.held.iter().zip(held) {
        let cell = cell_of(recorder, cell.get());
        to.lock.store(cell.lock.load(Relaxed), Relaxed);
        to.site.store(cell.site.load(Relaxed), Relaxed);
    }
    recorder.arena.push::<Nested>(&recorder.thread.nested, unit);
    place.set(unit);
    true
}

fn cell_of(recorder: &Recorder, cell: u32) -> &'static Cell {
    recorder.arena.at(cell)
}

/// Whether the calling thread still holds the lock of its cell. A lock that another thread released, or that was
/// destroyed, is not held, although its cell says so. Readers' rows do not know their owners.
fn is_held(recorder: &Recorder, cell: u32) -> bool {
    let entry = cell_of(recorder, cell);
    let lock: &Lock = recorder.arena.at(entry.lock.load(Relaxed));
    let is_owner = || lock.owner.load(Relaxed) == cell && lock.release.load(Relaxed) == 0;
    entry.depth.load(Relaxed) != 0
        && !is_dead(lock)
        && (lock.kind.load(Relaxed) == kind::RWLOCK_READ || is_owner())
}

impl Default for Nest {
    fn default() -> Self {
        Nest::new()
    }
}
