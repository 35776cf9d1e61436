//! The report in a line, below its header: what there is to gain, if anything.
//!
//! # Contract
//! It says what the findings and the culprits say: a gain as it is ranked, else the most waiting if it is as much as a
//! finding needs, else where there is a finding, else that there is little to gain. Nothing is said of a run with
//! deadlocks and hangs, which come first anyway, of one of which nothing was seen, and of a part of a run (`--only`).
//! Where much was not seen, it says which finding tells that.
//! # Evidence
//! `tests/summary.rs`.

use crate::aggregate::scripts::has_own_locks;
use crate::aggregate::sum;
use crate::findings::MATERIAL_SHARE;
use crate::hangs;
use crate::rows::called;
use crate::run::{Blamed, Class, GAINS, Lock, Process, RunReport};
use crate::terminal::{long_work, shown, still_waited_ns, unranked, waited_for, waited_ns, words};
use std::collections::HashSet;
use uncontended_figures::{duration, percent};

/// The sentence, without a full stop.
pub(crate) fn summary(report: &RunReport) -> Option<String> {
    let is_stuck = !report.deadlocks.is_empty() || !hangs::all(report).is_empty();
    if is_stuck || report.only.is_some() {
        return None;
    }
    if is_unseen(report) {
        return Some("Look first at the waiting that was not seen, finding 1".to_owned());
    }
    if report.coverage.nothing_seen.is_some() {
        return None;
    }
    let first = shown(report).next();
    if let Some((culprit, gain)) = first.and_then(|of| Some((of, report.of_path(of)[0]?)))
        && gain >= GAINS
    {
        let most = if culprit.may_move_to.is_empty() { "" } else { " at most" };
        return Some(format!(
            "Most to gain: {}: an estimated {} of the run{most} (none if its length is fixed)",
            said(report, culprit),
            percent(gain)
        ));
    }
    // What is of unknown class may be worth a change.
    let unknown_ns = waited_ns(report, |lock| lock.class == Class::Unknown);
    let is_known = unranked(report).is_none();
    let first = first.filter(|culprit| is_known || culprit.wait_ns >= unknown_ns);
    let mut found = report.findings.iter().enumerate();
    let found = found.find_map(|(nth, finding)| Some((nth + 1, finding.lock?)));
    match (first, found) {
        (Some(culprit), _) if share(report, culprit) >= MATERIAL_SHARE => {
            let of_threads = percent(share(report, culprit));
            Some(format!(
                "Most waiting: {}: {of_threads} of the threads' time{}",
                said(report, culprit),
                for_a_cpu(report)
            ))
        }
        (_, Some((nth, id))) => {
            let lock = locks(report).find(|lock| lock.id == id)?;
            Some(format!("Look first at lock #{id} ({}), finding {nth}", called(lock)))
        }
        _ if !is_known || has_own_locks(&report.coverage) => None,
        _ => Some(little(report)),
    }
}

/// Whether a finding says that much of the waiting was not seen.
fn is_unseen(report: &RunReport) -> bool {
    report.findings.first().is_some_and(|finding| ["unseen", "lost"].contains(&&*finding.rule))
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
    let is_waited = |lock: &Lock| lock.wait_ns.is_some() || lock.unfinished.is_some();
    let is_lock = |lock: &Lock| lock.class.is_caused_by_holders() && is_waited(lock);
    let wait_ns = waited_ns(report, is_lock).saturating_add(still_waited_ns(report));
    let unknown_ns = waited_ns(report, |lock| lock.class == Class::Unknown);
    let all_ns = waited_ns(report, |_| true);
    if wait_ns == 0 && unknown_ns > all_ns / 2 {
        let all = duration(all_ns);
        return format!(
            "Little waiting, {all} in all: whether for locks, or for work or an event, was not seen"
        );
    }
    if wait_ns == 0 {
        let why = match all_ns {
            0 if still_waits(report) => {
                "no wait ended, and no thread is known to hold what others still waited for"
            }
            0 => "no thread waited for one that was seen",
            _ => match for_others(report) {
                Some(other) => return format!("No thread waited for a lock{other}"),
                None => "threads waited only for work, a turn or an event",
            },
        };
        return format!("Nothing to gain from locks: {why}");
    }
    if let Some((culprit, gain)) = long_work(report) {
        let code = said(report, culprit);
        let of_run = percent(gain);
        return format!(
            "Little waiting for locks; but {code} for an estimated {of_run} of the run's length"
        );
    }
    let share = wait_ns as f64 / lived_ns(report, is_lock).max(1) as f64;
    let said = if share < MATERIAL_SHARE { "Little to gain from locks" } else { "No finding" };
    let (other, cpu) = (for_others(report).unwrap_or_default(), for_a_cpu(report));
    format!("{said}: waiting for locks is {} of the threads' time{other}{cpu}", percent(share))
}

/// How much threads waited for other things than locks, and where the most, if it was much. Those that take turns, or
/// share what is scarce, by a condition look as if they waited for work.
fn for_others(report: &RunReport) -> Option<String> {
    let is_other = |lock: &Lock| !lock.class.is_caused_by_holders() && lock.wait_ns.is_some();
    let share = waited_ns(report, is_other) as f64 / lived_ns(report, is_other).max(1) as f64;
    let waited_ns = |lock: &&Lock| lock.wait_ns.as_ref().map(|wait| wait.total);
    let most = locks(report).filter(|&lock| is_other(lock)).max_by_key(waited_ns)?;
    (share >= MUCH).then(|| {
        let (share, code) = (percent(share.min(1.0)), waited_for(most));
        // An address is one already.
        let place = if code.starts_with("at ") { code } else { format!("in {code}") };
        format!(
            "; for work, a turn or an event, {share} of their time, the most {place} (#{})",
            most.id
        )
    })
}

/// That threads waited for a CPU, if that was much of their time: fewer of them may be the remedy.
fn for_a_cpu(report: &RunReport) -> String {
    let threads = || report.processes.iter().flat_map(|process| &process.threads);
    let wanted_ns = sum(threads().filter_map(|thread| thread.runnable_ns));
    let lived = report.processes.iter().map(|process| process.lived_ns(report.wall_ns));
    let share = wanted_ns as f64 / sum(lived).max(1) as f64;
    match share >= MUCH {
        true => format!("; for a CPU, {}", percent(share.min(1.0))),
        false => String::new(),
    }
}

/// Whether a thread still waited when the run ended, for anything but another one's end.
fn still_waits(report: &RunReport) -> bool {
    let mut threads = report.processes.iter().flat_map(|process| &process.threads);
    threads.any(|thread| thread.unfinished_wait_ns.is_some() && thread.unfinished_join.is_none())
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
