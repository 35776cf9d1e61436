//! Conditions and semaphores that a lock of the program's own making gives each of its threads to sleep on.
//!
//! # Contract
//! Such a lock is none of these: what its threads waited is the sum over all that stand in one row. They are judged
//! together, under the name of the costliest.

use crate::rows::join;
use crate::run::{Blame, Lock, Process};
use std::collections::HashMap;

/// One lock for all of a site.
pub(super) fn joined(process: &Process) -> Vec<Lock> {
    let mut sites: HashMap<_, Vec<&Lock>> = HashMap::new();
    for lock in process.locks.iter().filter(|lock| lock.is_sleepers()) {
        sites.entry((lock.kind, lock.site.as_ref())).or_default().push(lock);
    }
    let mut all: Vec<Lock> = sites.into_values().map(|locks| one(process.pid, locks)).collect();
    all.sort_by_key(|lock| lock.id);
    all
}

fn one(pid: u32, locks: Vec<&Lock>) -> Lock {
    let row = join(pid, locks);
    let blames = row.locks.iter().filter_map(|lock| lock.blame);
    let threads = row.locks.iter().map(|lock| lock.threads).fold(0, u32::saturating_add);
    Lock {
        acquisitions: row.acquisitions,
        blocked: row.blocked,
        timed_out: row.timed_out,
        threads,
        waiters: row.locks.iter().fold(0, |sum, lock| sum.saturating_add(lock.waiters)),
        blame: blames.reduce(Blame::and),
        mean_queue: row.mean_queue,
        wait_share: row.wait_share,
        wait_ns: row.wait.clone(),
        ..row.first().clone()
    }
}
