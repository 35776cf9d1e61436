//! A report small enough to be kept: what threads waited for the most, and sums over the rest.
//!
//! # Contract
//! [`bounded`] returns a report that takes at most [`ENTRY_BYTES`] as JSON: the same if it does. Else the costliest
//! locks, threads and processes are kept, and the rest is summed under the name of [`OTHERS`]: a process's locks of
//! each kind in one row, its threads in one, and all other processes in one. No acquisition and no wait is lost.
//! # Evidence
//! `tests/history_bound.rs`.

use crate::rows::join;
use crate::run::{Class, Kind, Lock, Process, RunReport, Thread};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;

/// The most bytes that the report of a kept run takes.
pub const ENTRY_BYTES: usize = (2 << 20) - (64 << 10);
/// What stands for the name of the rest.
pub const OTHERS: &str = "others";

/// How many entries of a list are kept at first; half as many as long as that is too many.
const KEPT: usize = 2048;
/// Bytes of a word of a command, if the report is still too large.
const WORD: usize = 256;

/// The report, or what is kept of it.
pub(super) fn bounded(report: &RunReport) -> Cow<'_, RunReport> {
    if fits(report) {
        return Cow::Borrowed(report);
    }
    let mut keep = KEPT;
    loop {
        let kept = cut(report, keep);
        if keep == 0 || fits(&kept) {
            return Cow::Owned(kept);
        }
        keep /= 2;
    }
}

fn fits(report: &RunReport) -> bool {
    serde_json::to_writer(Room(ENTRY_BYTES), report).is_ok()
}

/// Counts bytes until there are too many.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The report with at most `keep` locks and threads of their own, and as many entries of each other list.
fn cut(report: &RunReport, keep: usize) -> RunReport {
    let ranked = ranked(report);
    let named: HashSet<u64> = ranked.iter().take(keep).map(|lock| lock.id).collect();
    let mut costs: Vec<(usize, u64)> = report.processes.iter().map(cost).enumerate().collect();
    costs.sort_by_key(|&(nth, cost)| (std::cmp::Reverse(cost), nth));
    let own: HashSet<usize> = costs.iter().take(keep / 2).map(|&(nth, _)| nth).collect();
    let threads = keep / own.len().max(1);
    let (mut processes, mut rest) = (Vec::new(), Vec::new());
    for (nth, process) in report.processes.iter().enumerate() {
        if own.contains(&nth) {
            processes.push(part(process, &named, threads));
        } else {
            rest.push(process);
        }
    }
    processes.extend((!rest.is_empty()).then(|| others(&rest)));
    let mut kept = RunReport { processes, ..lists(report, keep) };
    let command = kept.processes.iter_mut().map(|process| &mut process.command);
    command.chain([&mut kept.command]).for_each(|words| shorten(words, keep));
    kept
}

/// All locks, the most waiting first.
fn ranked(report: &RunReport) -> Vec<&Lock> {
    let mut locks: Vec<&Lock> =
        report.processes.iter().flat_map(|process| &process.locks).collect();
    let waited = |lock: &Lock| lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    locks.sort_by_key(|lock| (std::cmp::Reverse((waited(lock), lock.acquisitions)), lock.id));
    locks
}

/// What its threads waited, or else how many there are.
fn cost(process: &Process) -> u64 {
    let waits = process.threads.iter().filter_map(|thread| thread.wait_ns);
    waits.fold(process.threads.len() as u64, u64::saturating_add)
}

/// The report without its processes, and with at most `keep` entries of each list.
fn lists(report: &RunReport, keep: usize) -> RunReport {
    let mut coverage = report.coverage.clone();
    coverage.not_recording.truncate(keep);
    coverage.futex_sites.truncate(keep);
    coverage.still_running.truncate(keep);
    coverage.cut_short.truncate(keep);
    coverage.symbols_mismatch.truncate(keep);
    let mut lock_order = report.lock_order.clone();
    lock_order.iter_mut().for_each(|order| order.inversions.truncate(keep));
    // Parts of spans refer to culprits, which are few.
    let culprits = if keep == 0 { Vec::new() } else { report.culprits.clone() };
    let spans = if keep == 0 { Vec::new() } else { report.spans.clone() };
    RunReport {
        schema: report.schema.clone(),
        command: report.command.clone(),
        exit_status: report.exit_status,
        signal: report.signal,
        ended_by_limit: report.ended_by_limit,
        wall_ns: report.wall_ns,
        cpus: report.cpus,
        so_far: report.so_far,
        source: report.source,
        attached: report.attached.clone(),
        load: report.load.clone(),
        clock: report.clock.clone(),
        processes: Vec::new(),
        coverage,
        observer: report.observer.clone(),
        findings: report.findings.clone(),
        culprits,
        ranked_by: report.ranked_by,
        holds: report.holds,
        paths: report.paths.iter().take(keep).cloned().collect(),
        spans,
        deadlocks: report.deadlocks.iter().take(keep).cloned().collect(),
        lock_order,
        only: report.only.clone(),
    }
}

/// The process with the `named` locks, at most `threads` threads, and sums over the others.
fn part(process: &Process, named: &HashSet<u64>, threads: usize) -> Process {
    let (mut locks, mut rest) = (Vec::new(), Vec::new());
    for lock in &process.locks {
        if named.contains(&lock.id) { locks.push(lock.clone()) } else { rest.push(lock) }
    }
    locks.extend(sums(process.pid, rest));
    let mut by_wait: Vec<&Thread> = process.threads.iter().collect();
    by_wait.sort_by_key(|thread| std::cmp::Reverse((thread.wait_ns, thread.cpu_ns)));
    let rest = by_wait.split_off(threads.min(by_wait.len()));
    let kept: HashSet<u32> = by_wait.iter().map(|thread| thread.tid).collect();
    let of_kept = process.threads.iter().filter(|thread| kept.contains(&thread.tid));
    let sum = (!rest.is_empty()).then(|| sum_of_threads(&rest));
    Process {
        pid: process.pid,
        command: process.command.clone(),
        locks,
        threads: of_kept.cloned().chain(sum).collect(),
        joins: process.joins.iter().take(threads).cloned().collect(),
        hung: process.hung,
        ended_ns: process.ended_ns,
    }
}

/// One process for all of these.
fn others(processes: &[&Process]) -> Process {
    let locks = processes.iter().flat_map(|process| &process.locks).collect();
    let threads: Vec<&Thread> = processes.iter().flat_map(|process| &process.threads).collect();
    Process {
        pid: 0,
        command: vec![OTHERS.to_owned()],
        locks: sums(0, locks),
        threads: vec![sum_of_threads(&threads)],
        joins: Vec::new(),
        hung: None,
        ended_ns: None,
    }
}

/// A row for all of these locks of each kind.
fn sums(pid: u32, locks: Vec<&Lock>) -> Vec<Lock> {
    let mut kinds: BTreeMap<Kind, Vec<&Lock>> = BTreeMap::new();
    for lock in locks {
        kinds.entry(lock.kind).or_default().push(lock);
    }
    kinds.into_values().map(|locks| sum_of_locks(pid, locks)).collect()
}

fn sum_of_locks(pid: u32, locks: Vec<&Lock>) -> Lock {
    let row = join(pid, locks);
    let first = row.first();
    let blames = row.locks.iter().filter_map(|lock| lock.blame);
    Lock {
        class: Class::Unknown,
        like: None,
        known_as: None,
        shared: false,
        processes: Vec::new(),
        summed: None,
        other_side: None,
        site: None,
        created: Vec::new(),
        first_taken: Vec::new(),
        address: OTHERS.to_owned(),
        life: 0,
        acquisitions: row.acquisitions,
        blocked: row.blocked,
        slept: (row.slept.known > 0).then_some(row.slept.slept),
        slept_known: Some(row.slept.known).filter(|&known| known > 0 && known < row.blocked),
        try_failed: row.try_failed,
        timed_out: row.timed_out,
        owner_died: row.locks.iter().fold(0, |sum, lock| sum + lock.owner_died),
        left: None,
        herd: None,
        threads: row.locks.iter().map(|lock| lock.threads).max().unwrap_or(0),
        waiters: row.locks.iter().map(|lock| lock.waiters).max().unwrap_or(0),
        owner_changes: row.owner_changes,
        utilisation: None,
        mean_queue: row.mean_queue,
        wait_share: row.wait_share,
        wait_ns: row.wait.clone(),
        idle_ns: row.idle.clone(),
        idle_causes: None,
        woken: None,
        hold_ns: row.hold.clone(),
        worst_wait: None,
        worst_idle: None,
        unfinished: None,
        hung_behind: None,
        holders_waited: None,
        keeper: None,
        blame: blames.reduce(crate::run::Blame::and),
        held_by: Vec::new(),
        ended_by: Vec::new(),
        waited_in: Vec::new(),
        moments: Vec::new(),
        ..first.clone()
    }
}

fn sum_of_threads(threads: &[&Thread]) -> Thread {
    let sum = |figure: fn(&Thread) -> Option<u64>| {
        threads.iter().filter_map(|thread| figure(thread)).reduce(u64::saturating_add)
    };
    Thread {
        tid: 0,
        name: OTHERS.to_owned(),
        lived_ns: sum(|thread| thread.lived_ns),
        cpu_ns: sum(|thread| thread.cpu_ns),
        user_ns: sum(|thread| thread.user_ns),
        system_ns: sum(|thread| thread.system_ns),
        runnable_ns: sum(|thread| thread.runnable_ns),
        voluntary_switches: sum(|thread| thread.voluntary_switches),
        involuntary_switches: sum(|thread| thread.involuntary_switches),
        migrations: sum(|thread| thread.migrations),
        blocked: sum(|thread| thread.blocked),
        wait_ns: sum(|thread| thread.wait_ns),
        contention_wait_ns: sum(|thread| thread.contention_wait_ns),
        joined_ns: sum(|thread| thread.joined_ns),
        unfinished_wait_ns: sum(|thread| thread.unfinished_wait_ns),
        unfinished_lock: None,
        unfinished_object: None,
        unfinished_join: None,
        unfinished_stack: Vec::new(),
        other_wait_ns: sum(|thread| thread.other_wait_ns),
    }
}

/// Cuts a command's words: their number to `keep` and one, and where nothing else is left, their length.
fn shorten(words: &mut Vec<String>, keep: usize) {
    words.truncate(keep + 1);
    if keep == 0 {
        words.iter_mut().for_each(|word| *word = word.chars().take(WORD).collect());
    }
}
