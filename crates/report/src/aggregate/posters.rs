//! Semaphores that are made of futexes (C++20's): whether the threads that post one have taken it.
//!
//! # Contract
//! A semaphore is a lock if the threads that end its waiting take it themselves. That a thread took it is seen if it
//! waited for it: one that always finds it free is missed, so of a mixture, it is a lock if the functions that post it
//! are those that wait for it. Where none of the threads that post it has waited for it, it may be a signal, or a lock
//! whose holder finds it free: that is left open ([`Class::Unknown`]). C++20's release wakes all waiters, so the number
//! that a call wakes tells nothing.
//! # Evidence
//! `tests/nature.rs`; `crates/cli/tests/semaphores.rs`.

use super::stacks::Stacks;
use crate::run::Class;
use std::collections::HashSet;
use std::sync::Arc;
use uncontended_trace::layout::{CHAIN, PASSED, WAITED, WAKE};
use uncontended_trace::reader::{CellRecord, ThreadRecord};

/// It is a lock if threads that take it ended at least this share of the waiting, or functions that take it.
const MOSTLY: f64 = 0.8;
/// If they ended no more than this share, one may have waited for a signal that it gave later.
const HARDLY: f64 = 0.05;

/// What the semaphore with this number is, by the logs of the threads that waited for it and the code that woke them.
pub(super) fn class(
    lock: u32,
    cells: &[(&ThreadRecord, CellRecord)],
    stacks: &mut Stacks<'_>,
) -> Class {
    let Some(by_takers) = by_takers(lock, cells) else { return Class::Unknown };
    if by_takers >= MOSTLY {
        return Class::Contention;
    }
    let is_in_its_code = in_its_code(cells, stacks) >= MOSTLY;
    match is_in_its_code && by_takers > HARDLY {
        true => Class::Contention,
        false => Class::Unknown,
    }
}

/// The share of the logged waiting that was ended by threads which waited for it too; none if no end is known.
fn by_takers(lock: u32, cells: &[(&ThreadRecord, CellRecord)]) -> Option<f64> {
    let took = cells.iter().filter(|(_, cell)| cell.acquisitions > 0 || cell.blocked > 0);
    let takers: HashSet<u32> = took.map(|(thread, _)| thread.unit).collect();
    let waits = cells.iter().flat_map(|(thread, _)| thread.log.waits());
    let (mut ended, mut by_takers) = (0u64, 0u64);
    for wait in waits.filter(|wait| wait.lock == lock && wait.by != 0) {
        let ticks = wait.ended.saturating_sub(wait.began);
        ended = ended.saturating_add(ticks);
        by_takers = by_takers.saturating_add(if takers.contains(&wait.by) { ticks } else { 0 });
    }
    (ended > 0).then(|| by_takers as f64 / ended as f64)
}

/// The share of the waiting that was ended in functions which wait for it too.
fn in_its_code(cells: &[(&ThreadRecord, CellRecord)], stacks: &mut Stacks<'_>) -> f64 {
    let caused = || cells.iter().flat_map(|(_, cell)| &cell.caused);
    let waits = caused().filter(|caused| caused.passed_to == WAITED);
    let takes: HashSet<Arc<str>> = waits
        .filter_map(|waits| {
            let stack = stacks.frames(waits.stack);
            stacks.skipped.site(&stack)?.function.clone()
        })
        .collect();
    let (mut ended, mut inside) = (0u64, 0u64);
    for wake in caused().filter(|caused| [WAKE, PASSED, CHAIN].contains(&caused.passed_to)) {
        let stack = stacks.wakeup(wake.stack);
        let site = stacks.skipped.site(&stack).and_then(|site| site.function.as_ref());
        ended = ended.saturating_add(wake.wait);
        let is_inside = site.is_some_and(|function| takes.contains(function));
        inside = inside.saturating_add(if is_inside { wake.wait } else { 0 });
    }
    inside as f64 / ended.max(1) as f64
}
