//! What observing cost the program.
//!
//! # Contract
//! The cost of all calls is that of an uncontended lock and unlock, for each time that a lock was taken. It is at least
//! about that: a call that waits, or of which the caches do not hold what is recorded, costs more. It is a share of the
//! CPU time of the program as it ran, observed.
//! # Evidence
//! `crates/report/tests/cost.rs`.

use super::sum;
use crate::facts::Facts;
use crate::run::{Kind, Lock, Observer, Process};
use uncontended_trace::reader::Record;

/// The cost of observing the run.
pub(super) fn observer(record: &Record<'_>, facts: &Facts, processes: &[Process]) -> Observer {
    let records_dropped = sum([record.dropped_room, record.dropped_busy]);
    let threads = record.processes.iter().flat_map(|process| &process.threads);
    let most_locks = threads.map(|thread| thread.cells.len() as u64).max().unwrap_or(0);
    let cost_ns_per_pair = facts.cost_ns_per_pair;
    let locks = processes.iter().flat_map(|process| &process.locks).filter(|lock| is_taken(lock));
    let taken = sum(locks.map(|lock| lock.acquisitions));
    let cost_ns = cost_ns_per_pair.map(|cost| (cost.max(0.0) * taken as f64) as u64);
    let cost_ns = cost_ns.filter(|_| !record.from_kernel && taken > 0);
    let threads = processes.iter().flat_map(|process| &process.threads);
    let cpu_ns = sum(threads.filter_map(|thread| thread.cpu_ns));
    let cpu_ns = Some(cpu_ns.max(facts.cpu_ns.unwrap_or(0))).filter(|&ns| ns > 0);
    let cpu_share = cost_ns.zip(cpu_ns).map(|(cost, cpu)| (cost as f64 / cpu as f64).min(1.0));
    Observer { cost_ns_per_pair, cost_ns, cpu_share, records_dropped, most_locks }
}

/// Whether threads take it and give it back.
fn is_taken(lock: &Lock) -> bool {
    !matches!(lock.kind, Kind::Condition | Kind::Barrier | Kind::Futex)
}
