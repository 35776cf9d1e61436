//! Objects that threads pass to each other by waking: conditions and futexes that guard a resource as a lock does.
//!
//! # Contract
//! Python's interpreter lock is a flag and a condition: the thread that gives it up signals, and one that wants it
//! waits. The waiting is for a holder, although no hold can be seen. A wakeup is a *pass* if it comes from the thread
//! whose wait ended last, or after one of that thread's: each then wakes the next before another returns. (A thread
//! that takes what is free has not waited, so any thread may come in between.) Of a futex it is also one if it comes
//! from a thread that has waited here: the waiters of a lock often wake for nothing. A queue's threads are different:
//! those that return do not wake, or several return first. A wakeup of all is not a pass: threads of a queue that waits
//! in both directions at one condition (pigz's, say) announce each change to all.
//!
//! A wait that a pass ended is divided among the threads that had it meanwhile: the time between two wakeups is that of
//! the later one's code. If it times out, and its thread waits again without giving up the mutex in between, both are
//! one wait for that. A wait that another wakeup ended is all that one's.
//! # State
//! `Lock::came` is the thread whose wait ended last, by a wakeup. `Lock::passing`: parts of [`passing`]. Both are
//! evidence: a race of two wakeups blurs it. `Cold::unserved` is the thread's waiting that timed out and may continue.
//! `Lock::recent` has the last [`RECENT`] wakeups while threads waited (`woken`).
//! # Evidence
//! `tests/passing.rs`; `tests/programs/passed_on.c`.

use crate::blame::{self, Share};
use crate::counter::add;
use crate::log::By;
use crate::site::{Recorder, Row};
use crate::wakes;
use uncontended_atomic::Ordering::{Acquire, Relaxed};
use uncontended_trace::layout::{
    CHAIN, CHAINED, Cell, Cold, Lock, PASSED, PastHold, RECENT, Recent, WAKE, attention, kind,
    passing,
};

/// Notes the wakeup that the calling thread is about to make, for one waiter or (`!is_lone`) for all. `cell` is its
/// own; a thread that has not waited at a futex has none.
pub fn signals(recorder: &Recorder, lock: &Lock, cell: Option<&Cell>, is_lone: bool) {
    let came_last = lock.came.load(Relaxed) == recorder.arena.unit_of(recorder.thread);
    let is_over = came_last || lock.passing.load(Relaxed) & passing::OVER != 0;
    let has_waited = lock.kind.load(Relaxed) == kind::FUTEX && cell.is_some();
    let over = if is_over { passing::OVER } else { 0 };
    let pass = if is_over || has_waited { passing::PASS } else { 0 };
    lock.passing.store(if is_lone { over | pass } else { 0 }, Relaxed);
    if let Some(cell) = cell {
        forget(recorder, cell);
    }
}

/// What its thread waited for before is no longer wanted: it has it, or does other things.
fn forget(recorder: &Recorder, cell: &Cell) {
    if let Some(cold) = waited(recorder, cell) {
        cold.unserved.store(0, Relaxed);
    }
}

/// What is known of a wait when it begins.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// If it continues one that timed out, or was ended for nothing: how long its thread had had the mutex.
    pub continues_after: Option<u64>,
    /// How many threads waited already.
    pub ahead: u32,
}

/// The thread of `row` begins a wait for a condition at `call`, and has had its mutex since `held_since`.
pub fn begins(recorder: &Recorder, row: Row, (held_since, call): (u64, u64)) -> Begun {
    let Row { cell, lock } = row;
    let ahead = lock.attention.fetch_add(1, Relaxed) & attention::WAITERS;
    let cold = waited(recorder, cell);
    let is_same = |cold: &Cold| cold.unserved_at.load(Relaxed) == held_since;
    let continues = held_since != 0 && cold.is_some_and(is_same);
    if !continues {
        forget(recorder, cell);
    }
    let continues_after = continues.then(|| call.saturating_sub(held_since));
    Begun { continues_after, ahead }
}

/// Notes that its wait since `call` timed out at `ended`, and that it has the mutex since `now`. What it waited before
/// the last pass was for those that had it until then; the rest may continue. The thread must be marked as recording.
pub fn timed_out(recorder: &Recorder, row: Row, (call, ended): (u64, u64), now: u64) {
    let Row { cell, lock } = row;
    let Some(cold) = waited(recorder, cell) else { return };
    let unserved = cold.unserved.load(Relaxed).wrapping_add(ended.saturating_sub(call));
    let (from, last) = (ended.saturating_sub(unserved), lock.signalled.load(Relaxed));
    let is_pass = lock.passing.load(Relaxed) & passing::PASS != 0 && (call..=now).contains(&last);
    let mut late = last.saturating_sub(ended);
    let mut booked = 0;
    if is_pass {
        divide(recorder, lock, (from, last), |site, wait| {
            let part = wait.saturating_sub(late);
            late = late.saturating_sub(wait);
            booked += part;
            blame::book(recorder, cell, Share { passed_to: PASSED, ..piece(site, part) });
        });
    }
    add(&cold.served, booked);
    let rest = if is_pass { ended.saturating_sub(last) } else { unserved };
    cold.unserved.store(rest, Relaxed);
}

/// What ended a wait since `call` that timed out at `ended`, if its thread, which has the mutex since `now`, does not
/// wait again: it finds what another one has passed on meanwhile.
pub fn found_free(lock: &Lock, (call, ended): (u64, u64), now: u64) -> By {
    let by = By::waker(lock, (call, now));
    let is_pass = lock.passing.load(Relaxed) & passing::PASS != 0;
    if is_pass { By { at: by.at.min(ended), ..by } } else { By::default() }
}

/// Notes that a wait for a condition is over, and that its thread has the mutex since `now`: if it waits again without
/// giving up the mutex in between, it did not get what it waits for.
pub fn came_back(recorder: &Recorder, row: Row, now: u64) {
    if let Some(cold) = waited(recorder, row.cell) {
        cold.unserved_at.store(now, Relaxed);
    }
}

/// The wait is over.
pub fn ended(lock: &Lock) {
    lock.attention.fetch_sub(1, Relaxed);
}

/// Books the wait for a condition or a futex from `call` to `ended`, when the wakeup `by` ended it. Another return
/// without another wakeup is no longer a pass.
pub fn came(recorder: &Recorder, row: Row, (call, ended): (u64, u64), by: By) {
    let Row { cell, lock } = row;
    let before = waited(recorder, cell).map_or(0, |cold| {
        let before = cold.unserved.load(Relaxed);
        add(&cold.served, before);
        before
    });
    book(recorder, row, (call, ended), (by, before));
    forget(recorder, cell);
    lock.came.store(recorder.arena.unit_of(recorder.thread), Relaxed);
    lock.passing.store(0, Relaxed);
}

/// Books a wait from `call` to `now`, when the wakeup `by` had ended it, after `unserved` ticks of the same waiting.
/// The thread must be marked as recording.
pub(crate) fn book(
    recorder: &Recorder,
    row: Row,
    (call, now): (u64, u64),
    (by, unserved): (By, u64),
) {
    let Row { cell, lock } = row;
    let is_pass = lock.passing.load(Relaxed) & passing::PASS != 0;
    let wait = now.saturating_sub(call);
    let mut is_chain = false;
    if lock.kind.load(Relaxed) == kind::FUTEX {
        wakes::divide(recorder, lock, (call, now), by.at, |site, part| {
            is_chain |= part != wait;
            if is_chain && !is_pass {
                blame::book(recorder, cell, Share { passed_to: CHAINED, ..piece(site, part) });
            }
        });
    }
    if !is_pass {
        let passed_to = if is_chain { CHAIN } else { WAKE };
        let share = Share { passed_to, ..piece(by.stack, wait.wrapping_add(unserved)) };
        return blame::book(recorder, cell, share);
    }
    divide(recorder, lock, (call.saturating_sub(unserved), now), |site, wait| {
        blame::book(recorder, cell, Share { passed_to: PASSED, ..piece(site, wait) });
    });
}

/// A part of a wait, by a wakeup with this stack.
fn piece(site: u32, wait: u64) -> Share {
    Share { site, wait, waits: 1, holds: 1, length: wait, ..Share::default() }
}

/// Divides the time from `from` to `now` among the wakeups since `from`: `book` gets each one's stack and time. What
/// was before the oldest wakeup that is known stays unknown.
fn divide(
    recorder: &Recorder,
    lock: &Lock,
    (from, now): (u64, u64),
    mut book: impl FnMut(u32, u64),
) {
    let unit = lock.recent.load(Relaxed);
    if unit == 0 {
        return;
    }
    let recent: &Recent = recorder.arena.at(unit);
    let noted = recent.noted.load(Relaxed);
    let oldest = noted.saturating_sub(RECENT as u64);
    let (mut later, mut is_complete) = (None, oldest == 0);
    for number in (oldest..noted).rev() {
        let PastHold { ended, site, .. } = &recent.holds[number as usize % RECENT];
        // EDGE wakeup (acquire): the rest of the entry.
        let ended = ended.load(Acquire);
        if ended <= from {
            is_complete = true;
            continue; // It came before, or is not written yet.
        }
        let until = later.map_or(now, |(_, until)| until);
        if ended > until {
            continue; // It came after the end.
        }
        if let Some((site, until)) = later {
            book(site, until - ended);
        }
        // The time after the last wakeup was its thread's to wake the waiter.
        later = Some((site.load(Relaxed), if later.is_none() { now } else { ended }));
    }
    if let Some((site, until)) = later.filter(|_| is_complete) {
        book(site, until - from);
    }
}

/// The part of a cell for waits, if its thread has waited.
fn waited(recorder: &Recorder, cell: &Cell) -> Option<&'static Cold> {
    let cold = cell.cold.load(Relaxed);
    (cold != 0).then(|| recorder.arena.at(cold))
}

/// A thread that has taken the semaphore is about to post it.
#[inline(always)]
pub fn gives_back(lock: &Lock) {
    if lock.passing.load(Relaxed) & passing::BACK == 0 {
        lock.passing.fetch_or(passing::BACK, Relaxed);
    }
}

/// Whether a thread that took the lock has it until it gives it back: of a semaphore, once it is known to be a lock.
pub(crate) fn has_holders(lock: &Lock) -> bool {
    let is_back = || lock.passing.load(Relaxed) & passing::BACK != 0;
    lock.kind.load(Relaxed) != kind::SEMAPHORE || lock.crossed.load(Relaxed) == 0 && is_back()
}
