//! The report in a line, below its header: what there is to gain, if anything.
//!
//! # Contract
//! It says what the findings and the culprits say, and decides nothing itself: a gain as it is ranked, else the most
//! waiting of which there is a finding, else that there is little to gain. Nothing is said of a run with deadlocks and
//! hangs, which come first anyway, of one of which nothing or only a part was seen, and of a report on a part
//! (`--only`).
//! # Evidence
//! `tests/summary.rs`.

use crate::aggregate::sum;
use crate::findings::MATERIAL_SHARE;
use crate::hangs;
use crate::rows::place;
use crate::run::{Blamed, GAINS, Lock, RunReport};
use crate::terminal::{shown, unranked, words};
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
        return Some(format!(
            "Most to gain: {}: at most {} of the run",
            said(report, culprit),
            percent(gain)
        ));
    }
    let found = || report.findings.iter().find_map(|finding| finding.lock);
    match (first, found()) {
        (Some(culprit), Some(_)) => Some(most_waiting(report, culprit)),
        (None, Some(id)) => {
            let lock = locks(report).find(|lock| lock.id == id)?;
            Some(format!("Most to look at: lock #{id} ({}), finding 1", place(lock)))
        }
        // What is of unknown class may be worth a change.
        (_, None) if unranked(report).is_some() => None,
        (_, None) => Some(little(report)),
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

fn most_waiting(report: &RunReport, culprit: &Blamed) -> String {
    let threads = percent(culprit.wait_ns as f64 / lived_ns(report).max(1) as f64);
    format!("Most waiting: {}: {threads} of the threads' time", said(report, culprit))
}

fn little(report: &RunReport) -> String {
    let waited = locks(report).filter(|lock| lock.class.is_caused_by_holders());
    let waited = sum(waited.filter_map(|lock| Some(lock.wait_ns.as_ref()?.total)));
    match waited {
        0 => "Nothing to gain from locks: no thread waited for one that was seen".to_owned(),
        ns => {
            let share = ns as f64 / lived_ns(report).max(1) as f64;
            let said =
                if share < MATERIAL_SHARE { "Little to gain from locks" } else { "No finding" };
            format!("{said}: waiting for locks is {} of the threads' time", percent(share))
        }
    }
}

/// The time of all threads.
fn lived_ns(report: &RunReport) -> u64 {
    sum(report.processes.iter().map(|process| process.lived_ns(report.wall_ns)))
}
