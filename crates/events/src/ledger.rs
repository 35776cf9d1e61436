//! The waiters of a lock, and since when it could have been taken: what idle time is made of.
//!
//! # Contract
//! A waiter is in the ledger from [`Wait::begin`] until [`Wait::leave`], with a time of arrival that it reads once its
//! waiting shows in `Lock::attention`: a release whose releaser saw no attention is over by then, or was about to
//! happen as any release is that its releaser stamped just before. So such a release needs no stamp: what was free and
//! wanted was so since the earliest arrival. Idle time is the time during which the lock was free and somebody was in
//! the ledger: it opens at the later of the release and the earliest arrival, and closes when anyone acquires
//! ([`opened`] then says since when) or the last waiter leaves.
//! # State
//! `Lock::attention` counts all; the ledger has the arrivals of the first sixteen, `Thread::waits_since` those of the
//! others. `Lock::open_since` remembers an interval whose first waiter gave up while others stayed.
//! # Invariants
//! I1: a place is written by the waiter that claimed it, from the claim until it leaves.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`; `tests/programs`: `barger.c`, `waiters_in_turn.c`, `free_but_off_cpu.c`.

use crate::site::{Seat, Site};
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_trace::layout::{ARRIVALS, Ledger, Lock, Thread, attention};

/// A thread in the ledger of a lock.
#[derive(Debug)]
pub struct Wait {
    /// When the thread called.
    pub call: u64,
    arrival: u64,
    place: Option<&'static AtomicU64>,
    unplaced: Option<&'static Ledger>,
}

impl Wait {
    /// Enters the calling thread, which called at `call`.
    pub fn begin(at: impl Site, lock: &'static Lock, call: u64) -> Self {
        let seat = at.seat();
        lock.attention.fetch_add(1, Relaxed);
        let arrival = at.ticks();
        seat.thread.asleep_since.store(call, Relaxed);
        let Some(ledger) = of(seat, lock) else {
            return Wait { call, arrival, place: None, unplaced: None };
        };
        let claimed = |place: &&AtomicU64| {
            place.load(Relaxed) == 0 && place.compare_exchange(0, arrival, Relaxed, Relaxed).is_ok()
        };
        // Each thread begins elsewhere, so that they seldom want the same place.
        let (before, after) =
            ledger.arrivals.split_at(seat.arena.unit_of(seat.thread) as usize / 2 % ARRIVALS);
        match after.iter().chain(before).find(claimed) {
            Some(place) => Wait { call, arrival, place: Some(place), unplaced: None },
            None => {
                let thread = seat.thread;
                thread.waits_since.store(arrival, Relaxed);
                thread.waits_for.store(seat.arena.unit_of(lock), Relaxed);
                ledger.unplaced.fetch_add(1, Relaxed);
                Wait { call, arrival, place: None, unplaced: Some(ledger) }
            }
        }
    }

    /// [`opened`] for a lock that this thread waits for. The ledger need not be looked at if it was released while it
    /// waited.
    pub fn opened(&self, seat: &Seat, lock: &Lock, release: u64, now: u64) -> Option<u64> {
        if self.arrival <= release && lock.open_since.load(Relaxed) == 0 {
            return Some(release);
        }
        opened(seat, lock, release, now)
    }

    /// Takes the calling thread out and answers with the number of waiters that stay.
    pub fn leave(self, seat: &Seat, lock: &Lock) -> u32 {
        seat.thread.asleep_since.store(0, Relaxed);
        debug_assert_ne!(waiters(lock), 0, "it waits until here");
        if let Some(place) = self.place {
            debug_assert_eq!(place.load(Relaxed), self.arrival, "I1");
            place.store(0, Relaxed);
        }
        if let Some(ledger) = self.unplaced {
            debug_assert_ne!(ledger.unplaced.load(Relaxed), 0);
            ledger.unplaced.fetch_sub(1, Relaxed);
            seat.thread.waits_for.store(0, Relaxed);
        }
        (lock.attention.fetch_sub(1, Relaxed) - 1) & attention::WAITERS
    }
}

/// How many wait for the lock.
#[inline(always)]
pub fn waiters(lock: &Lock) -> u32 {
    lock.attention.load(Relaxed) & attention::WAITERS
}

/// The ledger of a lock, made when it first has something to tell; none if there is no room.
pub fn of(seat: &Seat, lock: &'static Lock) -> Option<&'static Ledger> {
    let unit = lock.ledger.load(Relaxed);
    if unit != 0 {
        return Some(seat.arena.at(unit));
    }
    let fresh = seat.arena.allocate(uncontended_trace::layout::units(size_of::<Ledger>()))?;
    // A fresh ledger is zero, as every unit is before its first use, so there is nothing to publish but its number.
    let unit = match lock.ledger.compare_exchange(0, fresh, Relaxed, Relaxed) {
        Ok(_) => fresh,
        Err(other) => other,
    };
    Some(seat.arena.at(unit))
}

/// Since when the lock, released at `release` (0 for a release without a stamp), has been free and wanted at `now`;
/// none if nobody was in its ledger then.
pub fn opened(seat: &Seat, lock: &Lock, release: u64, now: u64) -> Option<u64> {
    let unit = lock.ledger.load(Relaxed);
    if unit == 0 {
        return None;
    }
    let ledger: &Ledger = seat.arena.at(unit);
    let placed =
        ledger.arrivals.iter().map(|place| place.load(Relaxed)).filter(|&arrival| arrival != 0);
    let mut earliest = placed.min();
    if ledger.unplaced.load(Relaxed) != 0 {
        earliest = earliest.into_iter().chain(unplaced(seat, seat.arena.unit_of(lock))).min();
    }
    let opened = earliest.filter(|&arrival| arrival <= now).map(|arrival| arrival.max(release));
    // Hardly ever set: a load leaves the lock's line alone.
    if lock.open_since.load(Relaxed) == 0 {
        return opened;
    }
    match lock.open_since.swap(0, Relaxed) {
        0 => opened,
        since => Some(opened.map_or(since, |opened| opened.min(since)).max(release)),
    }
}

/// The earliest arrival among all threads that wait for the lock.
fn unplaced(seat: &Seat, lock_unit: u32) -> Option<u64> {
    let threads = seat.arena.list::<Thread>(&seat.process.threads);
    let waiting = threads.filter(|(_, thread)| thread.waits_for.load(Relaxed) == lock_unit);
    waiting.map(|(_, thread)| thread.waits_since.load(Relaxed)).min()
}
