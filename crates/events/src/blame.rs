//! Blame: each wait at a lock divided among the holds that it fell into.
//!
//! # Contract
//! The holder books what its hold cost the others: at a release that threads wait for, [`caused`] sums over the waiter
//! list the time since the later of a waiter's arrival and the hold's beginning, and [`book`] adds it to the site of
//! the hold after the unlock. A waiter whose time runs out books the last piece itself ([`last_piece`]), since no
//! release will; the release counts the hold (`given_up`). During another part of a wait the lock was free:
//! `Lock::free` sums that time ([`Free`]), and the waiter takes the difference. The rest is unknown: a holder that was
//! not seen, waiters for a read-write lock beyond the slots of the list, and the time between the call and the arrival.
//! Of other waiters beyond the slots, a long hold looks for the arrivals; in a shorter one, each is taken to have
//! waited since it began ([`beyond`]).
//! # State
//! `Cell::site` is the stack of the current hold's acquisition. `Cell::caused` lists at most [`SITES`] sites, then as
//! many by the two inner frames of their stacks alone, as many by the innermost, and one entry for all others. A site
//! with more waiting than the least of them takes its place. `Lock::began` is when the hold began that the last release
//! with a timestamp ended.
//! # Invariants
//! I1: only its own thread writes a cell and its list. After it has died with the lock, the heir writes the cell.
//! I2: no piece of a wait is booked twice. A releaser stores its time in `Lock::wanted_at` before it reads the list; a
//!     waiter that gives up leaves the list before it reads `wanted_at`. So at least one sees the other; if both do,
//!     the piece stays unknown.
//! # Evidence
//! `tests/blame.rs`, `tests/model.rs`; `tests/programs`: `blame_*.c`.

use crate::chain::{self, Part, PassedOn};
use crate::counter::add;
pub use crate::free::{Free, close};
use crate::given_up;
use crate::holds;
use crate::list::{self, CLAIMED};
use crate::site::{Recorder, Row};
use crate::stacks;
use crate::waiters::{self, Side};
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_trace::layout::{
    Caused, Cell, DIED, Lock, SITES, WAITED, WAITED_SITES, WaiterList,
};
use uncontended_trace::setup::Holds;

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
    /// 1 if the hold is not counted yet.
    pub holds: u64,
    /// Its length.
    pub length: u64,
    /// The part of `wait` during which its thread waited for another lock's holder.
    pub passed_on: u64,
    /// Stack of that holder's acquisition; 0 if there is none.
    pub passed_to: u32,
    /// Whether a part of `wait` is passed on to further holders ([`chain::further`]).
    pub has_further: bool,
}

impl Share {
    /// The part of a hold that one thread, the calling one, has waited for until `now`.
    pub(crate) fn until(&self, now: u64) -> Option<Part> {
        (self.wait > 0).then(|| Part {
            from: now.saturating_sub(self.wait),
            to: now,
            by: self.site,
        })
    }
}

/// What the hold that the thread of `cell` ends at `now` cost the waiters of the lock; none if it has none.
/// Called before the unlock, since a waiter that is woken leaves the list, and after the release has its time (I2).
#[inline]
pub fn caused(recorder: &Recorder, cell: &Cell, lock: &Lock, now: u64) -> Option<Share> {
    divided(recorder, cell, lock, now, true)
}

/// The same where the calling thread, which did not take the lock, releases it at `now`: the hold is its owner's.
#[cold]
pub fn caused_by_owner(recorder: &Recorder, lock: &Lock, now: u64) -> Option<Share> {
    let owner = lock.owner.load(Relaxed);
    if owner == 0 || lock.release.load(Relaxed) != 0 {
        return None;
    }
    let owner: &Cell = recorder.arena.at(owner);
    let is_held = owner.depth.load(Relaxed) != 0;
    divided(recorder, owner, lock, now, false).filter(|_| is_held)
}

/// The thread of `row` has taken the lock at `now` from one that died with it, and is in the waiter list. It books what
/// that one's hold cost all waiters, and ends it in that one's cell. The thread must be marked as recording.
pub(crate) fn died(recorder: &Recorder, row: Row, now: u64) {
    let Row { cell, lock } = row;
    // SeqCst: keeps this store before the loads of the list's slots in `divided` (I2).
    lock.wanted_at.swap(now, SeqCst);
    let inherited = &cell.inherited;
    inherited.store(inherited.load(Relaxed).saturating_add(1), Relaxed);
    if let Some(share) = caused_by_owner(recorder, lock, now) {
        book(recorder, cell, share);
        book(recorder, cell, Share { passed_to: DIED, ..share });
        if recorder.holds != Holds::None {
            let owner: &Cell = recorder.arena.at(lock.owner.load(Relaxed));
            holds::add(owner, now);
        }
    }
}

#[inline(always)]
fn divided(recorder: &Recorder, cell: &Cell, lock: &Lock, now: u64, is_own: bool) -> Option<Share> {
    let waiting = waiters::count(lock);
    let list = list::existing(recorder, lock)?;
    let began = cell.hold_start.load(Relaxed);
    let has_given_up = given_up::is_in(recorder, lock, began, Side::Exclusive);
    if waiting == 0 && !has_given_up {
        return None;
    }
    let (mut wait, mut waits, mut earliest) = (0u64, 0, now);
    for slot in &list.arrivals {
        if waits == waiting {
            break;
        }
        // SeqCst: keeps the releaser's store of `wanted_at` before this load (I2).
        let arrival = slot.load(SeqCst);
        if arrival <= CLAIMED {
            continue;
        }
        wait = wait.wrapping_add(meanwhile(arrival, began, now));
        earliest = earliest.min(arrival);
        waits += 1;
    }
    let start = if began > 1 { began } else { earliest };
    if waits < waiting {
        let (more, count) = beyond(recorder, (lock, list), began, now);
        (wait, waits) = (wait.wrapping_add(more), waits + count);
    }
    let length = now.saturating_sub(start);
    let site = cell.site.load(Relaxed);
    let hold = Part { from: start, to: now, by: site };
    let passed = match is_own {
        true => chain::passed_on(recorder, list, began, hold),
        false => PassedOn::default(),
    };
    let PassedOn { to: passed_to, wait: passed_on, has_further } = passed;
    let waits = u64::from(waits);
    (waits > 0 || has_given_up).then_some(Share {
        site,
        release: 0,
        wait,
        waits,
        holds: 1,
        length,
        passed_on,
        passed_to,
        has_further,
    })
}

/// What a waiter that came at `arrival` has waited for a hold from `began` to `now`.
#[inline(always)]
fn meanwhile(arrival: u64, began: u64, now: u64) -> u64 {
    now.saturating_sub(arrival.max(began))
}

/// From this many ticks on, a hold is so long that a look at all threads adds little to it.
const LONG: u64 = 1 << 20;

/// What a hold from `began` to `now` cost the waiters that the list has no slots for, and how many they are. To look
/// for their arrivals in every hold would make the queue longer; most of them wait for many holds, and for all of each
/// but the first.
#[cold]
fn beyond(
    recorder: &Recorder,
    (lock, list): (&Lock, &WaiterList),
    began: u64,
    now: u64,
) -> (u64, u32) {
    // SeqCst: keeps the releaser's store of `wanted_at` before this load (I2).
    let count = list.unplaced.load(SeqCst);
    let length = now.saturating_sub(began);
    if count == 0 || (began > 1 && length < LONG) {
        return (length.wrapping_mul(count.into()), count);
    }
    list::unplaced(recorder, lock)
        .fold((0, 0), |(wait, count), arrival| (wait + meanwhile(arrival, began, now), count + 1))
}

/// Adds a share to the list of `cell`. The thread must be marked as recording.
pub fn book(recorder: &Recorder, cell: &Cell, share: Share) {
    let further = if share.has_further { book_further(recorder, cell, share.site) } else { 0 };
    let wait = share.wait.saturating_sub(further);
    let Some(entry) = entry(recorder, cell, (share.site, share.passed_to), wait) else { return };
    add(&entry.wait, wait);
    add(&entry.waits, share.waits);
    add(&entry.holds, share.holds);
    add(&entry.passed_on, share.passed_on);
    if share.length >= entry.longest.load(Relaxed) {
        entry.longest.store(share.length, Relaxed);
        entry.release.store(share.release, Relaxed);
    }
}

/// Adds what the hold of `site` passes on to further holds than the first, and returns how much.
#[cold]
fn book_further(recorder: &Recorder, cell: &Cell, site: u32) -> u64 {
    let mut booked = 0u64;
    for (passed_to, wait) in chain::further(recorder) {
        if let Some(entry) = entry(recorder, cell, (site, passed_to), wait) {
            booked = booked.wrapping_add(wait);
            add(&entry.wait, wait);
            add(&entry.passed_on, wait);
        }
    }
    booked
}

/// Says of a share what it passes on. What is further holds' is added to the list of `cell` now: the thread must be
/// marked as recording.
pub(crate) fn pass_on(recorder: &Recorder, cell: &Cell, share: &mut Share, passed: PassedOn) {
    (share.passed_to, share.passed_on) = (passed.to, passed.wait);
    if passed.has_further {
        share.wait = share.wait.saturating_sub(book_further(recorder, cell, share.site));
    }
}

/// Adds a wait of the cell's own thread, of this length, in the code of `stack`. The thread must be marked as
/// recording.
pub(crate) fn waited(recorder: &Recorder, cell: &Cell, stack: u32, length: u64) {
    let share = Share {
        site: stack,
        wait: length,
        waits: 1,
        length,
        passed_to: WAITED,
        ..Share::default()
    };
    book(recorder, cell, share);
}

/// A site, and the site that it passes waiting on to or what [`Caused::passed_to`] says else.
type Key = (u32, u32);

fn key_of(entry: &Caused) -> Key {
    (entry.stack.load(Relaxed), entry.passed_to.load(Relaxed))
}

fn find(recorder: &Recorder, cell: &Cell, key: Key) -> Option<&'static Caused> {
    let mut entries = recorder.arena.list::<Caused>(&cell.caused);
    entries.find(|(_, entry)| key_of(entry) == key).map(|(_, entry)| entry)
}

fn make(recorder: &Recorder, cell: &Cell, key: Key) -> Option<&'static Caused> {
    let (unit, entry) = recorder.arena.make::<Caused>()?;
    entry.stack.store(key.0, Relaxed);
    entry.passed_to.store(key.1, Relaxed);
    recorder.arena.push::<Caused>(&cell.caused, unit);
    Some(entry)
}

/// The entry for `key`, which gets `wait` more; none if there is no room.
fn entry(recorder: &Recorder, cell: &Cell, key: Key, wait: u64) -> Option<&'static Caused> {
    if let Some(entry) = find(recorder, cell, key) {
        return Some(entry);
    }
    let is_wait = |key: Key| key.1 == WAITED;
    let most = if is_wait(key) { WAITED_SITES } else { SITES };
    let entries = recorder.arena.list::<Caused>(&cell.caused).map(|(_, entry)| key_of(entry));
    let alike = entries.filter(|&of| of.0 != 0 && is_wait(of) == is_wait(key));
    let count = alike.count();
    if count < most {
        return make(recorder, cell, key);
    }
    let inner =
        |frames| (stacks::inner(recorder, key.0, frames), stacks::inner(recorder, key.1, frames));
    for (frames, most) in [(2, 2 * most), (1, 3 * most)] {
        match find(recorder, cell, inner(frames)) {
            None if count < most => return make(recorder, cell, inner(frames)),
            None => {}
            found => return found,
        }
    }
    taken_over(recorder, cell, inner(1), wait)
}

/// Of a full list, the entry of the site with the least waiting, if that is less than `wait`: it becomes that of `key`,
/// and what it had is added to the entry for all others. Else that one.
#[cold]
fn taken_over(recorder: &Recorder, cell: &Cell, key: Key, wait: u64) -> Option<&'static Caused> {
    let is_site = |of: Key| of.0 != 0 && if key.1 == WAITED { of.1 == WAITED } else { of.1 < DIED };
    let rest = (0, if key.1 == WAITED { WAITED } else { 0 });
    let others = find(recorder, cell, rest).or_else(|| make(recorder, cell, rest))?;
    let all = recorder.arena.list::<Caused>(&cell.caused).map(|(_, entry)| entry);
    let least = all.filter(|of| is_site(key_of(of))).min_by_key(|of| of.wait.load(Relaxed));
    let Some(least) = least.filter(|of| is_site(key) && of.wait.load(Relaxed) < wait) else {
        return Some(others);
    };
    for (to, from) in [
        (&others.wait, &least.wait),
        (&others.waits, &least.waits),
        (&others.holds, &least.holds),
        (&others.passed_on, &least.passed_on),
    ] {
        add(to, from.load(Relaxed));
        from.store(0, Relaxed);
    }
    let longest = least.longest.load(Relaxed).max(others.longest.load(Relaxed));
    others.longest.store(longest, Relaxed);
    least.longest.store(0, Relaxed);
    least.release.store(0, Relaxed);
    least.stack.store(key.0, Relaxed);
    least.passed_to.store(key.1, Relaxed);
    Some(least)
}

/// The piece from `from` until `now` of a wait that ends during the hold of `site` that began at `began`. The hold
/// continues: its release counts it.
pub(crate) fn piece((site, began): (u32, u64), from: u64, now: u64) -> Share {
    let start = if began > 1 { began } else { from };
    let (wait, length) = (now.saturating_sub(from), now.saturating_sub(start));
    Share { site, wait, waits: 1, holds: 0, length, ..Share::default() }
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
    given_up::leave(recorder, lock, began, Side::Exclusive);
    Some(piece((site, began), from, now))
}
