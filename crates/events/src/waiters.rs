//! The waiters of a lock, and since when it could have been taken: the basis of idle time.
//!
//! # Contract
//! A waiter is in the list from [`Wait::begin`] until [`Wait::leave`]. It reads its time of arrival after its waiting
//! shows in `Lock::attention`. So a release whose releaser saw no attention has happened by then, or is just about to,
//! like any release whose timestamp has just been taken. Such a release needs no timestamp: the lock was free and
//! wanted since the earliest arrival. Idle time is the time during which the lock is free and the list is not empty: it
//! opens at the later of the release and the earliest arrival ([`opened`]), and closes when a thread acquires the lock
//! or the last waiter leaves.
//! # State
//! `Lock::attention` counts all waiters. The list holds the arrivals of the first 64, `Thread::waits_since` those
//! of the others. `Lock::open_since` keeps the start of an interval whose first waiter gave up while others stayed.
//! # Invariants
//! I1: only the waiter that claimed a slot writes it, from the claim until it leaves.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`; `tests/programs`: `barger.c`, `waiters_in_turn.c`, `free_but_off_cpu.c`.

use crate::blame::Free;
use crate::site::{Recorder, Site};
use uncontended_atomic::{AtomicU64, Ordering, Ordering::Relaxed, Ordering::SeqCst};
use uncontended_trace::layout::{Lock, Thread, WaiterList, attention};

/// Slots of the list among which waiters begin their search.
const FRONT: usize = 8;

/// A thread in the waiter list of a lock.
#[derive(Debug)]
pub struct Wait {
    /// When the thread called.
    pub call: u64,
    /// When its waiting showed in `Lock::attention`.
    pub arrival: u64,
    /// How long the lock had been free by then.
    pub free: Free,
    slot: Option<&'static AtomicU64>,
    unplaced: Option<&'static WaiterList>,
}

impl Wait {
    /// Adds the calling thread, which called at `call`.
    pub fn begin(at: impl Site, lock: &'static Lock, call: u64) -> Self {
        let recorder = at.recorder();
        lock.attention.fetch_add(1, Relaxed);
        let arrival = at.ticks();
        recorder.thread.asleep_since.store(call, Relaxed);
        let free = Free::at(recorder, lock, arrival);
        let Some(list) = list_of(recorder, lock) else {
            return Wait { call, arrival, free, slot: None, unplaced: None };
        };
        let claimed = |slot: &&AtomicU64| {
            slot.load(Relaxed) == 0 && slot.compare_exchange(0, arrival, Relaxed, Relaxed).is_ok()
        };
        // Each thread begins elsewhere, so that they seldom want the same place, but near the front: a releaser reads
        // from there until it has met all waiters.
        let (before, after) =
            list.arrivals.split_at(recorder.arena.unit_of(recorder.thread) as usize / 2 % FRONT);
        match after.iter().chain(before).find(claimed) {
            Some(slot) => Wait { call, arrival, free, slot: Some(slot), unplaced: None },
            None => {
                let thread = recorder.thread;
                thread.waits_since.store(arrival, Relaxed);
                thread.waits_for.store(recorder.arena.unit_of(lock), Relaxed);
                list.unplaced.fetch_add(1, Relaxed);
                Wait { call, arrival, free, slot: None, unplaced: Some(list) }
            }
        }
    }

    /// Like [`opened`], for a lock that this thread waits for. If the lock was released during the wait, the list need
    /// not be searched.
    pub fn opened(&self, recorder: &Recorder, lock: &Lock, release: u64, now: u64) -> Option<u64> {
        if self.arrival <= release && lock.open_since.load(Relaxed) == 0 {
            return Some(release);
        }
        opened(recorder, lock, release, now)
    }

    /// Removes the calling thread, which has the lock. Returns the number of waiters that remain.
    pub fn leave(self, recorder: &Recorder, lock: &Lock) -> u32 {
        self.leave_by(recorder, lock, Relaxed)
    }

    /// Removes the calling thread, which gives up. Returns the number of waiters that remain.
    pub fn give_up(self, recorder: &Recorder, lock: &Lock) -> u32 {
        // SeqCst: keeps the store that empties the slot before the load of `wanted_at` in `blame::last_piece` (its I2).
        self.leave_by(recorder, lock, SeqCst)
    }

    fn leave_by(self, recorder: &Recorder, lock: &Lock, order: Ordering) -> u32 {
        recorder.thread.asleep_since.store(0, Relaxed);
        debug_assert_ne!(count(lock), 0, "it waits until here");
        if let Some(slot) = self.slot {
            debug_assert_eq!(slot.load(Relaxed), self.arrival, "I1");
            slot.store(0, order);
        }
        if let Some(list) = self.unplaced {
            debug_assert_ne!(list.unplaced.load(Relaxed), 0);
            list.unplaced.fetch_sub(1, Relaxed);
            recorder.thread.waits_for.store(0, Relaxed);
        }
        (lock.attention.fetch_sub(1, Relaxed) - 1) & attention::WAITERS
    }
}

/// The number of threads that wait for the lock.
#[inline(always)]
pub fn count(lock: &Lock) -> u32 {
    lock.attention.load(Relaxed) & attention::WAITERS
}

/// The waiter list of a lock, made when it is first needed; `None` if there is no room.
pub fn list_of(recorder: &Recorder, lock: &'static Lock) -> Option<&'static WaiterList> {
    let unit = lock.waiters.load(Relaxed);
    if unit != 0 {
        return Some(recorder.arena.at(unit));
    }
    let fresh =
        recorder.arena.allocate(uncontended_trace::layout::units(size_of::<WaiterList>()))?;
    // A fresh list is zero, as every unit is before its first use, so only its number has to be published.
    let unit = match lock.waiters.compare_exchange(0, fresh, Relaxed, Relaxed) {
        Ok(_) => fresh,
        Err(other) => other,
    };
    Some(recorder.arena.at(unit))
}

/// Since when the lock, released at `release` (0 if the release has no timestamp), has been free and wanted at `now`;
/// none if it had no waiter then.
pub fn opened(recorder: &Recorder, lock: &Lock, release: u64, now: u64) -> Option<u64> {
    let earliest = earliest(recorder, lock);
    let opened = earliest.filter(|&arrival| arrival <= now).map(|arrival| arrival.max(release));
    // Hardly ever set; a load does not take the lock's cache line from other CPUs.
    if lock.open_since.load(Relaxed) == 0 {
        return opened;
    }
    match lock.open_since.swap(0, Relaxed) {
        0 => opened,
        since => Some(opened.map_or(since, |opened| opened.min(since)).max(release)),
    }
}

/// The earliest arrival of a waiter.
pub fn earliest(recorder: &Recorder, lock: &Lock) -> Option<u64> {
    let unit = lock.waiters.load(Relaxed);
    if unit == 0 {
        return None;
    }
    let list: &WaiterList = recorder.arena.at(unit);
    let placed =
        list.arrivals.iter().map(|slot| slot.load(Relaxed)).filter(|&arrival| arrival != 0);
    let earliest = placed.min();
    if list.unplaced.load(Relaxed) == 0 {
        return earliest;
    }
    earliest.into_iter().chain(unplaced(recorder, recorder.arena.unit_of(lock))).min()
}

/// The earliest arrival among the threads that wait for the lock without a slot.
fn unplaced(recorder: &Recorder, lock_unit: u32) -> Option<u64> {
    let threads = recorder.arena.list::<Thread>(&recorder.process.threads);
    let waiting = threads.filter(|(_, thread)| thread.waits_for.load(Relaxed) == lock_unit);
    waiting.map(|(_, thread)| thread.waits_since.load(Relaxed)).min()
}
