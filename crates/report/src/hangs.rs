//! Threads that still waited when the run ended, in words: the same in every form of a report.
//!
//! # Contract
//! A thread is shown if it waited for long: for a lock that a thread holds, or for anything if its whole process hung.
//! Idle workers of a program with other work are not, nor are threads of a process that ended before the run did.
//! A thread of a deadlock is shown there. Threads that waited for the same in the same code are one group; those that
//! wait for others to end come last.

use crate::deadlocks::{find, lock, named};
use crate::run::{Frame, Hung, Kind, Process, RunReport, Source, Thread};
use uncontended_figures::duration;

/// A shorter wait might have ended a moment later.
pub(crate) const STUCK_NS: u64 = 1_000_000_000;
/// The share of the run that the wait must take.
const STUCK_SHARE: f64 = 0.1;

/// Whether a wait that had not ended was long in a run of `wall_ns`.
pub(crate) fn is_long(wait_ns: u64, wall_ns: u64) -> bool {
    wait_ns >= STUCK_NS && wait_ns as f64 >= STUCK_SHARE * wall_ns as f64
}

/// Whether a process hung: each of its threads had waited for long.
pub(crate) fn hung(process: &Process, wall_ns: u64) -> Option<Hung> {
    process.hung.filter(|hung| is_long(hung.since_ns, wall_ns))
}

/// Threads that wait for the same in the same code.
pub(crate) struct Group<'r> {
    /// The one that waited longest first.
    pub(crate) threads: Vec<&'r Thread>,
}

impl Group<'_> {
    /// Their stack.
    pub(crate) fn stack(&self) -> &[Frame] {
        self.threads.first().map_or(&[], |first| &first.unfinished_stack)
    }

    /// What they wait for, and how long: the title of the stack.
    pub(crate) fn waits(&self, report: &RunReport) -> String {
        let [first, others @ ..] = &self.threads[..] else { return String::new() };
        let long = duration(first.unfinished_wait_ns.unwrap_or(0));
        let who = match others {
            [] => format!("{} has waited {long}", named(first.tid, &first.name)),
            _ => format!("{} threads have waited, the longest {long},", self.threads.len()),
        };
        format!("{who} for {} in", wanted(report, first))
    }
}

/// The thread that holds the lock for which a group waits, in words, and where that took it if it is known.
pub(crate) fn holder<'r>(report: &'r RunReport, group: &Group) -> Option<(String, &'r [Frame])> {
    let (_, lock) = find(report, group.threads.first()?.unfinished_lock?)?;
    let left = lock.unfinished?;
    let (tid, held_ns) = (left.holder?, left.held_ns?);
    let ended = if left.holder_ended { ", which has ended" } else { "" };
    let head = lock.hung_behind.as_ref().filter(|head| head.through == 0 && head.tid == tid);
    let (name, taken) = head.map_or(("", &[][..]), |head| (&head.name, &head.taken));
    let took = if taken.is_empty() { "" } else { ", and was taken in" };
    Some((format!("held for {} by {}{ended}{took}", duration(held_ns), named(tid, name)), taken))
}

/// What a thread waited for.
pub(crate) fn wanted(report: &RunReport, thread: &Thread) -> String {
    let object = |id: u64| {
        let kind = find(report, id).map(|(_, lock)| lock.kind);
        let (what, name) = (lock(report, id), "lock");
        match kind {
            Some(Kind::Condition) => what.replacen(name, "a signal of condition", 1),
            Some(Kind::Barrier) => what.replacen(name, "the last to arrive at barrier", 1),
            Some(Kind::Semaphore) => what.replacen(name, "a post to semaphore", 1),
            _ => what.replacen(name, "a wakeup at futex", 1),
        }
    };
    match (thread.unfinished_lock, thread.unfinished_object, thread.unfinished_join) {
        (Some(id), ..) => lock(report, id),
        (None, Some(id), _) => object(id),
        (None, None, Some(tid)) => format!("the end of thread {tid}"),
        (None, None, None) => "what was not recorded".to_owned(),
    }
}

/// The groups of a process, those of most threads first, and joins last.
pub(crate) fn groups<'r>(report: &'r RunReport, process: &'r Process) -> Vec<Group<'r>> {
    if process.ended_ns.is_some() {
        return Vec::new();
    }
    let is_hung = hung(process, report.wall_ns).is_some();
    let deadlocked = report.deadlocks.iter().filter(|deadlock| deadlock.pid == process.pid);
    let deadlocked: Vec<u32> =
        deadlocked.flat_map(|deadlock| &deadlock.threads).map(|thread| thread.tid).collect();
    let is_shown = |thread: &&Thread| {
        let wait_ns = thread.unfinished_wait_ns.unwrap_or(0);
        is_long(wait_ns, report.wall_ns)
            && (is_hung || thread.unfinished_lock.is_some())
            && !deadlocked.contains(&thread.tid)
    };
    let mut threads: Vec<&Thread> = process.threads.iter().filter(is_shown).collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.unfinished_wait_ns));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for thread in threads {
        let is_same = |group: &&mut Group<'_>| {
            let first = group.threads[0];
            first.unfinished_lock == thread.unfinished_lock
                && first.unfinished_object == thread.unfinished_object
                && first.unfinished_join == thread.unfinished_join
                && first.unfinished_stack == thread.unfinished_stack
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.threads.push(thread),
            None => groups.push(Group { threads: vec![thread] }),
        }
    }
    groups.sort_by_key(|group| {
        (group.threads[0].unfinished_join.is_some(), std::cmp::Reverse(group.threads.len()))
    });
    groups
}

/// The groups of all processes.
pub(crate) fn all(report: &RunReport) -> Vec<Group<'_>> {
    report.processes.iter().flat_map(|process| groups(report, process)).collect()
}

/// Those that a report shows: with `--only`, none that wait for a lock which it leaves out.
pub(crate) fn shown(report: &RunReport) -> Vec<Group<'_>> {
    let mut groups = all(report);
    groups.retain(|group| {
        let first = group.threads[0];
        let waited_for = first.unfinished_lock.or(first.unfinished_object);
        report.only.is_none() || waited_for.is_none_or(|id| find(report, id).is_some())
    });
    groups
}

/// How many threads are in groups beyond the first `shown`.
pub(crate) fn beyond(groups: &[Group<'_>], shown: usize) -> u64 {
    groups.iter().skip(shown).map(|group| group.threads.len() as u64).sum()
}

/// The heading.
pub(crate) const TITLE: &str = "Still waiting";

/// What is said behind it.
pub(crate) fn remark(report: &RunReport) -> &'static str {
    let is_hung = report.processes.iter().any(|process| hung(process, report.wall_ns).is_some());
    match (is_hung, report.source) {
        (true, Source::Preload) => "no thread of the process could go on",
        (true, Source::Kernel) if report.so_far => {
            "all threads wait so far; whether until a deadline is not known"
        }
        (true, Source::Kernel) => {
            "all threads waited at the end; whether until a deadline is not known"
        }
        (false, _) if report.so_far => "for locks that have not been released so far",
        (false, _) => "for locks that had not been released when the run ended",
    }
}
