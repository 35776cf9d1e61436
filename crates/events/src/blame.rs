//! Blame: each wait at a lock divided among the holds that it fell into.
//!
//! # Contract
//! The holder books what its hold cost the others: at a release that threads wait for, [`caused`] sums over the waiter
//! list the time since the later of a waiter's arrival and the hold's beginning, and [`book`] adds it to the site of
//! the hold after the unlock. A waiter whose time runs out books the last piece itself ([`last_piece`]), since no
//! release will. What a wait contains besides is the time during which the lock was free, which `Lock::free` sums
//! ([`Free`]); the waiter takes the difference. The rest is unknown: a holder that was not seen, more waiters than the
//! list has slots, and the time between the call and the arrival.
//! # State
//! `Cell::site` is the stack of the current hold's acquisition. `Cell::caused` lists at most [`SITES`] sites and one
//! entry for all others. `Lock::free` only grows. `Lock::began` is when the hold began that the last release with a
//! timestamp ended.
//! # Edges
//! free: `events::take` stores 0 in `Lock::release` -> [`Free::at`] loads it. Carries `Lock::free`.
//! # Invariants
//! I1: only its own thread writes a cell and its list.
//! I2: no piece of a wait is booked twice. A releaser stores its time in `Lock::wanted_at` before it reads the list; a
//!     waiter that gives up leaves the list before it reads `wanted_at`. So at least one sees the other; if both do,
//!     the piece stays unknown.
//! I3: an arrival that coincides with an acquisition may count one free interval wrongly; a wait's free time is bounded
//!     by the wait.
//! # Evidence
//! `tests/blame.rs`, `tests/model.rs`; `tests/programs`: `blame_*.c`.

use crate::events::{add, bump};
use crate::site::{Recorder, Row};
use crate::waiters;
use uncontended_atomic::Ordering::{Acquire, Relaxed, SeqCst};
use uncontended_trace::layout::{Caused, Cell, Lock, SITES, WaiterList};

/// What one hold cost the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Stack of its acquisition; 0 if unknown.
    pub site: u32,
    /// Stack of its release; 0 if unknown.
    pub release: u32,
    /// The waiting that fell into it, summed over the waiters.
    pub wait: u64,
    /// The number of waiters.
    pub waits: u64,
    /// Its length.
    pub length: u64,
    /// The part of `wait` during which its thread waited for another lock's holder.
    pub passed_on: u64,
    /// Stack of that holder's acquisition; 0 if there is none.
    pub passed_to: u32,
}

/// What the hold that the thread of `cell` ends at `now` cost the waiters of the lock; none if it has none.
/// Called before the unlock, since a waiter that is woken leaves the list, and after the release has its time (I2).
#[inline]
pub fn caused(recorder: &Recorder, cell: &Cell, lock: &Lock, now: u64) -> Option<Share> {
    let waiting = waiters::count(lock);
    let list = lock.waiters.load(Relaxed);
    if waiting == 0 || list == 0 {
        return None;
    }
    let began = cell.hold_start.load(Relaxed);
    let list: &WaiterList = recorder.arena.at(list);
    let Chain { from, to, by } = Chain::of(recorder, began);
    let (mut wait, mut waits, mut earliest, mut passed_on) = (0u64, 0, now, 0u64);
    for slot in &list.arrivals {
        // SeqCst: keeps the releaser's store of `wanted_at` before this load (I2).
        let arrival = slot.load(SeqCst);
        if arrival == 0 {
            continue;
        }
        wait = wait.wrapping_add(now.saturating_sub(arrival.max(began)));
        passed_on = passed_on.wrapping_add(to.saturating_sub(arrival.max(from)));
        earliest = earliest.min(arrival);
        waits += 1;
        if waits == waiting {
            break;
        }
    }
    let start = if began > 1 { began } else { earliest };
    let length = now.saturating_sub(start);
    let site = cell.site.load(Relaxed);
    let passed_to = if passed_on > 0 { by } else { 0 };
    let share = Share { site, release: 0, wait, waits: waits.into(), length, passed_on, passed_to };
    (waits > 0).then_some(share)
}

/// A thread's last wait for a lock, as far as it was for the hold that ended it.
struct Chain {
    from: u64,
    to: u64,
    /// Stack of that hold's acquisition.
    by: u32,
}

impl Chain {
    /// Of the calling thread, if it was during the hold that began at `began`; else empty.
    fn of(recorder: &Recorder, began: u64) -> Chain {
        let from = recorder.thread.blocked_from.load(Relaxed);
        let is_inside = from >= began && from != 0;
        let to = if is_inside { recorder.thread.blocked_to.load(Relaxed) } else { 0 };
        Chain { from, to, by: recorder.thread.blocked_by.load(Relaxed) }
    }
}

/// Keeps what the calling thread's wait since `arrival` was for: the hold that ended at `release`. Called before the
/// thread is the lock's owner.
pub fn was_blocked(recorder: &Recorder, lock: &Lock, arrival: u64, release: u64) {
    let (owner, began) = (lock.owner.load(Relaxed), lock.began.load(Relaxed));
    let is_known = owner != 0 && release > arrival && (1..=release).contains(&began);
    let from = if is_known { arrival.max(began) } else { 0 };
    let thread = recorder.thread;
    thread.blocked_from.store(from, Relaxed);
    thread.blocked_to.store(release, Relaxed);
    if is_known {
        thread.blocked_by.store(recorder.arena.at::<Cell>(owner).site.load(Relaxed), Relaxed);
    }
}

/// Adds a share to the list of `cell`. The thread must be marked as recording.
pub fn book(recorder: &Recorder, cell: &Cell, share: Share) {
    let Some(entry) = entry(recorder, cell, (share.site, share.passed_to)) else { return };
    add(&entry.wait, share.wait);
    add(&entry.waits, share.waits);
    bump(&entry.holds);
    add(&entry.passed_on, share.passed_on);
    if share.length >= entry.longest.load(Relaxed) {
        entry.longest.store(share.length, Relaxed);
        entry.release.store(share.release, Relaxed);
    }
}

/// The entry of a site and of the site that it passes waiting on to; none if there is no room.
fn entry(recorder: &Recorder, cell: &Cell, key: (u32, u32)) -> Option<&'static Caused> {
    let key_of = |entry: &Caused| (entry.stack.load(Relaxed), entry.passed_to.load(Relaxed));
    let find = |key: (u32, u32)| {
        let mut entries = recorder.arena.list::<Caused>(&cell.caused);
        entries.find(|(_, entry)| key_of(entry) == key).map(|(_, entry)| entry)
    };
    if let Some(entry) = find(key) {
        return Some(entry);
    }
    let named = recorder.arena.list::<Caused>(&cell.caused);
    let is_full = named.filter(|(_, entry)| entry.stack.load(Relaxed) != 0).count() >= SITES;
    let (site, passed_to) = if is_full { (0, 0) } else { key };
    if let (true, Some(others)) = (is_full, find((0, 0))) {
        return Some(others);
    }
    let (unit, entry) = recorder.arena.make::<Caused>()?;
    entry.stack.store(site, Relaxed);
    entry.passed_to.store(passed_to, Relaxed);
    recorder.arena.push::<Caused>(&cell.caused, unit);
    Some(entry)
}

/// The piece of a wait that its thread has to book itself, because it gives up at `now`, during a hold. The thread has
/// left the list.
pub fn last_piece(recorder: &Recorder, lock: &Lock, arrival: u64, now: u64) -> Option<Share> {
    // SeqCst: keeps the store that emptied the slot before this load (I2).
    let last_scan = lock.wanted_at.load(SeqCst);
    let owner = lock.owner.load(Relaxed);
    if owner == 0 || lock.release.load(Relaxed) != 0 {
        return None;
    }
    let owner: &Cell = recorder.arena.at(owner);
    let (began, site) = (owner.hold_start.load(Relaxed), owner.site.load(Relaxed));
    let from = arrival.max(began);
    let is_held = owner.depth.load(Relaxed) != 0 && began != 0;
    if !is_held || last_scan >= from || from >= now {
        return None;
    }
    Some(Share { site, wait: now - from, waits: 1, length: now - from, ..Share::default() })
}

/// Books what the last hold of a mutex, up to `release`, cost a thread that is back from a condition variable, for
/// which it has not waited since `ended`. It is in no list, so holds before the last remain unknown.
pub fn book_return(recorder: &Recorder, row: Row, ended: u64, release: u64) {
    let owner = row.lock.owner.load(Relaxed);
    let began = row.lock.began.load(Relaxed);
    if owner == 0 || began == 0 || began > release {
        return;
    }
    let site = recorder.arena.at::<Cell>(owner).site.load(Relaxed);
    let wait = release.saturating_sub(ended.max(began));
    let is_known = row.lock.stack_at.load(Relaxed) == release;
    let stack = if is_known { row.lock.release_stack.load(Relaxed) } else { 0 };
    let length = release - began;
    let share = Share { site, release: stack, wait, waits: 1, length, ..Share::default() };
    book(recorder, row.cell, share);
}

/// How long a lock was free, up to a thread's arrival.
#[derive(Debug, Clone, Copy)]
pub struct Free {
    before: u64,
}

impl Free {
    /// At `arrival`, before the thread is in the list.
    pub fn at(recorder: &Recorder, lock: &Lock, arrival: u64) -> Self {
        // EDGE free (acquire): the time that was free before this release, or before the hold if there is none.
        let mut release = lock.release.load(Acquire);
        let mut free = lock.free.load(Acquire);
        for _ in 0..3 {
            // EDGE free (acquire): as above. A release that is the same as before is that of the sum.
            let again = lock.release.load(Acquire);
            if again == release {
                break;
            }
            release = again;
            free = lock.free.load(Acquire);
        }
        let since = match release {
            0 => unstamped(recorder, lock),
            release => Some(release),
        };
        let now = since.map_or(0, |since| arrival.saturating_sub(since));
        Free { before: free.wrapping_add(now) }
    }

    /// How long the lock has been free since then. The caller holds the lock, or adds `now`: how long it has been free
    /// since its last release.
    pub fn since(self, lock: &Lock, now: u64) -> u64 {
        let free = lock.free.load(Relaxed).wrapping_add(now).wrapping_sub(self.before);
        if free as i64 > 0 { free } else { 0 }
    }
}

/// Since when a lock that was released without a timestamp has been free and wanted: then its first waiter only just
/// missed the hold.
fn unstamped(recorder: &Recorder, lock: &Lock) -> Option<u64> {
    let owner = lock.owner.load(Relaxed);
    if waiters::count(lock) < 2 || owner == 0 {
        return None;
    }
    let is_free = recorder.arena.at::<Cell>(owner).depth.load(Relaxed) == 0;
    is_free.then(|| waiters::earliest(recorder, lock)).flatten()
}

/// The lock, free since `since`, is taken at `now`.
pub fn close(lock: &Lock, since: u64, now: u64) {
    add(&lock.free, now.saturating_sub(since));
}
