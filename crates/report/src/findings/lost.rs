//! Waits that found no room in the kernel's tables: the rows are of the others.

use crate::aggregate::sum;
use crate::run::{Finding, RunReport};
use uncontended_figures::{count, duration, percent};

/// From this share of all waits on, what the rows show is not the whole answer.
const MUCH: f64 = 0.2;

/// The finding, if that is a large part of the waits, or of the waiting.
pub(super) fn find(report: &RunReport) -> Option<Finding> {
    let (lost, lost_ns) = (report.coverage.lost_waits, report.coverage.lost_wait_ns);
    let rows = || report.processes.iter().flat_map(|process| &process.locks);
    let blocked = sum(rows().map(|lock| lock.blocked));
    let waited_ns = sum(rows().map(|lock| lock.wait_ns.as_ref().map_or(0, |wait| wait.total)));
    let share = |lost: u64, kept: u64| lost as f64 / lost.saturating_add(kept).max(1) as f64;
    let of_waits = share(lost, blocked);
    if of_waits.max(share(lost_ns, waited_ns)) <= MUCH {
        return None;
    }
    let text = format!(
        "{} of the waits ({}, {} of them known) found no room in the kernel's tables and are in no row: the figures are of the others. \
         In a shorter time (`--for 1s`) threads wait for fewer locks",
        percent(of_waits),
        count(lost),
        duration(lost_ns)
    );
    let evidence = [("lost_waits", lost as f64), ("lost_wait_ns", lost_ns as f64)];
    let evidence = evidence.map(|(name, value)| (name.to_owned(), value)).into();
    Some(Finding {
        rule: "lost".to_owned(),
        text,
        lock: None,
        locks: Vec::new(),
        wait_share: None,
        evidence,
    })
}
