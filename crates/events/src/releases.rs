//! Releases: the part of [`crate::events`] that ends a hold.
//!
//! # Contract
//! A release that other threads may need to know of is stamped before the unlock; what it ended is recorded after it.
//! # Evidence
//! `tests/events.rs`, `tests/blame.rs`, `tests/model.rs`.

use crate::blame::{self, Share};
use crate::given_up;
use crate::holds;
use crate::list;
use crate::log;
use crate::recent::{self, Hold};
use crate::site::{Row, Site};
use crate::summed::is_summed;
use crate::waiters;
use uncontended_atomic::Ordering::{Relaxed, SeqCst};
use uncontended_trace::layout::{Late, Lock, attention::AWAY};
use uncontended_trace::setup::Holds;

/// A hold of this many ticks is in the thread's log even if no thread waited for it: keeping it costs a thousandth of
/// its time.
const LONG_TICKS: u64 = 20_000;

/// Releases the lock by `unlock`, which returns 0 if it succeeded. `wakes` says just before that whether the release
/// may wake a waiter.
#[inline(always)]
pub fn release<S: Site>(
    at: S,
    row: Row,
    wakes: impl Fn() -> bool,
    unlock: impl Fn() -> i32,
) -> i32 {
    let Row { cell, lock } = row;
    if lock.attention.load(Relaxed) != 0 || cell.depth.load(Relaxed) != 1 {
        let (thread, place) = at.split();
        return release_noted::<S>(thread, place, row, wakes, unlock);
    }
    cell.depth.store(0, Relaxed);
    let records_all = at.recorder().holds == Holds::All;
    let now = if records_all { at.ticks() } else { 0 };
    let result = unlock();
    if result != 0 {
        cell.depth.store(1, Relaxed); // The release failed.
    } else if records_all {
        record_hold(at, row, now);
    }
    result
}

/// The same if other threads want the lock or will return to it, or if the thread's depth is not 1.
#[inline(never)]
fn release_noted<S: Site>(
    thread: S::Thread,
    place: S::Place,
    row: Row,
    wakes: impl Fn() -> bool,
    unlock: impl Fn() -> i32,
) -> i32 {
    let at = S::join(thread, place);
    if is_summed(row.lock) {
        return unlock();
    }
    if row.cell.depth.load(Relaxed) == 0 {
        at.releases_unseen(row);
    }
    let mut noted = releasing(at, row);
    if let Some(noted) = noted.as_mut().filter(|noted| noted.wakes) {
        noted.wakes = wakes();
    }
    let result = unlock();
    match noted {
        Some(noted) if result == 0 => noted.done(at, row, row.lock, false),
        Some(noted) => noted.refused(row),
        None => {}
    }
    result
}

/// A release that other threads may need to know of, from its timestamp to what is recorded after it.
#[derive(Debug)]
pub struct Unlock {
    pub(crate) now: u64,
    /// Whether the release may wake a waiter: cleared by a lock that knows better.
    wakes: bool,
    /// Whether this thread's own hold ends.
    ends_hold: bool,
    /// Its stack; 0 if it is not known yet, or no other thread needs it.
    stack: u32,
    /// Whether other threads wait for the lock, or may return to it.
    concerns_others: bool,
    /// What the hold cost the waiters.
    caused: Option<Share>,
}

/// Records the time of the release that is about to happen; `None` if a recursive lock stays held.
#[inline(always)]
pub fn releasing(at: impl Site, row: Row) -> Option<Unlock> {
    let Row { cell, lock } = row;
    let depth = cell.depth.load(Relaxed);
    if depth > 1 {
        cell.depth.store(depth - 1, Relaxed);
        return None;
    }
    let mut release = stamp(at, lock, depth == 1);
    given_up::take(lock);
    if depth == 0 {
        release.caused = blame::caused_by_owner(at.recorder(), lock, release.now);
    } else {
        release.caused = blame::caused(at.recorder(), cell, lock, release.now);
        let began = cell.hold_start.load(Relaxed);
        lock.began.store(began, Relaxed);
        if lock.attention.load(Relaxed) & AWAY != 0 {
            let hold = Hold {
                began,
                ended: release.now,
                site: cell.site.load(Relaxed),
                release: lock.release_stack.load(Relaxed),
                is_counted: release.caused.is_some(),
            };
            recent::note(at.recorder(), lock, hold);
        }
    }
    cell.depth.store(0, Relaxed);
    lock.release.store(release.now, Relaxed);
    Some(release)
}

/// The same for a thread that waits for a condition variable and will return.
pub fn leaving(at: impl Site, row: Row) -> Option<Unlock> {
    if row.cell.depth.load(Relaxed) <= 1 {
        recent::leave(at.recorder(), row.lock);
    }
    releasing(at, row)
}

/// The thread of `row` is about to give a permit back, of several. Keeps its hold in the log if a thread that waited
/// meanwhile got another permit: the holds for which threads still wait are kept by [`Unlock::done`].
pub fn permit_back(at: impl Site, row: Row) {
    let Row { cell, lock } = row;
    let (began, served) = (cell.hold_start.load(Relaxed), lock.wanted_at.load(Relaxed));
    let is_hold = cell.depth.load(Relaxed) == 1 && began > 1;
    if is_hold && served > began && waiters::count(lock) == 0 {
        let busy = at.begin();
        log::hold(at.recorder(), lock, (began, at.ticks()), cell.site.load(Relaxed));
        drop(busy);
    }
}

/// The time of a release of `lock` that is about to happen.
#[inline(always)]
pub(crate) fn stamp(at: impl Site, lock: &Lock, ends_hold: bool) -> Unlock {
    let now = at.ticks();
    if lock.attention.load(Relaxed) == 0 {
        let concerns_others = false;
        return Unlock { now, wakes: false, ends_hold, stack: 0, concerns_others, caused: None };
    }
    let stack = at.known_stack().unwrap_or(0);
    lock.release_stack.store(stack, Relaxed);
    lock.stack_at.store(now, Relaxed);
    let wanted = waiters::count(lock) != 0;
    if wanted {
        // SeqCst: keeps this store before the loads of the list's slots in `blame::caused` (its I2).
        lock.wanted_at.swap(now, SeqCst);
        if let (Some(list), Some(cpu)) = (list::existing(at.recorder(), lock), at.cpu()) {
            list.released_on.store(cpu + 1, Relaxed);
        }
    }
    Unlock { now, wakes: wanted, ends_hold, stack, concerns_others: true, caused: None }
}

impl Unlock {
    /// The release failed.
    #[cold]
    fn refused(self, row: Row) {
        row.lock.release.store(0, Relaxed);
        row.cell.depth.store(u32::from(self.ends_hold), Relaxed);
    }

    /// Records what the release ended, outside the critical section. `is_logged`: the caller puts the hold into the
    /// thread's log.
    #[inline(always)]
    pub fn done(self, at: impl Site, row: Row, lock: &'static Lock, is_logged: bool) {
        if self.wakes {
            lock.woken.store(at.ticks(), Relaxed);
        }
        let is_unknown = self.concerns_others && self.stack == 0;
        let release = if is_unknown { self.report_stack(at, lock) } else { self.stack };
        if let Some(share) = self.caused {
            let busy = at.begin();
            let site = if share.site == 0 { release } else { share.site };
            blame::book(at.recorder(), row.cell, Share { site, release, ..share });
            log::hold(at.recorder(), lock, (self.now.saturating_sub(share.length), self.now), site);
            drop(busy);
        }
        let is_recorded = match at.recorder().holds {
            Holds::None => false,
            Holds::Waited => self.concerns_others,
            Holds::All => true,
        };
        if self.ends_hold && is_recorded {
            let long =
                holds::add(row.cell, self.now).filter(|_| self.caused.is_none() && !is_logged);
            log_long(at, row, long, self.now);
        }
    }

    /// Records the stack of the release, and returns it.
    #[cold]
    fn report_stack(&self, at: impl Site, lock: &'static Lock) -> u32 {
        let busy = at.begin();
        let stack = at.stack();
        if let Some(list) = waiters::list_of(at.recorder(), lock) {
            let slot = list.next_late.fetch_add(1, Relaxed) as usize % list.late.len();
            let Late { ticks, stack: place } = &list.late[slot];
            place.store(u64::from(stack), Relaxed);
            ticks.store(self.now, Relaxed);
        }
        drop(busy);
        stack
    }
}

/// Records the hold that ended at `now`.
#[inline(always)]
pub fn record_hold(at: impl Site, row: Row, now: u64) {
    let long = holds::add(row.cell, now);
    log_long(at, row, long, now);
}

/// Puts a hold of this length into the log if it is a long one.
#[inline(always)]
fn log_long(at: impl Site, row: Row, length: Option<u64>, now: u64) {
    if let Some(length) = length.filter(|&length| length >= LONG_TICKS) {
        keep_long(at, row, (now - length, now));
    }
}

#[cold]
#[inline(never)]
fn keep_long(at: impl Site, row: Row, hold: (u64, u64)) {
    let busy = at.begin();
    log::hold(at.recorder(), row.lock, hold, row.cell.site.load(Relaxed));
    drop(busy);
}
