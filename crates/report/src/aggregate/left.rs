//! Locks that a thread had when it ended.
//!
//! # Contract
//! The last thread known to have taken a lock that one thread has at a time had it at its end if others waited for the
//! lock after that: none of them got it, or it would have taken it last. A thread ends with its process, too, whatever
//! ended that; of a lock that processes share, the threads of all of them count.
//! # Evidence
//! `tests/programs`: `dies_with_it.c`, `shared_killed.c`.

use super::joined::Joined;
use super::locks::Rows;
use super::logs::Logs;
use crate::run::{Kind, Left};
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{CellAt, ProcessRecord, Record, ThreadRecord};

/// What threads of any process did to a shared lock.
type Cells<'c> = &'c [(&'c ProcessRecord, &'c ThreadRecord, CellAt)];

/// Adds the threads that had them to the rows of `image`.
pub(super) fn add(
    (record, image): (&Record<'_>, &ProcessRecord),
    joined: &Joined<'_>,
    logs: &Logs<'_>,
    rows: &mut Rows,
) {
    let cells = |thread: &'_ ThreadRecord| thread.cells.iter().map(|cell| cell.number()).collect();
    let of = |thread| (thread, cells(thread));
    let ended = image.threads.iter().filter(|thread| end(image, thread).is_some());
    let ended: Vec<(&ThreadRecord, Vec<u32>)> = ended.map(of).collect();
    let owners = ended.iter().flat_map(|(thread, cells)| cells.iter().map(|&cell| (cell, *thread)));
    let owners: HashMap<u32, &ThreadRecord> = owners.collect();
    for lock in image.locks.iter().filter(|lock| !lock.is_released) {
        let shared = joined.cells(lock.unit);
        let owner = match shared {
            Some(cells) => last_owner(cells, lock.owner),
            None => owners.get(&lock.owner).and_then(|&of| Some((of, end(image, of)?))),
        };
        let Some((owner, end)) = owner else { continue };
        let is_taken = |kind| matches!(kind, Kind::Mutex | Kind::Spin | Kind::Annotated);
        let row = logs.row(lock.unit).filter(|&row| is_taken(rows.locks[row].kind));
        let Some(row) = row else { continue };
        let users: Vec<&ThreadRecord> = match shared {
            Some(cells) => cells.iter().map(|&(_, thread, _)| thread).collect(),
            None => image.threads.iter().collect(),
        };
        let waits = users.into_iter().flat_map(|thread| thread.log.waits());
        let waits = waits.filter(|wait| wait.lock == lock.unit && wait.what == logged::WAIT);
        let waited = waits.map(|wait| wait.ended.saturating_sub(wait.began.max(end)));
        let waited = super::sum(waited);
        if waited > 0 {
            rows.locks[row].left = Some(Left { tid: owner.tid, wait_ns: record.ns(waited) });
        }
    }
}

/// The thread of the cell `owner`, and when it ended; none if it did not.
fn last_owner<'c>(cells: Cells<'c>, owner: u32) -> Option<(&'c ThreadRecord, u64)> {
    let (image, thread, _) = cells.iter().find(|(.., cell)| cell.number() == owner)?;
    Some((thread, end(image, thread)?))
}

/// When a thread of `image` ended, by itself or with its process; none if it did not.
fn end(image: &ProcessRecord, thread: &ThreadRecord) -> Option<u64> {
    let ends = [thread.end_ticks, image.end_ticks].into_iter().filter(|&end| end != 0);
    ends.min()
}
