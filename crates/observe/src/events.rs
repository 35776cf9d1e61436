//! What happens at a lock, the same for every kind that excludes: acquired, blocked, given up, released.
//!
//! # Contract
//! [`row`] finds or makes what this thread has on a lock. [`acquired`], [`release`] and [`Blocked`] record one event each.
//! What concerns the holder alone writes to its own cell only, and reads the clock only where holds are recorded.
//! # State
//! `Lock::attention` says whether a release concerns anybody. If so, `Lock::release` is its time, until the next owner
//! clears it; if not, it stays 0 as while the lock is held. `Lock::owner` is the cell of the last owner, `Cell::depth` how
//! often its thread holds the lock.
//! # Invariants
//! I1: a cell is written by its own thread only (layout), so plain loads and stores count exactly.
//! I2: `Lock` words are written by the holder, or by someone whose stale word only blurs an evidence, never a count.
//! # Edges
//! None of ours: words that the next owner reads are ordered by the program's own lock.

use crate::ledger::{self, Wait, waiters};
use crate::lives;
use crate::local::{self, Local, Row};
use crate::stack::Caller;
use libc::c_int;
use uncontended_atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_sys::clock::ticks;
use uncontended_trace::histogram::{COARSE, FINE};
use uncontended_trace::layout::{Cell, Cold, Extreme, Late, Lock, cause, units};

/// What the calling thread has on the present life of the lock of `kind` at `key`; none if it may not record now, or there
/// is no room.
#[inline(always)]
pub(crate) fn row(key: u64, kind: u8, caller: Caller) -> Option<(&'static Local, Row)> {
    match local::find(key, kind) {
        Some((local, row)) if !lives::is_dead(row.lock) => Some((local, row)),
        _ => lives::enter(key, kind, caller),
    }
}

/// One more; the counter has one writer (I1).
#[inline(always)]
pub(crate) fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
}

/// The lock was had at the first try.
#[inline(always)]
pub(crate) fn acquired(local: &'static Local, row: Row, caller: Caller) {
    let Row { cell, lock } = row;
    bump(&cell.acquisitions);
    let is_noted = lock.attention.load(Relaxed) != 0 || lock.release.load(Relaxed) != 0;
    if is_noted || cell.depth.load(Relaxed) != 0 {
        return acquired_noted(local, row, caller);
    }
    own(local, row, || if local.holds { ticks() } else { 1 });
}

/// The same for a lock that others want or wanted, or that the thread held already.
#[inline(never)]
fn acquired_noted(local: &'static Local, row: Row, caller: Caller) {
    let Row { cell, lock } = row;
    let now = ticks();
    let depth = cell.depth.load(Relaxed);
    // A depth that outlived a release by another thread is none.
    if depth != 0 && lock.release.load(Relaxed) == 0 && lock.owner.load(Relaxed) == id(local, cell)
    {
        cell.depth.store(depth + 1, Relaxed);
        return;
    }
    if waiters(lock) != 0 {
        barged(local, row, now, caller);
    }
    take(local, row, now);
}

/// The number by which a lock knows its owner.
#[inline(always)]
pub(crate) fn id(local: &Local, cell: &Cell) -> u32 {
    local.arena.unit_of(cell)
}

/// When the lock was released before it was had now; 0 if that concerned nobody, none if it was not seen.
fn last_release(local: &Local, lock: &Lock) -> Option<u64> {
    let stamp = lock.release.load(Relaxed);
    let owner = lock.owner.load(Relaxed);
    let was_seen = || owner != 0 && local.arena.at::<Cell>(owner).depth.load(Relaxed) == 0;
    (stamp != 0 || was_seen()).then_some(stamp)
}

/// The calling thread holds the lock alone from `now` on.
#[inline(always)]
pub(crate) fn take(local: &Local, row: Row, now: u64) {
    row.lock.release.store(0, Relaxed);
    own(local, row, || now);
}

/// The calling thread's hold begins. The clock is read last: beside an atomic instruction that costs least.
#[inline(always)]
pub(crate) fn own(local: &Local, row: Row, now: impl Fn() -> u64) {
    let Row { cell, lock } = row;
    let (owner, own) = (lock.owner.load(Relaxed), id(local, cell));
    if owner != own {
        if owner != 0 {
            bump(&cell.owner_changes);
        }
        lock.owner.store(own, Relaxed);
    }
    cell.depth.store(1, Relaxed);
    cell.hold_start.store(now(), Relaxed);
}

/// The lock was free, was wanted by others, and went to this thread, which had not waited.
#[inline(never)]
fn barged(local: &'static Local, row: Row, now: u64, caller: Caller) {
    let lock = row.lock;
    let Some(release) = last_release(local, lock) else { return };
    // Threads fight for the lock in the usual case: somebody waited already when it was released, and still does.
    let since_release = release != 0
        && lock.wanted_at.load(Relaxed) == release
        && lock.open_since.load(Relaxed) == 0;
    let opened =
        if since_release { Some(release) } else { ledger::opened(local, lock, release, now) };
    if let Some(opened) = opened {
        close_idle(local, row, Idle { opened, now, release, cause: cause::BARGED }, caller);
    }
}

/// An interval during which a lock was free and wanted.
pub(crate) struct Idle {
    pub(crate) opened: u64,
    pub(crate) now: u64,
    pub(crate) release: u64,
    pub(crate) cause: u32,
}

/// Records an idle interval that this thread ended.
#[inline]
pub(crate) fn close_idle(local: &'static Local, row: Row, idle: Idle, caller: Caller) {
    let Some(cold) = cold(local, row.cell) else { return };
    let length = difference(local, idle.opened, idle.now);
    add(&cold.idle_total, length);
    bump(&cold.idle[FINE.bucket(length)]);
    let fresh = Fresh { ticks: length, at: idle.now, release: idle.release, cause: idle.cause };
    note_extreme(local, &cold.idle_worst, row.lock, fresh, caller);
}

/// `later - earlier`; counted, and 0, if the clocks of two CPUs contradict.
fn difference(local: &Local, earlier: u64, later: u64) -> u64 {
    later.checked_sub(earlier).unwrap_or_else(|| {
        local.arena.header().negative.fetch_add(1, Relaxed);
        0
    })
}

/// A candidate for the longest four.
struct Fresh {
    ticks: u64,
    at: u64,
    release: u64,
    cause: u32,
}

/// Keeps the longest four, longest first.
#[inline(always)]
fn note_extreme(
    local: &'static Local,
    worst: &[Extreme; 4],
    lock: &Lock,
    fresh: Fresh,
    caller: Caller,
) {
    if fresh.ticks > worst[3].ticks.load(Relaxed) {
        keep_extreme(local, worst, lock, fresh, caller);
    }
}

#[cold]
fn keep_extreme(
    local: &'static Local,
    worst: &[Extreme; 4],
    lock: &Lock,
    fresh: Fresh,
    caller: Caller,
) {
    let _busy = local.begin();
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
    kept.mine.store(caller.stack(local), Relaxed);
    kept.other
        .store(if is_of_this_release { lock.release_stack.load(Relaxed) } else { 0 }, Relaxed);
    kept.cause.store(fresh.cause, Relaxed);
}

/// What waiting adds to a cell, made at the first wait; none if there is no room.
pub(crate) fn cold(local: &Local, cell: &Cell) -> Option<&'static Cold> {
    let mut unit = cell.cold.load(Relaxed);
    if unit == 0 {
        unit = local.arena.allocate(units(size_of::<Cold>()))?;
        cell.cold.store(unit, Relaxed);
    }
    Some(local.arena.at(unit))
}

/// A thread that did not get the lock at the first try, until it has it or gives up.
pub(crate) struct Blocked {
    local: &'static Local,
    row: Row,
    caller: Caller,
    wait: Wait,
}

impl Blocked {
    /// Enters the wait; the stack is taken now, while the thread has nothing better to do.
    #[cold]
    pub(crate) fn begin(local: &'static Local, row: Row, caller: Caller) -> Self {
        let call = ticks();
        let busy = local.begin();
        let wait = Wait::begin(local, row.lock, call);
        caller.stack(local);
        drop(busy);
        Blocked { local, row, caller, wait }
    }

    /// Whether it waits for the lock of this row.
    pub(crate) fn is_for(&self, row: Row) -> bool {
        std::ptr::eq(self.row.lock, row.lock)
    }

    /// The lock was had.
    pub(crate) fn acquired(self) {
        let Blocked { local, row, caller, wait } = self;
        let now = ticks();
        let busy = local.begin();
        let call = wait.call;
        let release = last_release(local, row.lock);
        let opened = release.and_then(|release| wait.opened(local, row.lock, release, now));
        let release = release.unwrap_or(0);
        wait.leave(local, row.lock);
        bump(&row.cell.acquisitions);
        take(local, row, now);
        record_wait(local, row, Waited { call, now, release }, caller);
        if let Some(opened) = opened {
            let woken = row.lock.woken.load(Relaxed);
            let cause = match release {
                0 => cause::UNKNOWN, // Who released it had nobody to wake.
                _ => cause_of(call, opened, woken, now),
            };
            close_idle(local, row, Idle { opened, now, release, cause }, caller);
        }
        drop(busy);
    }

    /// The wait ended without the lock.
    pub(crate) fn gave_up(self) {
        let Blocked { local, row, caller, wait } = self;
        let now = ticks();
        let busy = local.begin();
        bump(&row.cell.try_failed);
        let release = row.lock.release.load(Relaxed);
        let opened =
            if release != 0 { ledger::opened(local, row.lock, release, now) } else { None };
        let others = wait.leave(local, row.lock);
        match opened {
            Some(opened) if others == 0 => {
                row.lock.wanted_at.store(0, Relaxed); // The next waiter wants it only from its arrival on.
                close_idle(
                    local,
                    row,
                    Idle { opened, now, release, cause: cause::UNKNOWN },
                    caller,
                );
            }
            Some(opened) => row.lock.open_since.store(opened, Relaxed),
            None => {}
        }
        drop(busy);
    }
}

/// From the call to the acquisition.
pub(crate) struct Waited {
    pub(crate) call: u64,
    pub(crate) now: u64,
    /// The release before it; 0 for unknown.
    pub(crate) release: u64,
}

/// Records one wait. The thread must be marked as recording.
pub(crate) fn record_wait(local: &'static Local, row: Row, waited: Waited, caller: Caller) {
    let Some(cold) = cold(local, row.cell) else { return };
    let length = difference(local, waited.call, waited.now);
    bump(&cold.blocked);
    add(&cold.wait_total, length);
    bump(&cold.wait[FINE.bucket(length)]);
    let fresh =
        Fresh { ticks: length, at: waited.now, release: waited.release, cause: cause::UNKNOWN };
    note_extreme(local, &cold.wait_worst, row.lock, fresh, caller);
}

/// Waits by `wait` for what nobody holds; `slept` says of its result whether that was a wait.
#[inline(always)]
pub(crate) fn sleep<R: Copy>(
    found: Option<(&'static Local, Row)>,
    caller: Caller,
    wait: impl FnOnce() -> R,
    slept: impl FnOnce(R) -> bool,
) -> R {
    let Some((local, row)) = found else { return wait() };
    let asleep_since = &local.thread.get().asleep_since;
    let call = ticks();
    asleep_since.store(call, Relaxed);
    let result = wait();
    asleep_since.store(0, Relaxed);
    if slept(result) {
        let now = ticks();
        let busy = local.begin();
        bump(&row.cell.acquisitions);
        record_wait(local, row, Waited { call, now, release: 0 }, caller);
        drop(busy);
    }
    result
}

/// Records how long a mutex stood free while a thread came back to it from a condition. The signal or the deadline that
/// ended the wait came before the release (else the way back was not blocked), so the thread had been woken by then. The
/// thread must be marked as recording.
pub(crate) fn came_back(local: &'static Local, row: Row, release: u64, now: u64, caller: Caller) {
    let cause = cause::NOT_SCHEDULED;
    close_idle(local, row, Idle { opened: release, now, release, cause }, caller);
}

/// Why a lock that a waiter got at last, `call`ed for then, had stood idle: the releaser says when it had woken whom it
/// wakes. A wake from before the interval, while the thread waited, woke it for a lock that others then took.
pub(crate) fn cause_of(call: u64, opened: u64, woken: u64, now: u64) -> u32 {
    if woken < opened && woken < call {
        return cause::NOT_WOKEN; // The releaser is still about to wake, or nobody had to be woken.
    }
    if woken.saturating_sub(opened) > now.saturating_sub(woken.max(opened)) {
        cause::NOT_WOKEN
    } else {
        cause::NOT_SCHEDULED
    }
}

/// Releases the lock by `unlock`, which answers with 0 if it did. `wakes` says just before whether that may wake somebody.
#[inline(always)]
pub(crate) fn release(
    local: &'static Local,
    row: Row,
    caller: Caller,
    wakes: impl Fn() -> bool,
    unlock: impl Fn() -> c_int,
) -> c_int {
    let Row { cell, lock } = row;
    if lock.attention.load(Relaxed) != 0 || cell.depth.load(Relaxed) != 1 {
        return release_noted(local, row, caller, wakes, unlock);
    }
    cell.depth.store(0, Relaxed);
    let now = if local.holds { ticks() } else { 0 };
    let result = unlock();
    if result != 0 {
        cell.depth.store(1, Relaxed); // It did not happen after all.
    } else if local.holds {
        record_hold(cell, now);
    }
    result
}

/// The same if others want the lock, or will come back to it, or if the thread does not hold it once.
#[inline(never)]
fn release_noted(
    local: &'static Local,
    row: Row,
    caller: Caller,
    wakes: impl Fn() -> bool,
    unlock: impl Fn() -> c_int,
) -> c_int {
    let mut noted = releasing(local, row, caller);
    if let Some(noted) = noted.as_mut().filter(|noted| noted.wakes) {
        noted.wakes = wakes();
    }
    let result = unlock();
    match noted {
        Some(noted) if result == 0 => noted.done(local, row, row.lock, caller),
        Some(noted) => noted.refused(row),
        None => {}
    }
    result
}

/// A release that others may have to know of, from the stamp before it to what is recorded after it.
pub(crate) struct Unlock {
    now: u64,
    /// Whether the release may wake somebody: a lock that knows better clears it.
    wakes: bool,
    /// Whether this thread's own hold ends.
    ends_hold: bool,
    /// Whether all is told of it that others have to know.
    told: bool,
}

/// Stamps the release that is about to happen; none if a recursive lock stays held.
pub(crate) fn releasing(local: &Local, row: Row, caller: Caller) -> Option<Unlock> {
    let Row { cell, lock } = row;
    let depth = cell.depth.load(Relaxed);
    if depth > 1 {
        cell.depth.store(depth - 1, Relaxed);
        return None;
    }
    let release = stamp(local, lock, depth == 1, caller);
    cell.depth.store(0, Relaxed);
    lock.release.store(release.now, Relaxed);
    Some(release)
}

/// The same for one of several holders, of which the last one leaves the lock `state` free.
pub(crate) fn releasing_shared(local: &Local, mine: Row, state: &Lock, caller: Caller) -> Unlock {
    let depth = mine.cell.depth.load(Relaxed);
    let release = stamp(local, state, depth == 1, caller);
    mine.cell.depth.store(depth.saturating_sub(1), Relaxed);
    if depth != 0 && state.holders.fetch_sub(1, Relaxed) == 1 {
        state.release.store(release.now, Relaxed);
    }
    release
}

#[inline(always)]
fn stamp(local: &Local, lock: &Lock, ends_hold: bool, caller: Caller) -> Unlock {
    let now = ticks();
    if lock.attention.load(Relaxed) == 0 {
        return Unlock { now, wakes: false, ends_hold, told: true };
    }
    let stack = caller.known_stack(local);
    lock.release_stack.store(stack.unwrap_or(0), Relaxed);
    lock.stack_at.store(now, Relaxed);
    let wanted = waiters(lock) != 0;
    if wanted {
        lock.wanted_at.store(now, Relaxed);
    }
    Unlock { now, wakes: wanted, ends_hold, told: stack.is_some() }
}

impl Unlock {
    /// The release did not happen after all.
    #[cold]
    fn refused(self, row: Row) {
        row.lock.release.store(0, Relaxed);
        row.cell.depth.store(u32::from(self.ends_hold), Relaxed);
    }

    /// Records what the release ended, outside of the critical section.
    #[inline(always)]
    pub(crate) fn done(self, local: &'static Local, row: Row, lock: &'static Lock, caller: Caller) {
        if self.wakes {
            lock.woken.store(ticks(), Relaxed);
        }
        if !self.told {
            self.tell_stack(local, lock, caller);
        }
        if self.ends_hold && local.holds {
            record_hold(row.cell, self.now);
        }
    }

    /// Says whose release it was.
    #[cold]
    fn tell_stack(&self, local: &'static Local, lock: &'static Lock, caller: Caller) {
        let busy = local.begin();
        let stack = caller.stack(local);
        if let Some(ledger) = ledger::of(local, lock) {
            let slot = ledger.next_late.fetch_add(1, Relaxed) as usize % ledger.late.len();
            let Late { ticks, stack: place } = &ledger.late[slot];
            place.store(u64::from(stack), Relaxed);
            ticks.store(self.now, Relaxed);
        }
        drop(busy);
    }
}

/// Records the hold that ended at `now`.
#[inline(always)]
pub(crate) fn record_hold(cell: &Cell, now: u64) {
    let begun = cell.hold_start.load(Relaxed);
    cell.hold_start.store(0, Relaxed);
    let length = now.saturating_sub(begun);
    add(&cell.hold_total, length);
    let bucket = COARSE.bucket(length);
    let count = cell.hold[bucket].load(Relaxed).wrapping_add(1);
    cell.hold[bucket].store(count, Relaxed);
    if count == 0 {
        let carry = &cell.hold_carry[bucket];
        carry.store(carry.load(Relaxed).wrapping_add(1), Relaxed);
    }
    if length > cell.hold_fourth.load(Relaxed) {
        note_long_hold(cell, length, begun);
    }
}

#[cold]
fn note_long_hold(cell: &Cell, length: u64, begun: u64) {
    let [first, second, third] = &cell.hold_worst;
    let worst = [first, second, third, &cell.hold_fourth];
    let rank = worst.iter().position(|kept| length > kept.load(Relaxed)).unwrap_or(3);
    for place in (rank..3).rev() {
        worst[place + 1].store(worst[place].load(Relaxed), Relaxed);
    }
    worst[rank].store(length, Relaxed);
    if rank == 0 {
        cell.hold_worst_at.store(begun, Relaxed);
    }
}
