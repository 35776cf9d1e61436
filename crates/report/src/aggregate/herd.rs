//! Conditions whose wakeups wake several threads at once, most of them for nothing (a thundering herd).
//!
//! # Contract
//! Of a wakeup that woke several threads, those were woken for nothing that waited for the condition again straight
//! away, and had the mutex all along: they looked, and found nothing to do. One at least must have done something else,
//! for what all of them do that fast may be what they were woken for. What that cost is at least what they waited for
//! the mutex on their way back. From the threads' logs; of futexes it is not known when a thread waits again.
//! # Evidence
//! `tests/programs`: `herd.c`.

use super::locks::Rows;
use super::logs::Logs;
use crate::run::{Herd, Kind};
use std::collections::{HashMap, HashSet};
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, Record, ThreadRecord};

/// Within this time a thread looks, and does nothing else.
const LOOK_NS: u64 = 20_000;

/// A thread that was woken.
struct Woken {
    row: usize,
    /// The thread that woke it, and when.
    by: (usize, u64),
    /// Whether it waited again straight away.
    is_back: bool,
    /// What it waited for each mutex in between, in ticks.
    waited: Vec<(u32, u64)>,
}

/// Adds them to the rows of `image`. For now, a lock's number is its place among them.
pub(super) fn add(record: &Record<'_>, image: &ProcessRecord, logs: &Logs<'_>, rows: &mut Rows) {
    let of_thread = |thread| woken(record, thread, logs, rows);
    let woken: Vec<Woken> = image.threads.iter().flat_map(of_thread).collect();
    let found = woken.iter().filter(|one| !one.is_back).map(|one| (one.row, one.by));
    let found: HashSet<(usize, (usize, u64))> = found.collect();
    let mut herds: HashMap<usize, (Herd, HashMap<u32, u64>)> = HashMap::new();
    for one in woken {
        let (herd, waited) = herds.entry(one.row).or_default();
        herd.wakeups += 1;
        if one.is_back && found.contains(&(one.row, one.by)) {
            herd.for_nothing += 1;
            for (lock, ticks) in one.waited {
                *waited.entry(lock).or_default() += ticks;
            }
        }
    }
    for (row, (mut herd, waited)) in herds.into_iter().filter(|(_, (herd, _))| herd.for_nothing > 0)
    {
        herd.wait_ns = record.ns(super::sum(waited.values().copied()));
        let most = waited.into_iter().max_by_key(|&(lock, ticks)| (ticks, lock));
        herd.mutex = most.and_then(|(lock, _)| logs.row(lock)).map(|row| row as u64);
        rows.locks[row].herd = Some(herd);
    }
}

/// How often a thread was woken, at each condition.
fn woken(record: &Record<'_>, thread: &ThreadRecord, logs: &Logs<'_>, rows: &Rows) -> Vec<Woken> {
    let waits: Vec<&LoggedRecord> = thread.log.waits().collect();
    let mut last: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut all: Vec<Woken> = Vec::new();
    for (at, wait) in waits.iter().enumerate().filter(|(_, wait)| wait.what != logged::JOIN) {
        let row = logs.row(wait.lock).filter(|&row| rows.locks[row].kind == Kind::Condition);
        let Some(row) = row else { continue };
        let is_look = record.ns(u64::from(wait.between)) <= LOOK_NS;
        let before = last.remove(&row).filter(|_| wait.what == logged::CONTINUED && is_look);
        if let Some((first, nth)) = before {
            let since = waits[first].ended;
            // A return from a wait is noted with what it waited for the mutex before or after it.
            let between = waits[first.saturating_sub(1)..at].iter();
            let back = between.filter(|back| since <= back.began && back.ended <= wait.began);
            all[nth].waited = back.map(|back| (back.lock, back.ended - back.began)).collect();
            all[nth].is_back = true;
        }
        if let Some(by) = logs.by(wait) {
            last.insert(row, (at, all.len()));
            all.push(Woken { row, by, is_back: false, waited: Vec::new() });
        }
    }
    all
}
