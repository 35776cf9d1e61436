//! Deadlocks come before everything else: nothing that waits for them will go on.

use crate::deadlocks::sentence;
use crate::run::{Deadlock, Finding, RunReport};

/// The rule's name.
pub(super) const RULE: &str = "deadlock";

/// A finding for each deadlock.
pub(super) fn find(report: &RunReport) -> impl Iterator<Item = Finding> {
    report.deadlocks.iter().map(|deadlock| finding(report, deadlock))
}

/// Whether a lock is part of one.
pub(super) fn has(report: &RunReport, lock: u64) -> bool {
    let threads = report.deadlocks.iter().flat_map(|deadlock| &deadlock.threads);
    threads.into_iter().any(|thread| thread.lock == Some(lock))
}

fn finding(report: &RunReport, deadlock: &Deadlock) -> Finding {
    let shortest = deadlock.threads.iter().map(|thread| thread.wait_ns).min().unwrap_or(0);
    let evidence = [
        ("threads", deadlock.threads.len() as f64),
        ("threads_behind", f64::from(deadlock.behind)),
        ("shortest_wait_ns", shortest as f64),
    ];
    Finding {
        rule: RULE.to_owned(),
        text: sentence(report, deadlock),
        lock: deadlock.threads.iter().find_map(|thread| thread.lock),
        locks: Vec::new(),
        wait_share: None,
        evidence: evidence.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}
