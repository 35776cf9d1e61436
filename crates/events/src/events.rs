//! The events of a lock, the same for every kind that excludes: acquired, blocked, given up, released.
//!
//! # Contract
//! [`acquired`], [`release`] (in `releases`) and [`Blocked`] record one event each, at a [`Site`]. An event that
//! concerns only the holder writes only to the holder's own cell. It reads the clock once, at the acquisition, and once
//! more where all holds are recorded; where none are, never.
//! # State
//! `Lock::attention` says whether a release concerns other threads. If it does, `Lock::release` is its time until the
//! next owner clears it; otherwise it stays 0, as while the lock is held. `Lock::owner` is the cell of the last owner,
//! and `Cell::depth` how often that cell's thread holds the lock.
//! # Invariants
//! I1: `Lock` words are written by the holder, or by a thread whose stale value only blurs the evidence, never a count.
//! # Edges
//! free: [`take`] -> `free::Free`, there. The program's own lock orders the words that the next owner reads.

use crate::blame::{self, Share};
use crate::chain;
use crate::counter::add;
pub use crate::counter::bump;
use crate::list;
use crate::log;
pub use crate::log::{By, End, Waited};
use crate::passing;
use crate::recent;
pub use crate::releases::{Unlock, leaving, permit_back, record_hold, release, releasing};
use crate::rounds;
use crate::site::{Recorder, Row, Site};
use crate::slept::{self, Before};
use crate::summed::is_summed;
use crate::waiters::{self, Side, Wait};
use crate::wakes;
use crate::wants;
use crate::woken;
use uncontended_atomic::{Ordering::Relaxed, Ordering::Release};
use uncontended_trace::histogram::FINE;
use uncontended_trace::layout::{
    Cell, Cold, Extreme, Lock, WOKEN_INTO, attention, cause, kind, units,
};
use uncontended_trace::setup::Holds;

/// The lock was taken at the first try.
#[inline(always)]
pub fn acquired<S: Site>(at: S, row: Row) {
    let Row { cell, lock } = row;
    bump(&cell.acquisitions);
    let is_noted = lock.attention.load(Relaxed) != 0 || lock.release.load(Relaxed) != 0;
    if is_noted || cell.depth.load(Relaxed) != 0 {
        let (thread, place) = at.split();
        return acquired_noted::<S>(thread, place, row);
    }
    own(at.recorder(), row, at.site(), || match at.recorder().holds {
        Holds::None => 1,
        Holds::Waited | Holds::All => at.ticks(),
    });
}

/// The same for a lock that other threads want or wanted, or that the thread held already.
#[inline(never)]
fn acquired_noted<S: Site>(thread: S::Thread, place: S::Place, row: Row) {
    let at = S::join(thread, place);
    let Row { cell, lock } = row;
    if is_summed(lock) {
        return;
    }
    let now = at.ticks();
    let depth = cell.depth.load(Relaxed);
    // A depth left over from before a release by another thread does not count.
    if depth != 0
        && lock.release.load(Relaxed) == 0
        && lock.owner.load(Relaxed) == id(at.recorder(), cell)
    {
        cell.depth.store(depth + 1, Relaxed);
        return;
    }
    if waiters::count(lock) != 0 {
        barged(at, row, now);
    }
    take(at.recorder(), row, at.site(), now);
}

/// The number by which a lock knows its owner.
#[inline(always)]
pub fn id(recorder: &Recorder, cell: &Cell) -> u32 {
    recorder.arena.unit_of(cell)
}

/// Whether no thread was seen to hold the lock, which one thread has at a time.
pub fn is_unheld(recorder: &Recorder, lock: &Lock) -> bool {
    let owner = lock.owner.load(Relaxed);
    owner == 0 || recorder.arena.at::<Cell>(owner).depth.load(Relaxed) == 0
}

/// When the lock was released before it was taken now: 0 if no other thread was concerned, `None` if the release was
/// not seen.
fn last_release(recorder: &Recorder, lock: &Lock) -> Option<u64> {
    let stamp = lock.release.load(Relaxed);
    let owner = lock.owner.load(Relaxed);
    let was_seen = || owner != 0 && recorder.arena.at::<Cell>(owner).depth.load(Relaxed) == 0;
    (stamp != 0 || was_seen()).then_some(stamp)
}

/// The calling thread holds the lock exclusively from `now` on, by an acquisition with the stack `site`.
#[inline(always)]
pub fn take(recorder: &Recorder, row: Row, site: u32, now: u64) {
    let release = row.lock.release.load(Relaxed);
    if release != 0 {
        blame::close(row.lock, release, now);
        // EDGE free (release): the time that was free.
        row.lock.release.store(0, Release);
    }
    own(recorder, row, site, || now);
}

/// Begins the calling thread's hold. The clock is read last: right before an atomic instruction it costs least.
#[inline(always)]
pub fn own(recorder: &Recorder, row: Row, site: u32, now: impl Fn() -> u64) {
    let Row { cell, lock } = row;
    let (owner, own) = (lock.owner.load(Relaxed), id(recorder, cell));
    if owner != own {
        if owner != 0 {
            bump(&cell.owner_changes);
        }
        lock.owner.store(own, Relaxed);
    }
    cell.site.store(site, Relaxed);
    cell.depth.store(1, Relaxed);
    cell.hold_start.store(now(), Relaxed);
}

/// The lock was free and wanted by others, and went to this thread, which had not waited.
#[inline(never)]
fn barged(at: impl Site, row: Row, now: u64) {
    let lock = row.lock;
    if lock.crossed.load(Relaxed) != 0 {
        woken::taken(at.recorder(), lock, now);
    }
    let Some(release) = last_release(at.recorder(), lock) else { return };
    // The common case of contention: a thread was waiting when the lock was released, and still is.
    let since_release = release != 0
        && lock.wanted_at.load(Relaxed) == release
        && lock.open_since.load(Relaxed) == 0;
    let opened = if since_release {
        Some(release)
    } else {
        waiters::opened(at.recorder(), lock, release, now)
    };
    if let Some(opened) = opened {
        if release == 0 {
            blame::close(lock, opened, now);
        }
        close_idle(at, row, Idle { opened, now, release, cause: cause::BARGED });
    }
}

/// An interval in which a lock was free and wanted.
#[derive(Debug)]
pub struct Idle {
    /// When it began.
    pub opened: u64,
    /// When it ended.
    pub now: u64,
    /// The release before it; 0 if unknown.
    pub release: u64,
    /// One of [`cause`].
    pub cause: u32,
}

/// Records an idle interval that this thread ended.
#[inline]
pub fn close_idle(at: impl Site, row: Row, idle: Idle) {
    let Some(cold) = cold(at.recorder(), row.cell) else { return };
    let length = difference(at.recorder(), idle.opened, idle.now);
    add(&cold.idle_total, length);
    let cause = match idle.cause {
        cause::NOT_SCHEDULED if is_releasers_cpu(at, row.lock, idle.release) => {
            cause::RELEASERS_CPU
        }
        cause => cause,
    };
    // UNKNOWN is 0: it is what the others leave.
    if let Some(sum) = cause.checked_sub(1).and_then(|nth| cold.idle_by.get(nth as usize)) {
        add(sum, length);
    }
    bump(&cold.idle[FINE.bucket(length)]);
    let fresh = Fresh { ticks: length, at: idle.now, release: idle.release, cause };
    note_extreme(at, &cold.idle_worst, row.lock, fresh);
}

/// Whether the thread now runs on the CPU on which the lock was released at `release`.
fn is_releasers_cpu(at: impl Site, lock: &Lock, release: u64) -> bool {
    let is_last = release != 0 && lock.wanted_at.load(Relaxed) == release;
    let list = list::existing(at.recorder(), lock).filter(|_| is_last);
    let released_on = list.map_or(0, |list| list.released_on.load(Relaxed));
    released_on != 0 && at.cpu().is_some_and(|cpu| cpu + 1 == released_on)
}

/// `later - earlier`; if the clocks of two CPUs disagree, 0, and the contradiction is counted.
fn difference(recorder: &Recorder, earlier: u64, later: u64) -> u64 {
    later.checked_sub(earlier).unwrap_or_else(|| {
        recorder.arena.header().negative.fetch_add(1, Relaxed);
        0
    })
}

/// A candidate for the four longest.
struct Fresh {
    ticks: u64,
    at: u64,
    release: u64,
    cause: u32,
}

/// Keeps the four longest, longest first.
#[inline(always)]
fn note_extreme(at: impl Site, worst: &[Extreme; 4], lock: &Lock, fresh: Fresh) {
    if fresh.ticks > worst[3].ticks.load(Relaxed) {
        keep_extreme(at, worst, lock, fresh);
    }
}

#[cold]
fn keep_extreme(at: impl Site, worst: &[Extreme; 4], lock: &Lock, fresh: Fresh) {
    let _busy = at.begin();
    let rank = worst.iter().position(|kept| fresh.ticks > kept.ticks.load(Relaxed)).unwrap_or(3);
    for place in (rank..3).rev() {
        let (from, to) = (&worst[place], &worst[place + 1]);
        to.ticks.store(from.ticks.load(Relaxed), Relaxed);
        to.at.store(from.at.load(Relaxed), Relaxed);
        to.release.store(from.release.load(Relaxed), Relaxed);
        to.mine.store(from.mine.load(Relaxed), Relaxed);
        to.other.store(from.other.load(Relaxed), Relaxed);
        to.cause.store(from.cause.load(Relaxed), Relaxed);
    }
    let kept = &worst[rank];
    let is_of_this_release = fresh.release != 0 && lock.stack_at.load(Relaxed) == fresh.release;
    kept.ticks.store(fresh.ticks, Relaxed);
    kept.at.store(fresh.at, Relaxed);
    kept.release.store(fresh.release, Relaxed);
    kept.mine.store(at.stack(), Relaxed);
    kept.other
        .store(if is_of_this_release { lock.release_stack.load(Relaxed) } else { 0 }, Relaxed);
    kept.cause.store(fresh.cause, Relaxed);
    debug_assert!(worst.is_sorted_by_key(|kept| std::cmp::Reverse(kept.ticks.load(Relaxed))));
}

/// The part of a cell for contended acquisitions, made at the first wait; `None` if there is no room.
pub fn cold(recorder: &Recorder, cell: &Cell) -> Option<&'static Cold> {
    let mut unit = cell.cold.load(Relaxed);
    if unit == 0 {
        unit = recorder.arena.allocate(units(size_of::<Cold>()))?;
        cell.cold.store(unit, Relaxed);
    }
    Some(recorder.arena.at(unit))
}

/// A thread that did not get the lock at the first try, until it gets it or gives up.
#[derive(Debug)]
pub struct Blocked<S> {
    at: S,
    row: Row,
    wait: Wait,
}

impl<S: Site> Blocked<S> {
    /// Begins the wait. The stack is taken now, while the thread has nothing better to do.
    #[cold]
    pub fn begin(at: S, row: Row) -> Self {
        let call = at.ticks();
        let busy = at.begin();
        let mut wait = Wait::begin(at, row.lock, call, Side::Exclusive);
        wait.called_in(at.recorder(), at.stack());
        drop(busy);
        Blocked { at, row, wait }
    }

    /// The wait has a deadline.
    pub fn has_deadline(&self) {
        wants::has_deadline(self.at.recorder());
    }

    /// Whether the wait is for the lock of this row.
    pub fn is_for(&self, row: Row) -> bool {
        std::ptr::eq(self.row.lock, row.lock)
    }

    /// The same wait at another site of its thread; the site where it began may be gone.
    pub fn moved_to(self, at: S) -> Self {
        debug_assert!(
            std::ptr::eq(self.at.recorder().thread, at.recorder().thread),
            "a wait is its thread's"
        );
        Blocked { at, ..self }
    }

    /// The lock was taken.
    pub fn acquired(self) {
        let Blocked { at, row, wait } = self;
        if !at.is_here() {
            return;
        }
        let now = at.ticks();
        let busy = at.begin();
        let call = wait.call;
        let is_summed = is_summed(row.lock);
        let release = if is_summed { None } else { last_release(at.recorder(), row.lock) };
        let opened = release.and_then(|release| wait.opened(at.recorder(), row.lock, release, now));
        let release = release.unwrap_or(0);
        if let (0, Some(opened)) = (release, opened) {
            blame::close(row.lock, opened, now);
        }
        let Wait { arrival, ahead, free, stack, .. } = wait;
        let slept = wait.sleeps.slept(at);
        wait.leave(at.recorder(), row.lock);
        chain::was_blocked(at.recorder(), row.lock, arrival);
        let is_signal = row.lock.crossed.load(Relaxed) != 0; // A semaphore in use as one.
        let by = match is_signal {
            true => woken::ended(at.recorder(), row.lock, (call, now), ahead),
            false => By::owner(at.recorder(), row.lock, release),
        };
        bump(&row.cell.acquisitions);
        if !is_summed {
            take(at.recorder(), row, at.site(), now);
        }
        let free = free.since(row.lock, 0).min(now.saturating_sub(arrival));
        record_wait(
            at,
            row,
            Waited { call, now, release, stack, by, free, slept, ..Waited::default() },
        );
        if is_signal && by.at != 0 {
            ended_since(at.recorder(), row, (call, now), by);
        }
        if let Some(opened) = opened {
            let woken = row.lock.woken.load(Relaxed);
            let cause = match release {
                0 => cause::UNKNOWN, // The releaser had no waiter to wake.
                _ => cause_of(call, opened, woken, now),
            };
            close_idle(at, row, Idle { opened, now, release, cause });
        }
        drop(busy);
    }

    /// The lock was taken from a thread that had died with it: what all waiters waited is in that one's hold.
    #[cold]
    pub fn inherited(self) {
        let Blocked { at, row, .. } = self;
        if at.is_here() {
            let busy = at.begin();
            blame::died(at.recorder(), row, at.ticks());
            drop(busy);
        }
        self.acquired();
    }

    /// The call failed since its own thread holds the lock (EDEADLK): that was no wait, and no other hold can have
    /// ended meanwhile.
    pub fn refused(self) {
        let Blocked { at, row, wait } = self;
        if at.is_here() {
            let busy = at.begin();
            wait.give_up(at.recorder(), row.lock);
            drop(busy);
        }
    }

    /// The wait ended without the lock: its time ran out, or it was interrupted or cancelled.
    pub fn gave_up(self) {
        let Blocked { at, row, wait } = self;
        if !at.is_here() {
            return;
        }
        let now = at.ticks();
        let busy = at.begin();
        let release = row.lock.release.load(Relaxed);
        let opened = if release != 0 {
            waiters::opened(at.recorder(), row.lock, release, now)
        } else {
            None
        };
        let Wait { call, arrival, free, stack, .. } = wait;
        let slept = wait.sleeps.slept(at);
        let others = wait.give_up(at.recorder(), row.lock);
        if let Some(piece) = blame::last_piece(at.recorder(), row.lock, arrival, now) {
            blame::book(at.recorder(), row.cell, piece);
            let for_holder = piece.until(now).filter(|_| passing::has_holders(row.lock));
            chain::waited_for(at.recorder(), for_holder);
        }
        let free_now = if release != 0 { now.saturating_sub(release) } else { 0 };
        let free = free.since(row.lock, free_now).min(now.saturating_sub(arrival));
        let ended = End::TimedOut;
        record_wait(at, row, Waited { call, now, ended, stack, free, slept, ..Waited::default() });
        match opened {
            Some(opened) if others == 0 => {
                row.lock.wanted_at.store(0, Relaxed); // The next waiter wants it only from its arrival on.
                close_idle(at, row, Idle { opened, now, release, cause: cause::UNKNOWN });
            }
            Some(opened) => row.lock.open_since.store(opened, Relaxed),
            None => {}
        }
        drop(busy);
    }
}

/// Records one wait. The thread must be marked as recording.
pub fn record_wait(at: impl Site, row: Row, waited: Waited) {
    let Some(cold) = cold(at.recorder(), row.cell) else { return };
    let length = difference(at.recorder(), waited.call, waited.now);
    bump(&cold.blocked);
    add(&cold.wait_total, length);
    bump(&cold.wait[FINE.bucket(length)]);
    blame::waited(at.recorder(), row.cell, waited.stack, length);
    if waited.ended == End::TimedOut {
        bump(&cold.timed_out);
        add(&cold.timed_out_total, length);
        cold.timed_out_max.store(cold.timed_out_max.load(Relaxed).max(length), Relaxed);
    }
    let fresh =
        Fresh { ticks: length, at: waited.now, release: waited.release, cause: cause::UNKNOWN };
    note_extreme(at, &cold.wait_worst, row.lock, fresh);
    add(&cold.wait_free, waited.free);
    slept::note(cold, waited.slept);
    log::wait(at.recorder(), row.lock, &waited);
}

/// A try failed because the lock was not free.
#[cold]
pub fn try_failed(at: impl Site, cell: &Cell) {
    let busy = at.begin();
    if let Some(cold) = cold(at.recorder(), cell) {
        bump(&cold.try_failed);
    }
    drop(busy);
}

/// Calls `wait` for an object without a holder. `begin` says when it begins: now, or with the [`ends`] of a thread
/// that may end all waits, its own too. `ended` says how the result ends the wait; none: it did not wait.
#[inline(always)]
pub fn sleep<S: Site, R: Copy>(
    found: Option<(S, Row)>,
    begin: impl FnOnce(S, Row) -> u64,
    wait: impl FnOnce() -> R,
    ended: impl FnOnce(R) -> Option<End>,
) -> R {
    let Some((at, row)) = found else { return wait() };
    let asleep_since = &at.recorder().thread.asleep_since;
    let call = begin(at, row);
    let busy = at.begin();
    let before = Before::now(at);
    drop(busy);
    let stack = at.site();
    asleep_since.store(call, Relaxed);
    wants::begin(at.recorder(), row.lock, call, false);
    wants::called_in(at.recorder(), stack);
    let ahead = row.lock.attention.fetch_add(1, Relaxed) & attention::WAITERS;
    let result = wait();
    if !at.is_here() {
        return result;
    }
    row.lock.attention.fetch_sub(1, Relaxed);
    asleep_since.store(0, Relaxed);
    wants::end(at.recorder());
    if let Some(ended) = ended(result) {
        let now = at.ticks();
        let busy = at.begin();
        bump(&row.cell.acquisitions);
        let slept = before.slept(at);
        let came = ended == End::Came;
        let by =
            if came { ended_by(at.recorder(), row, (call, now), ahead) } else { By::default() };
        if !is_last(at.recorder(), row, call, by) {
            let waited = Waited { call, now, ended, stack, by, slept, ..Waited::default() };
            record_wait(at, row, waited);
            if by.at != 0 {
                ended_since(at.recorder(), row, (call, now), by);
            }
        }
        drop(busy);
    }
    result
}

/// Whether the calling thread, which arrived at `call`, was the last one at a barrier: it did not wait.
fn is_last(recorder: &Recorder, row: Row, call: u64, by: By) -> bool {
    let is_own = (by.at, by.unit) == (call, recorder.arena.unit_of(recorder.thread));
    is_own && row.lock.kind.load(Relaxed) == kind::BARRIER
}

/// The calling thread is about to end waits, of at most `waiters` threads, for an object without a holder: a signal, a
/// post, an arrival. The result is the time. Its stack is always known if a thread waits.
pub fn ends(at: impl Site, lock: &'static Lock, waiters: u64) -> u64 {
    let is_wanted = waiters::count(lock) != 0;
    let stack = if is_wanted {
        let _busy = at.begin();
        at.stack()
    } else {
        at.site()
    };
    let kind = lock.kind.load(Relaxed);
    if kind == kind::BARRIER {
        rounds::arrives();
    }
    lock.release_stack.store(stack, Relaxed);
    let now = at.ticks();
    if is_wanted && kind != kind::BARRIER {
        woken::note(at.recorder(), lock, stack, (now, waiters));
    }
    if is_wanted && kind == kind::FUTEX {
        wakes::note(at.recorder(), lock, stack, now);
    }
    lock.ended_by.store(at.recorder().arena.unit_of(at.recorder().thread), Relaxed);
    lock.signalled.store(now, Relaxed);
    now
}

/// What ended the calling thread's wait from `call` to `now`, when `ahead` threads waited already.
fn ended_by(recorder: &Recorder, row: Row, (call, now): (u64, u64), ahead: u32) -> By {
    match row.lock.kind.load(Relaxed) {
        kind::BARRIER => rounds::ended(recorder, row.lock, (call, now)),
        _ => woken::ended(recorder, row.lock, (call, now), ahead),
    }
}

/// Books the wait from `call` to `now`, which ended so.
fn ended_since(recorder: &Recorder, row: Row, (call, now): (u64, u64), by: By) {
    match row.lock.kind.load(Relaxed) {
        kind::BARRIER => rounds::book(recorder, row, by.stack, now.saturating_sub(call)),
        kind::FUTEX => passing::came(recorder, row, (call, now), by),
        _ => passing::book(recorder, row, (call, now), (by, 0)),
    }
}

/// A return to a mutex from a condition variable that another thread made wait.
#[derive(Debug)]
pub struct Back {
    /// When the wait for the condition ended.
    pub ended: u64,
    /// Whether a signal ended it.
    pub is_signalled: bool,
    /// The last release of the mutex, after that.
    pub release: u64,
    /// When the thread had the mutex.
    pub now: u64,
}

/// Records what the holds of a mutex cost a thread that returned to it, and returns how long the mutex was free. The
/// signal or the deadline that ended the wait preceded the release (otherwise the return would not have blocked), so
/// the thread had been woken by then. The thread must be marked as recording.
pub fn came_back(at: impl Site, row: Row, back: Back) -> u64 {
    let Back { ended, is_signalled, release, now } = back;
    let cause = cause::NOT_SCHEDULED;
    close_idle(at, row, Idle { opened: release, now, release, cause });
    let book = |share: Share| {
        let has_begun_before = share.length > share.wait;
        blame::book(at.recorder(), row.cell, share);
        if is_signalled && has_begun_before {
            blame::book(at.recorder(), row.cell, Share { passed_to: WOKEN_INTO, ..share });
        }
    };
    let recorder = at.recorder();
    chain::waited_for(recorder, recent::held(recorder, row.lock, (ended, now)));
    recent::divide(recorder, row.lock, (ended, now), book)
}

/// Why a lock was idle before a waiter that `call`ed for it got it: `woken` is when the releaser had made its wakeup.
/// A wakeup from before the interval, but during the wait, woke the thread for a lock that another one then took.
pub fn cause_of(call: u64, opened: u64, woken: u64, now: u64) -> u32 {
    if woken < opened && woken < call {
        return cause::NOT_WOKEN; // The releaser has yet to wake the waiter, or no waiter had to be woken.
    }
    if woken.saturating_sub(opened) > now.saturating_sub(woken.max(opened)) {
        cause::NOT_WOKEN
    } else {
        cause::NOT_SCHEDULED
    }
}
