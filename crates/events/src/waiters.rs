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
//! # Edges
//! side: [`enter`] stores the arrival -> `shared::Arrivals` loads it. Carries the slot's bit in `WaiterList::shared`.
//! since: [`enter`] stores `Thread::waits_for` -> `list::unplaced` loads it. Carries the arrival.
//! unplaced: [`enter`] and [`Wait::leave`] count -> `list::earliest` and `blame::beyond` load the count. Carries
//! `Thread::waits_for`.
//! # Evidence
//! `tests/places.rs`, `tests/model.rs`; `tests/programs`: `barger.c`, `waiters_in_turn.c`, `free_but_off_cpu.c`.

use crate::free::Free;
use crate::list::CLAIMED;
pub use crate::list::{count, list_of, opened};
use crate::site::{Recorder, Site};
use crate::slept::Before;
use crate::wants;
use uncontended_atomic::Ordering::{self, Relaxed, Release, SeqCst};
use uncontended_trace::layout::{ARRIVALS, Lock, WaiterList, attention};

/// Slots of the list among which waiters begin their search.
const FRONT: usize = 8;

/// A thread in the waiter list of a lock.
#[derive(Debug)]
pub struct Wait {
    /// When the thread called.
    pub call: u64,
    /// When its waiting showed in `Lock::attention`.
    pub arrival: u64,
    /// How many threads waited already.
    pub ahead: u32,
    /// How long the lock had been free by then.
    pub free: Free,
    /// Stack of the call; 0 until it is known.
    pub stack: u32,
    /// How often the thread had slept.
    pub sleeps: Before,
    place: Place,
}

/// Where a waiter is noted.
#[derive(Debug)]
enum Place {
    /// In this slot of the list.
    Slot(&'static WaiterList, usize),
    /// With its thread: the list was full.
    Thread(&'static WaiterList),
    /// Nowhere: there was no room for a list.
    Nowhere,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// To have the lock for itself.
    Exclusive,
    /// To share it with others of this side.
    Shared,
}

impl Wait {
    /// Adds the calling thread, which called at `call` and must be marked as recording.
    pub fn begin(at: impl Site, lock: &'static Lock, call: u64, side: Side) -> Self {
        let recorder = at.recorder();
        let ahead = lock.attention.fetch_add(1, Relaxed) & attention::WAITERS;
        let arrival = at.ticks();
        recorder.thread.asleep_since.store(call, Relaxed);
        wants::begin(recorder, lock, call, side == Side::Shared);
        let free = Free::at(recorder, lock, arrival);
        let place = match list_of(recorder, lock) {
            Some(list) => enter(recorder, lock, list, arrival, side),
            None => Place::Nowhere,
        };
        Wait { call, arrival, ahead, free, stack: 0, sleeps: Before::now(at), place }
    }

    /// Notes the stack of the call.
    pub fn called_in(&mut self, recorder: &Recorder, stack: u32) {
        self.stack = stack;
        wants::called_in(recorder, stack);
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
        // SeqCst: keeps the store that empties the slot, or says that the thread waits for nothing, before the load of
        // `wanted_at` in `blame::last_piece` (its I2).
        self.leave_by(recorder, lock, SeqCst)
    }

    fn leave_by(self, recorder: &Recorder, lock: &Lock, order: Ordering) -> u32 {
        recorder.thread.asleep_since.store(0, Relaxed);
        wants::end(recorder);
        debug_assert_ne!(count(lock), 0, "it waits until here");
        match self.place {
            Place::Slot(list, slot) => {
                debug_assert_eq!(list.arrivals[slot].load(Relaxed), self.arrival, "I1");
                if list.shared.load(Relaxed) & 1 << slot != 0 {
                    list.shared.fetch_and(!(1 << slot), Relaxed);
                }
                list.arrivals[slot].store(0, order);
            }
            Place::Thread(list) => {
                debug_assert_ne!(list.unplaced.load(Relaxed), 0);
                recorder.thread.waits_for.store(0, order);
                // EDGE unplaced (release): it waits no longer. SeqCst: `blame` (its I2).
                list.unplaced.fetch_sub(1, SeqCst);
            }
            Place::Nowhere => {}
        }
        (lock.attention.fetch_sub(1, Relaxed) - 1) & attention::WAITERS
    }
}

/// Puts the calling thread, which arrived at `arrival`, into the list of `lock`.
fn enter(
    recorder: &Recorder,
    lock: &Lock,
    list: &'static WaiterList,
    arrival: u64,
    side: Side,
) -> Place {
    let first = if side == Side::Exclusive { arrival } else { CLAIMED };
    let claimed = |slot: &usize| {
        let slot = &list.arrivals[*slot];
        slot.load(Relaxed) == 0 && slot.compare_exchange(0, first, Relaxed, Relaxed).is_ok()
    };
    // Each thread begins elsewhere, so that they seldom want the same place, but near the front: a releaser reads from
    // there until it has met all waiters.
    let begin = recorder.arena.unit_of(recorder.thread) as usize / 2 % FRONT;
    let Some(slot) = (begin..ARRIVALS).chain(0..begin).find(claimed) else {
        let thread = recorder.thread;
        thread.waits_since.store(arrival, Relaxed);
        // EDGE since (release): the arrival of this wait.
        thread.waits_for.store(recorder.arena.unit_of(lock), Release);
        // EDGE unplaced (release): what it waits for.
        list.unplaced.fetch_add(1, Release);
        return Place::Thread(list);
    };
    if side == Side::Shared {
        list.shared.fetch_or(1 << slot, Relaxed);
        // EDGE side (release): the bit of this slot.
        list.arrivals[slot].store(arrival, Release);
    }
    Place::Slot(list, slot)
}
