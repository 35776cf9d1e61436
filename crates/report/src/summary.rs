//! The report in a line, below its header: what there is to gain, if anything.
//!
//! # Contract
//! It says what the findings and the culprits say: a gain as it is ranked, else the most waiting of which there is a
//! finding or that is as much as one needs, else that there is little to gain. Nothing is said of a run with deadlocks
//! and hangs, which come first anyway, of one of which nothing or only a part was seen, and of a report on a part
//! (`--only`).
//! # Evidence
//! `tests/summary.rs`.

use crate::aggregate::scripts::has_own_locks;
use crate::aggregate::sum;
use crate::findings::MATERIAL_SHARE;
use crate::hangs;
use crate::rows::place;
use crate::run::{Blamed, Class, GAINS, Lock, Process, RunReport};
use crate::terminal::{shown, unranked, waited_ns, words};
use std::collections::HashSet;
use uncontended_figures::percent;

/// The sentence, without a full stop.
pub(crate) fn summary(report: &RunReport) -> Option<String> {
    let is_stuck = !report.deadlocks.is_empty() || !hangs::all(report).is_empty();
    let is_blind = report.coverage.nothing_seen.is_some() || is_unseen(report);
    if is_stuck || is_blind || report.only.is_some() {
        return None;
    }
    let first = shown(report).next();
    if let Some((culprit, gain)) = first.and_then(|of| Some((of, report.of_path(of)[0]?)))
        && gain >= GAINS
    {
        let most = if culprit.may_move_to.is_empty() { "" } else { "at most " };
        return Some(format!(
            "Most to gain: {}: {most}an estimated {} of the run, unless its length is fixed",
            said(report, culprit),
            percent(gain)
        ));
    }
    // What is of unknown class may be worth a change.
    let unknown_ns = waited_ns(report, |lock| lock.class == Class::Unknown);
    let is_known = unranked(report).is_none();
    let first = first.filter(|culprit| is_known || culprit.wait_ns >= unknown_ns);
    let found = || report.findings.iter().find_map(|finding| finding.lock);
    match (first, found()) {
        (Some(culprit), found) if found.is_some() || share(report, culprit) >= MATERIAL_SHARE => {
            let of_threads = percent(share(report, culprit));
            Some(format!(
                "Most waiting: {}: {of_threads} of the threads' time",
                said(report, culprit)
            ))
        }
        (None, Some(id)) => {
            let lock = locks(report).find(|lock| lock.id == id)?;
            Some(format!("Most to look at: lock #{id} ({}), finding 1", place(lock)))
        }
        _ if !is_known || has_own_locks(&report.coverage) => None,
        _ => Some(little(report)),
    }
}

/// Whether a finding says that much of the waiting was not seen.
fn is_unseen(report: &RunReport) -> bool {
    report.findings.first().is_some_and(|finding| finding.rule == "unseen")
}

fn locks(report: &RunReport) -> impl Iterator<Item = &Lock> {
    report.processes.iter().flat_map(|process| &process.locks)
}

fn said(report: &RunReport, culprit: &Blamed) -> String {
    words(report, culprit).join(" ")
}

/// What a culprit's waiting is of the time of the threads that had its locks.
fn share(report: &RunReport, culprit: &Blamed) -> f64 {
    let is_its = |lock: &Lock| culprit.locks.contains(&lock.id);
    culprit.wait_ns as f64 / lived_ns(report, is_its).max(1) as f64
}

fn little(report: &RunReport) -> String {
    let is_lock = |lock: &Lock| lock.class.is_caused_by_holders() && lock.wait_ns.is_some();
    let wait_ns = waited_ns(report, is_lock);
    if wait_ns == 0 {
        let why = match waited_ns(report, |_| true) {
            0 => "no thread waited for one that was seen",
            _ => "threads waited for work, a turn or an event, not for each other",
        };
        return format!("Nothing to gain from locks: {why}");
    }
    let share = wait_ns as f64 / lived_ns(report, is_lock).max(1) as f64;
    let said = if share < MATERIAL_SHARE { "Little to gain from locks" } else { "No finding" };
    // Threads that take turns by a condition may look as if they waited for work.
    let is_other = |lock: &Lock| !lock.class.is_caused_by_holders() && lock.wait_ns.is_some();
    let other = waited_ns(report, is_other) as f64 / lived_ns(report, is_other).max(1) as f64;
    let other =
        (other >= MUCH).then(|| format!("; for work, a turn or an event, {}", percent(other)));
    let other = other.unwrap_or_default();
    format!("{said}: waiting for locks is {} of the threads' time{other}", percent(share))
}

/// Waiting for other things than locks is said if it is at least this share of the threads' time.
const MUCH: f64 = 0.2;

/// The time of all threads of the processes that have such locks.
fn lived_ns(report: &RunReport, is: impl Fn(&Lock) -> bool) -> u64 {
    let of = locks(report).filter(|lock| is(lock));
    let shared: HashSet<u32> = of.flat_map(|lock| &lock.processes).copied().collect();
    let has = |process: &&Process| shared.contains(&process.pid) || process.locks.iter().any(&is);
    sum(report.processes.iter().filter(has).map(|process| process.lived_ns(report.wall_ns)))
}
