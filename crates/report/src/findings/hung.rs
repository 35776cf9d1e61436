//! The rule about threads that still waited when the run ended: the waits that matter most when a program hangs.
//!
//! # Contract
//! Threads that wait for work wait to the end too, but no thread holds what they wait for. Where the holder waits
//! itself, the sentence follows to the head of the chain, and names the code in which that took its lock.

use super::Subject;
use super::rules::Said;
use crate::deadlocks::{self, named};
use crate::hangs::{self, Group, is_long};
use crate::rows::{callers, code, code_in, place};
use crate::run::{Finding, Head, Kind, Lock, Process, RunReport, Source, Unfinished};
use crate::terminal::several;
use uncontended_figures::duration;

/// Threads waited, for long, for a lock that another held.
pub(super) fn unfinished(subject: &Subject) -> Option<Said> {
    let left = subject.lock.unfinished?;
    if !is_long(left.longest_ns, subject.wall_ns) {
        return None;
    }
    let Some((holder, held_ns)) = left.holder.zip(left.held_ns) else {
        return behind_no_one(subject, left);
    };
    let ended = if left.holder_ended { ", which has ended," } else { "" };
    let head = subject.lock.hung_behind.as_ref();
    let behind = head.map_or(left.count, |head| left.count.max(head.behind.into()));
    Some(Said {
        cost_ns: left.longest_ns.saturating_mul(behind),
        text: format!(
            "{}, the longest for {}: thread {holder}{ended} had held it for {} {}",
            waited(subject.report, left),
            duration(left.longest_ns),
            duration(held_ns),
            head.map_or_else(
                || "without releasing it".to_owned(),
                |head| of_head(subject, left, head)
            )
        ),
        advice: String::new(),
        evidence: vec![
            ("waiting_threads", left.count as f64),
            ("longest_unfinished_wait_ns", left.longest_ns as f64),
            ("held_ns", held_ns as f64),
        ],
    })
}

/// How many threads waited, and until when.
fn waited(report: &RunReport, left: Unfinished) -> String {
    let threads = several(left.count, "thread", "threads");
    match (left.waiters_ended, report.so_far, left.count) {
        (true, _, 1) => format!("{threads} still waited for it when its process ended"),
        (true, ..) => format!("{threads} still waited for it when their process ended"),
        (false, true, 1) => format!("{threads} has waited for it so far"),
        (false, true, _) => format!("{threads} have waited for it so far"),
        (false, false, _) => format!("{threads} still waited for it when the run ended"),
    }
}

/// The same of a lock whose holder is not known, or is not one thread.
fn behind_no_one(subject: &Subject, left: Unfinished) -> Option<Said> {
    let why = match subject.lock.kind {
        Kind::RwlockRead | Kind::RwlockWrite => {
            "readers that come and go may keep it taken, or its holder was not seen"
        }
        Kind::Mutex | Kind::Spin | Kind::Annotated => {
            "its holder was not seen (it may have been taken before a fork, or unobserved)"
        }
        _ => return None,
    };
    Some(Said {
        cost_ns: left.longest_ns.saturating_mul(left.count),
        text: format!(
            "{}, the longest for {}: {why}",
            waited(subject.report, left),
            duration(left.longest_ns)
        ),
        advice: String::new(),
        evidence: vec![
            ("waiting_threads", left.count as f64),
            ("longest_unfinished_wait_ns", left.longest_ns as f64),
        ],
    })
}

/// What the holder did, or the thread that it waited for in the end.
fn of_head(subject: &Subject, left: Unfinished, head: &Head) -> String {
    let taken = callers(&head.taken).next().or(head.taken.first());
    let taken =
        taken.map_or_else(String::new, |frame| format!(", which it took in {}", code(frame)));
    let asleep = if head.is_asleep { asleep(subject, head) } else { String::new() };
    if head.through == 0 {
        let others = u64::from(head.behind).saturating_sub(left.count);
        let more = match others {
            0 => String::new(),
            others => format!("; {} behind these", several(others, "more waits", "more wait")),
        };
        return format!("without releasing it{taken}{asleep}{more}");
    }
    let lock =
        subject.lock_of(head.lock).map_or_else(String::new, |lock| format!(" ({})", place(lock)));
    let held = head.held_ns.map_or_else(String::new, |ns| format!(" for {}", duration(ns)));
    format!(
        "and waited itself: in the end, {} for {}, which has held lock #{}{lock}{held}{taken}{asleep}",
        several(head.behind.into(), "thread waits", "threads wait"),
        named(head.tid, &head.name),
        head.lock
    )
}

/// For what the head of a chain was asleep.
fn asleep(subject: &Subject, head: &Head) -> String {
    let mut threads = subject.processes.iter().flat_map(|process| &process.threads);
    let thread = threads.find(|thread| thread.tid == head.tid);
    let waits =
        thread.filter(|of| of.unfinished_object.or(of.unfinished_join.map(u64::from)).is_some());
    waits.map_or_else(
        || "; it was asleep itself, for no lock that is known".to_owned(),
        |of| format!("; it waited itself for {}", hangs::wanted(subject.report, of)),
    )
}

/// Whether what is said of this lock is said of the head's too, which is one of `others`.
pub(super) fn is_said(lock: &Lock, others: &[u64]) -> bool {
    let head = lock.hung_behind.as_ref().filter(|head| head.through > 0 && head.lock != lock.id);
    head.is_some_and(|head| others.contains(&head.lock))
}

/// The name of the rule about processes that hang.
pub(super) const RULE: &str = "hang";
/// How many waits the sentence names.
const NAMED: usize = 3;

/// A finding for each process that hung for what no deadlock and no lock of `said` explains. The kernel does not say
/// which waits have a deadline, so of what it saw, none is claimed.
pub(super) fn find(report: &RunReport, said: &[u64]) -> Vec<Finding> {
    if report.source == Source::Kernel {
        return Vec::new();
    }
    let explained = |process: &&Process| {
        let is_said = |lock: &Lock| said.contains(&lock.id);
        report.deadlocks.iter().any(|deadlock| deadlock.pid == process.pid)
            || process.locks.iter().any(is_said)
    };
    let unexplained = report.processes.iter().filter(|process| !explained(process));
    unexplained.filter_map(|process| hang(report, process)).collect()
}

fn hang(report: &RunReport, process: &Process) -> Option<Finding> {
    let hung = hangs::hung(process, report.wall_ns)?;
    let groups = hangs::groups(report, process);
    let is_join = |group: &&Group| group.threads[0].unfinished_join.is_some();
    let waits = groups.iter().filter(|group| !is_join(group)).take(NAMED);
    let waits: Vec<String> = waits.map(|group| of_group(report, group)).collect();
    let first = groups.first()?.threads.first()?;
    let who = match hung.threads {
        1 => "its only thread has waited".to_owned(),
        2 => "both of its threads have waited".to_owned(),
        threads => {
            format!("all of its {} threads have waited", uncontended_figures::count(threads))
        }
    };
    let which = match report.processes.len() {
        1 => "the program".to_owned(),
        _ => format!("process {}", process.pid),
    };
    let for_what = if waits.is_empty() { String::new() } else { format!(": {}", waits.join("; ")) };
    let object = first
        .unfinished_object
        .and_then(|id| deadlocks::find(report, id))
        .map(|(_, lock)| lock.kind);
    let advice = match object {
        Some(Kind::Condition) => {
            "; see whether the signal came before the wait, or what is waited for was set without one"
        }
        _ => "",
    };
    Some(Finding {
        rule: RULE.to_owned(),
        text: format!(
            "{which} hung: {who} for at least {}{for_what}{advice}",
            duration(hung.since_ns)
        ),
        lock: first.unfinished_object.or(first.unfinished_lock),
        locks: Vec::new(),
        wait_share: None,
        evidence: [("threads", hung.threads as f64), ("since_ns", hung.since_ns as f64)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
    })
}

fn of_group(report: &RunReport, group: &Group) -> String {
    let first = group.threads[0];
    let site = callers(group.stack()).next().or(group.stack().first());
    let wanted = hangs::wanted(report, first);
    let at = site.map(|site| code_in(site, Some(group.stack())));
    let at =
        at.filter(|at| !wanted.contains(at)).map_or_else(String::new, |at| format!(" in {at}"));
    let who = match group.threads.len() {
        1 => named(first.tid, &first.name),
        threads => format!("{threads} threads"),
    };
    format!("{who} for {wanted}{at}")
}
