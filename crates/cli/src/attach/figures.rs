//! The kernel's figures of threads that were running already, from when watching began.
//!
//! # Contract
//! [`Figures::look`] reads them from time to time, since they are gone when a process has ended; the last ones count.
//! Those of a thread that was never read are unknown. What was read of a process counts if it `is_still` watched
//! afterwards: it may have executed another program.

use crate::run::threads::figures;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};
use uncontended_report::facts::ThreadFacts;
use uncontended_report::run::Thread;

/// By process and thread.
type Threads = BTreeMap<(u32, u32), Thread>;

/// What was read.
#[derive(Debug)]
pub(super) struct Figures {
    before: Threads,
    last: Threads,
    due: Instant,
}

const EVERY: Duration = Duration::from_millis(250);
/// Reading takes at most one part in this many of a CPU.
const SHARE: u32 = 100;

impl Figures {
    pub(super) fn new() -> Self {
        Figures { before: Threads::new(), last: Threads::new(), due: Instant::now() }
    }

    /// Counts the threads of `pid` from now on.
    pub(super) fn begin(&mut self, pid: u32, is_still: impl Fn(u32) -> bool) {
        self.before.extend(read(pid, is_still));
        self.last.extend(self.before.clone());
    }

    /// Reads those of `pids`, if it is time to, or `at_once`.
    pub(super) fn look(&mut self, pids: &[u32], at_once: bool, is_still: impl Fn(u32) -> bool) {
        let start = Instant::now();
        if start < self.due && !at_once {
            return;
        }
        pids.iter().for_each(|&pid| self.last.extend(read(pid, &is_still)));
        let now = Instant::now();
        self.due = now + EVERY.max((now - start) * SHARE);
    }

    /// What the threads have done since.
    pub(super) fn facts(&self) -> Vec<ThreadFacts> {
        let of = |(&(pid, tid), last): (&(u32, u32), &Thread)| ThreadFacts {
            pid,
            thread: since(self.before.get(&(pid, tid)), last.clone()),
        };
        self.last.iter().map(of).collect()
    }
}

/// The threads of `pid`; none if it is another program's by then.
fn read(pid: u32, is_still: impl Fn(u32) -> bool) -> Threads {
    let mut threads = Threads::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(thread) = figures(&task.path(), tid) {
            threads.insert((pid, tid), thread);
        }
    }
    if is_still(pid) { threads } else { Threads::new() }
}

/// What a thread did between two looks. One that was created meanwhile has none `before`.
fn since(before: Option<&Thread>, mut last: Thread) -> Thread {
    let less = |last: &mut Option<u64>, before: Option<u64>| {
        *last = last.map(|last| last.saturating_sub(before.unwrap_or(0)));
    };
    if let Some(before) = before {
        less(&mut last.cpu_ns, before.cpu_ns);
        less(&mut last.user_ns, before.user_ns);
        less(&mut last.system_ns, before.system_ns);
        less(&mut last.runnable_ns, before.runnable_ns);
        less(&mut last.voluntary_switches, before.voluntary_switches);
        less(&mut last.involuntary_switches, before.involuntary_switches);
        less(&mut last.migrations, before.migrations);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_from_the_beginning_and_outlive_the_thread() {
        let mut figures = Figures::new();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || stopped.recv().is_err());
        figures.begin(std::process::id(), |_| true);
        let met = figures.facts().len();
        assert!(met >= 2);
        drop(stop);
        assert!(thread.join().unwrap());
        figures.look(&[std::process::id()], true, |_| true);
        let facts = figures.facts();
        assert!(facts.len() >= met);
        let mut none = Figures::new();
        none.look(&[std::process::id()], true, |_| false);
        assert_eq!(none.facts().len(), 0);
        assert!(facts.iter().all(|facts| facts.thread.voluntary_switches < Some(1 << 30)));
    }

    #[test]
    fn what_a_thread_did_before_does_not_count() {
        let thread = |cpu_ns| Thread { cpu_ns, ..Thread::default() };
        assert_eq!(since(Some(&thread(Some(30))), thread(Some(70))).cpu_ns, Some(40));
        assert_eq!(since(None, thread(Some(70))).cpu_ns, Some(70));
        assert_eq!(since(Some(&thread(Some(30))), thread(None)).cpu_ns, None);
    }
}
