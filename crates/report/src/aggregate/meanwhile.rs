//! What each thread waited for, which locks it held, and how long others waited for each lock meanwhile: from the
//! threads' logs, read once for all that ask.
//!
//! # Invariants
//! I1: the waits of one thread are apart and in the order of time, so no instant counts twice.
//! I2: so are the holds of one lock that one thread has at a time.

use super::locks::Rows;
use super::logs::Logs;
use super::waiting::{Waiting, times};
use crate::run::{Kind, Lock};
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, ThreadRecord};

/// A wait. Times are in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// None for another thread's end.
    pub(super) row: Option<usize>,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// Its own stack.
    pub(super) stack: u32,
    /// The thread that ended it, and when; none if that is unknown.
    pub(super) by: Option<(usize, u64)>,
    /// With which stack.
    pub(super) by_stack: u32,
}

/// A hold for which others waited, or a long one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) thread: usize,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// Of the acquisition.
    pub(super) stack: u32,
    /// Whether no other thread had the lock when it ended: the observer follows what its thread waited for.
    pub(super) is_last: bool,
}

/// The waits, the holds, and the waiting.
#[derive(Debug, Default)]
pub(super) struct Meanwhile {
    /// Of each thread (I1).
    pub(super) waits: Vec<Vec<Wait>>,
    /// Of each row, in the order of time.
    pub(super) holds: HashMap<usize, Vec<Hold>>,
    /// For each row.
    pub(super) waiting: HashMap<usize, Waiting>,
    /// The thread whose making was seen did nothing before: when that was, by thread; 0 if it was not seen.
    pub(super) made: Vec<u64>,
}

impl Meanwhile {
    /// From the logs of `image`.
    pub(super) fn new(image: &ProcessRecord, logs: &Logs<'_>, rows: &Rows) -> Self {
        let mut new = Meanwhile::default();
        let mut waited: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
        for (number, thread) in image.threads.iter().enumerate() {
            new.waits.push(waits(thread, logs));
            new.made.push(thread.made_ticks);
            for wait in thread.log.waits() {
                let row = logs.row(wait.lock).filter(|_| wait.what != logged::JOIN);
                row.into_iter().for_each(|row| waited.entry(row).or_default().push(times(wait)));
            }
            for hold in thread.log.holds() {
                let Some(row) = logs.row(hold.lock) else { continue };
                let (began, ended) = times(hold);
                let hold = Hold { thread: number, began, ended, stack: hold.stack, is_last: true };
                new.holds.entry(row).or_default().push(hold);
            }
        }
        for holds in new.holds.values_mut() {
            holds.sort_unstable_by_key(|hold| (hold.ended, hold.began, hold.thread));
        }
        for (row, waits) in waited {
            // Readers have no equal parts.
            let is_shared = rows.locks.get(row).is_some_and(|lock| lock.kind == Kind::RwlockRead);
            let holds = new.holds.get(&row).filter(|_| !is_shared).map_or(&[][..], Vec::as_slice);
            let holds: Vec<(u64, u64)> =
                holds.iter().map(|hold| (hold.began, hold.ended)).collect();
            new.waiting.insert(row, Waiting::new(&waits, &holds, 1));
        }
        new
    }

    /// The waits of a thread that overlap this time.
    pub(super) fn waits_in(
        &self,
        thread: usize,
        (from, to): (u64, u64),
    ) -> impl Iterator<Item = &Wait> {
        let waits = self.waits.get(thread).map_or(&[][..], Vec::as_slice);
        let first = waits.partition_point(|wait| wait.ended <= from);
        waits[first..].iter().take_while(move |wait| wait.began < to)
    }
}

/// Those of `holds` that overlap this time, of a lock that one thread has at a time (I2).
pub(super) fn holds_in(holds: &[Hold], (from, to): (u64, u64)) -> impl Iterator<Item = &Hold> {
    let first = holds.partition_point(|hold| hold.ended <= from);
    holds[first..].iter().take_while(move |hold| hold.began < to)
}

/// The holds of both sides of each read-write lock, as if one thread had it at a time: by the writers' row, which
/// `writers` has for each row of readers.
pub(super) fn of_both_sides(
    meanwhile: &Meanwhile,
    writers: &HashMap<usize, usize>,
) -> HashMap<usize, Vec<Hold>> {
    let of = |row: &usize| meanwhile.holds.get(row).map_or(&[][..], Vec::as_slice);
    let both = writers.iter().map(|(readers, writers)| {
        let mut holds = apart(of(readers));
        holds.extend_from_slice(of(writers));
        holds.sort_unstable_by_key(|hold| (hold.ended, hold.began, hold.thread));
        (*writers, holds)
    });
    both.collect()
}

/// The parts of readers' holds, which are in the order of their ends, that the observer blames on them: each instant
/// belongs to the one that ends last.
fn apart(holds: &[Hold]) -> Vec<Hold> {
    let (mut parts, mut cover) = (Vec::new(), u64::MAX);
    for hold in holds.iter().rev() {
        let (ended, is_last) = (hold.ended.min(cover), hold.ended <= cover);
        if hold.began < ended {
            parts.push(Hold { ended, is_last, ..*hold });
        }
        cover = cover.min(hold.began);
    }
    parts
}

/// The waits of a thread (I1).
fn waits(thread: &ThreadRecord, logs: &Logs<'_>) -> Vec<Wait> {
    let mut apart: Vec<Wait> = Vec::new();
    let mut all = logs.whole_waits(thread);
    all.sort_by_key(|wait| (wait.began, wait.ended));
    for wait in &all {
        let began = apart.last().map_or(wait.began, |last| wait.began.max(last.ended));
        let row = logs.row(wait.lock).filter(|_| wait.what != logged::JOIN);
        // A lock without a row is another process's.
        if began < wait.ended && (row.is_some() || wait.what == logged::JOIN) {
            let &LoggedRecord { ended, stack, by_stack, .. } = wait;
            apart.push(Wait { row, began, ended, stack, by: logs.by(wait), by_stack });
        }
    }
    apart
}

/// Whether one thread has the lock at a time, and waits for it are for that thread's holds.
pub(super) fn is_held_by_one(lock: &Lock) -> bool {
    let is_exclusive = matches!(
        lock.kind,
        Kind::Mutex | Kind::Spin | Kind::Annotated | Kind::Semaphore | Kind::RwlockWrite
    );
    let is_signal = lock.kind == Kind::Semaphore && lock.held_by.is_empty();
    is_exclusive && !is_signal
}

/// The row of the writers' holds for each row of readers, by address and life.
pub(super) fn writers(rows: &Rows) -> HashMap<usize, usize> {
    let of = |kind: Kind| {
        let locks = rows.locks.iter().enumerate();
        locks.filter(move |(_, lock)| lock.kind == kind)
    };
    let key = |lock: &Lock| (lock.address.clone(), lock.life);
    let writers: HashMap<_, usize> =
        of(Kind::RwlockWrite).map(|(row, lock)| (key(lock), row)).collect();
    let pairs =
        of(Kind::RwlockRead).filter_map(|(row, lock)| Some((row, *writers.get(&key(lock))?)));
    pairs.collect()
}
