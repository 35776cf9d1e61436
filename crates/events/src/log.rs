//! The log of a thread's waits, holds and spans: when each was, and which thread ended the waits. From all threads'
//! logs follows the path that set a run's length.
//!
//! # Contract
//! [`wait`], [`hold`], [`join`] and [`span`] keep the newest of the calling thread's, at most [`LOG_PARTS`] parts of
//! [`LOGGED`]. Of holds, those for which others waited and long ones are kept. Only the thread writes its log, and no
//! other thread reads it: it is for the reader of the record. What ended a wait is evidence, as the words that it comes
//! from: a thread that acts between the end of a wait and its return may take its place.
//! # State
//! `Thread::log` is the first part, `Thread::log_now` the one being filled. The parts form a ring (`LogPart::after`).
//! `Header::log_parts` counts those of all threads. They have at most an eighth of the record, but a thread without any
//! gets its first one up to a quarter.
//! # Invariants
//! I1: a part is linked before it is filled, and the number of its first entry set when it begins to be filled again.
//! # Evidence
//! `tests/log.rs`; `tests/programs`: `path.c`.

use crate::site::Recorder;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_trace::layout::{
    ALL_LOG_PARTS, Cell, LOG_PARTS, LOGGED, Lock, LogPart, Logged, Thread, Unit, logged, units,
};

/// What ended a wait. The default is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct By {
    /// When.
    pub at: u64,
    /// The thread, or its cell of the lock.
    pub unit: Unit,
    /// Stack of its acquisition or wakeup; 0 if unknown.
    pub stack: u32,
}

impl By {
    /// The last owner of `lock`, by its release at `release` (0: not seen). Called before the lock has a new owner.
    pub fn owner(recorder: &Recorder, lock: &Lock, release: u64) -> By {
        By::holder(recorder, release, lock.owner.load(Relaxed))
    }

    /// The thread that left a read-write lock last, if that was from `call` to `now`. `lock` is the writers' row.
    pub fn leaver(recorder: &Recorder, lock: &Lock, (call, now): (u64, u64)) -> By {
        let left = lock.signalled.load(Relaxed);
        let release = if (call..=now).contains(&left) { left } else { 0 };
        By::holder(recorder, release, lock.ended_by.load(Relaxed))
    }

    fn holder(recorder: &Recorder, release: u64, cell: Unit) -> By {
        if release == 0 || cell == 0 {
            return By::default();
        }
        By { at: release, unit: cell, stack: recorder.arena.at::<Cell>(cell).site.load(Relaxed) }
    }

    /// The thread that ended waits for `lock` last, if that was from `call` to `now`.
    pub fn waker(lock: &Lock, (call, now): (u64, u64)) -> By {
        let at = lock.signalled.load(Relaxed);
        let (unit, stack) = (lock.ended_by.load(Relaxed), lock.release_stack.load(Relaxed));
        if (call..=now).contains(&at) { By { at, unit, stack } } else { By::default() }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// With what it was for.
    #[default]
    Came,
    /// Without it: its time ran out, or it was interrupted or cancelled.
    TimedOut,
}

/// A wait, from the call to its end.
#[derive(Debug, Default)]
pub struct Waited {
    /// When it began.
    pub call: u64,
    /// When it ended.
    pub now: u64,
    /// The release before it; 0 if unknown.
    pub release: u64,
    /// How it ended.
    pub ended: End,
    /// Stack of its call; 0 if unknown.
    pub stack: u32,
    /// What ended it.
    pub by: By,
    /// If it continues the thread's last wait for the condition: how long the thread had had the mutex by then.
    pub continues_after: Option<u64>,
    /// The part of it during which the lock was free.
    pub free: u64,
    /// Whether the thread slept; none if that is unknown.
    pub slept: Option<bool>,
}

/// A wait, a hold or a span that has ended.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    what: u32,
    began: u64,
    ended: u64,
    lock: Unit,
    joined: u64,
    stack: u32,
    by: By,
    free: u64,
    between: u32,
}

/// Keeps a wait of the calling thread for `lock`. The thread must be marked as recording.
pub(crate) fn wait(recorder: &Recorder, lock: &Lock, waited: &Waited) {
    let &Waited { call: began, now: ended, stack, by, continues_after, free, .. } = waited;
    let what = if continues_after.is_some() { logged::CONTINUED } else { logged::WAIT };
    let between = u32::try_from(continues_after.unwrap_or(0)).unwrap_or(u32::MAX);
    let lock = recorder.arena.unit_of(lock);
    note(recorder, Entry { what, began, ended, lock, joined: 0, stack, by, free, between });
}

/// Keeps a hold of the calling thread, with the stack of its acquisition. The thread must be marked as recording.
pub fn hold(recorder: &Recorder, lock: &Lock, (began, ended): (u64, u64), stack: u32) {
    let lock = recorder.arena.unit_of(lock);
    let entry = Entry { what: logged::HOLD, began, ended, lock, stack, ..Entry::default() };
    note(recorder, entry);
}

/// Keeps a wait of the calling thread for the end of the one with this handle and this number in their PID namespace (0
/// if it had ended before, or that is unknown). The thread must be marked as recording.
pub fn join(recorder: &Recorder, (joined, number): (u64, u32), (began, ended): (u64, u64)) {
    let by = By { unit: tid(recorder, number), ..By::default() };
    note(recorder, Entry { what: logged::JOIN, began, ended, joined, by, ..Entry::default() });
}

/// The ID of the process's thread that has this number in their PID namespace; the same number if no other is known.
fn tid(recorder: &Recorder, number: u32) -> u32 {
    let Recorder { arena, process, thread, .. } = recorder;
    if number == 0 || thread.tid.load(Relaxed) == thread.number.load(Relaxed) {
        return number;
    }
    let mut threads = arena.list::<Thread>(&process.threads);
    let named = threads.find(|(_, thread)| thread.number.load(Relaxed) == number);
    named.map_or(number, |(_, thread)| thread.tid.load(Relaxed))
}

/// Keeps a span of the calling thread, by the number of its name. The thread must be marked as recording.
pub(crate) fn span(recorder: &Recorder, name: Unit, (began, ended): (u64, u64)) {
    note(recorder, Entry { what: logged::SPAN, began, ended, lock: name, ..Entry::default() });
}

fn note(recorder: &Recorder, entry: Entry) {
    let Some(part) = part(recorder) else { return };
    let noted = part.noted.load(Relaxed);
    let Some(place) = part.entries.get(noted as usize) else { return };
    let Logged { began, ended, by_at, joined, free, lock, stack, by, by_stack, what, between } =
        place;
    began.store(entry.began, Relaxed);
    ended.store(entry.ended, Relaxed);
    by_at.store(entry.by.at, Relaxed);
    joined.store(entry.joined, Relaxed);
    free.store(entry.free, Relaxed);
    lock.store(entry.lock, Relaxed);
    stack.store(entry.stack, Relaxed);
    by.store(entry.by.unit, Relaxed);
    by_stack.store(entry.by.stack, Relaxed);
    what.store(entry.what, Relaxed);
    between.store(entry.between, Relaxed);
    part.noted.store(noted + 1, Relaxed);
}

/// The part of the calling thread's log that has room for one more wait; none if there is no memory for the first one.
fn part(recorder: &Recorder) -> Option<&'static LogPart> {
    let now = recorder.thread.log_now.load(Relaxed);
    if now == 0 {
        let first = fresh(recorder)?;
        let part: &LogPart = recorder.arena.at(first);
        part.after.store(first, Relaxed);
        recorder.thread.log.store(first, Relaxed);
        recorder.thread.log_now.store(first, Relaxed);
        return Some(part);
    }
    let part: &LogPart = recorder.arena.at(now);
    let is_full = part.noted.load(Relaxed) as usize >= LOGGED;
    Some(if is_full { following(recorder, part) } else { part })
}

/// The part to fill after `full`: a fresh one, or the oldest.
#[cold]
fn following(recorder: &Recorder, full: &LogPart) -> &'static LogPart {
    if let Some(fresh) = fresh(recorder) {
        // The ring is closed where the oldest part is; the fresh one goes in between.
        recorder.arena.at::<LogPart>(fresh).after.store(full.after.load(Relaxed), Relaxed);
        full.after.store(fresh, Relaxed);
    }
    let next = full.after.load(Relaxed);
    let part: &LogPart = recorder.arena.at(next);
    part.noted.store(0, Relaxed);
    part.first.store(full.first.load(Relaxed) + LOGGED as u64, Relaxed); // I1
    recorder.thread.log_now.store(next, Relaxed);
    part
}

/// Memory for one more part of the calling thread's log, if it may have one.
fn fresh(recorder: &Recorder) -> Option<Unit> {
    let (thread, header) = (recorder.thread, recorder.arena.header());
    let size = units(size_of::<LogPart>());
    let (own, all) = (thread.log_parts.load(Relaxed), header.log_parts.load(Relaxed));
    let most = (header.capacity.load(Relaxed) / 8 / size).min(ALL_LOG_PARTS);
    let may_grow = if own == 0 { all < 2 * most } else { own < LOG_PARTS && all < most };
    let unit = if may_grow { recorder.arena.allocate_if_room(size)? } else { return None };
    thread.log_parts.store(own + 1, Relaxed);
    header.log_parts.fetch_add(1, Relaxed);
    Some(unit)
}
