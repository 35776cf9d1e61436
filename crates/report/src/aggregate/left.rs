//! Locks that a thread had when it ended.
//!
//! # Contract
//! The last thread known to have taken a lock that one thread has at a time had it at its end if others waited for the
//! lock after that: none of them got it, or it would have taken it last.
//! # Evidence
//! `tests/programs`: `dies_with_it.c`.

use super::locks::Rows;
use super::logs::Logs;
use crate::run::{Kind, Left};
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{ProcessRecord, Record, ThreadRecord};

/// Adds the threads that had them to the rows of `image`.
pub(super) fn add(record: &Record<'_>, image: &ProcessRecord, logs: &Logs<'_>, rows: &mut Rows) {
    let cells = |thread: &'_ ThreadRecord| thread.cells.iter().map(|cell| cell.number()).collect();
    let of = |thread| (thread, cells(thread));
    let ended = image.threads.iter().filter(|thread| thread.end_ticks != 0);
    let ended: Vec<(&ThreadRecord, Vec<u32>)> = ended.map(of).collect();
    let owners = ended.iter().flat_map(|(thread, cells)| cells.iter().map(|&cell| (cell, *thread)));
    let owners: HashMap<u32, &ThreadRecord> = owners.collect();
    for lock in image.locks.iter().filter(|lock| !lock.is_released) {
        let Some(owner) = owners.get(&lock.owner) else { continue };
        let is_taken = |kind| matches!(kind, Kind::Mutex | Kind::Spin | Kind::Annotated);
        let row = logs.row(lock.unit).filter(|&row| is_taken(rows.locks[row].kind));
        let Some(row) = row else { continue };
        let waits = image.threads.iter().flat_map(|thread| thread.log.waits());
        let waits = waits.filter(|wait| wait.lock == lock.unit && wait.what == logged::WAIT);
        let since = |began: u64| began.max(owner.end_ticks);
        let waited = super::sum(waits.map(|wait| wait.ended.saturating_sub(since(wait.began))));
        if waited > 0 {
            rows.locks[row].left = Some(Left { tid: owner.tid, wait_ns: record.ns(waited) });
        }
    }
}
