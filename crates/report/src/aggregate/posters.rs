//! Semaphores that are made of futexes (C++20's): whether the threads that post one have taken it.
//!
//! # Contract
//! A semaphore is a lock if the threads that end its waiting take it themselves, and a signal if they never do. That a
//! thread took it is seen if it waited for it. C++20's release wakes all waiters, so the number that a call wakes tells
//! nothing. A mixture, or logs without the waits, leave it open ([`Class::Unknown`]).
//! # Evidence
//! `tests/nature.rs`; `crates/cli/tests/semaphores.rs`.

use crate::run::Class;
use std::collections::HashSet;
use uncontended_trace::reader::{CellRecord, ThreadRecord};

/// It is a lock if threads that take it ended at least this share of the waiting.
const MOSTLY: f64 = 0.8;
/// It is a signal if they ended at most this share: a thread may have waited for a signal that it gives later.
const HARDLY: f64 = 0.05;

/// What the semaphore with this number is, by the logs of the threads that waited for it.
pub(super) fn class(lock: u32, cells: &[(&ThreadRecord, CellRecord)]) -> Class {
    let took = cells.iter().filter(|(_, cell)| cell.acquisitions > 0 || cell.blocked > 0);
    let takers: HashSet<u32> = took.map(|(thread, _)| thread.unit).collect();
    let waits = cells.iter().flat_map(|(thread, _)| thread.log.waits());
    let (mut ended, mut by_takers) = (0u64, 0u64);
    for wait in waits.filter(|wait| wait.lock == lock && wait.by != 0) {
        let ticks = wait.ended.saturating_sub(wait.began);
        ended = ended.saturating_add(ticks);
        by_takers = by_takers.saturating_add(if takers.contains(&wait.by) { ticks } else { 0 });
    }
    let share = by_takers as f64 / ended.max(1) as f64;
    match ended {
        0 => Class::Unknown,
        _ if share >= MOSTLY => Class::Contention,
        _ if share <= HARDLY => Class::Queue,
        _ => Class::Unknown,
    }
}
