//! The threads of a run: the observer's figures at their end, completed by the kernel's.

use crate::facts::Facts;
use crate::run::{Process, Thread};
use std::collections::{BTreeMap, HashSet};
use uncontended_trace::reader::{ProcessRecord, ThreadRecord};

/// One row per thread of a process image. The kernel counts per process, so its figures, and threads that only it saw,
/// belong to the last image.
pub(super) fn rows(image: &ProcessRecord, tick_ns: f64, facts: &Facts, last: bool) -> Vec<Thread> {
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    if last {
        let counted = facts.threads.iter().filter(|counted| counted.pid == image.pid);
        threads.extend(counted.map(|counted| (counted.thread.tid, counted.thread.clone())));
    }
    for record in &image.threads {
        match threads.get_mut(&record.tid) {
            Some(thread) => complete(thread, record, tick_ns),
            None => {
                let mut thread = Thread { tid: record.tid, ..Thread::default() };
                complete(&mut thread, record, tick_ns);
                threads.insert(record.tid, thread);
            }
        }
    }
    threads.into_values().collect()
}

/// Figures only grow, so the greater of two samples is the later.
fn complete(thread: &mut Thread, record: &ThreadRecord, tick_ns: f64) {
    thread.wait_ns = Some((record.waited as f64 * tick_ns) as u64);
    thread.blocked = Some(record.blocked);
    thread.joined_ns = Some((record.joined as f64 * tick_ns) as u64);
    if thread.name.is_empty() || record.end_ticks != 0 {
        thread.name.clone_from(&record.name);
    }
    if record.end_ticks != 0 {
        thread.cpu_ns = thread.cpu_ns.max(Some(record.cpu_ns));
        thread.voluntary_switches = thread.voluntary_switches.max(Some(record.voluntary));
        thread.involuntary_switches = thread.involuntary_switches.max(Some(record.involuntary));
    }
}

/// Processes that were sampled but did not load the observer; their threads are known all the same.
pub(super) fn unobserved(facts: &Facts, observed: &HashSet<u32>) -> Vec<Process> {
    let mut processes: BTreeMap<u32, Vec<Thread>> = BTreeMap::new();
    for counted in facts.threads.iter().filter(|counted| !observed.contains(&counted.pid)) {
        processes.entry(counted.pid).or_default().push(counted.thread.clone());
    }
    let command =
        |pid: u32| if Some(pid) == facts.pid { facts.command.clone() } else { Vec::new() };
    let rows = processes.into_iter();
    rows.map(|(pid, threads)| Process { pid, command: command(pid), locks: Vec::new(), threads })
        .collect()
}
