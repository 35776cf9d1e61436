//! The locks of a report that match a pattern: `--only`.
//!
//! # Contract
//! A lock matches if anything that a report prints of it contains the pattern: its number (`#3`), kind, class, place,
//! address, or a function, file or module of one of its stacks.
//! # Evidence
//! `tests/rows.rs`.

use crate::rows::{class_name, kind_of, place};
use crate::run::{Blamed, Frame, Lock, RunReport};
use std::collections::HashSet;
use std::path::Path;
use uncontended_figures::text::closest;

impl RunReport {
    /// Keeps only the locks that match `pattern`, and the findings and culprits that concern them.
    pub fn keep_matching(&mut self, pattern: &str) {
        for process in &mut self.processes {
            process.locks.retain(|lock| matches(lock, pattern));
        }
        let kept: HashSet<u64> = self.locks().map(|lock| lock.id).collect();
        self.findings.retain(|finding| finding.lock.is_none_or(|id| kept.contains(&id)));
        self.keep_culprits(|culprit| culprit.locks.iter().any(|id| kept.contains(id)));
        let concerns = |lock: &u64| kept.contains(lock);
        self.deadlocks.retain(|deadlock| deadlock.threads.iter().any(|t| concerns(&t.lock)));
        if let Some(order) = &mut self.lock_order {
            order.inversions.retain(|found| found.threads.iter().any(|t| concerns(&t.taken)));
        }
        self.only = Some(pattern.to_owned());
    }

    /// Keeps these culprits, and corrects their positions in the parts of spans.
    fn keep_culprits(&mut self, is_kept: impl Fn(&Blamed) -> bool) {
        let mut kept = 0..;
        let position = |culprit| if is_kept(culprit) { kept.next() } else { None };
        let now: Vec<Option<u64>> = self.culprits.iter().map(position).collect();
        self.culprits.retain(&is_kept);
        let groups = self.spans.iter_mut().flat_map(|of| [&mut of.slowest, &mut of.median]);
        for part in groups.flat_map(|group| &mut group.parts) {
            let before = part.culprit.and_then(|nth| usize::try_from(nth).ok());
            part.culprit = before.and_then(|nth| *now.get(nth)?);
        }
    }

    /// The remedy, if there are locks but none matches `pattern`: the name that was probably meant, or some that are
    /// there.
    pub fn without_match(&self, pattern: &str) -> Option<String> {
        const NAMED: usize = 3;
        let mut locks: Vec<&Lock> = self.locks().collect();
        if locks.is_empty() || locks.iter().any(|lock| matches(lock, pattern)) {
            return None;
        }
        if let Some(near) = closest(pattern, locks.iter().flat_map(|lock| words(lock))) {
            return Some(format!("did you mean '{near}'?"));
        }
        locks.sort_by_key(|lock| std::cmp::Reverse(lock.wait_ns.as_ref().map(|wait| wait.total)));
        let mut places: Vec<String> = locks.into_iter().map(place).collect();
        places.dedup();
        let more = if places.len() > NAMED { ", …" } else { "" };
        places.truncate(NAMED);
        Some(format!("locks of this run: {}{more}", places.join(", ")))
    }

    fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.processes.iter().flat_map(|process| &process.locks)
    }
}

fn matches(lock: &Lock, pattern: &str) -> bool {
    let names = [place(lock), format!("#{}", lock.id)];
    words(lock).any(|word| word.contains(pattern))
        || names.iter().any(|name| name.contains(pattern))
}

/// The words that a report prints of a lock.
fn words(lock: &Lock) -> impl Iterator<Item = &str> {
    let (wait, idle) = (lock.worst_wait.as_ref(), lock.worst_idle.as_ref());
    let stacks = [
        wait.map(|worst| &worst.waiter),
        wait.map(|worst| &worst.holder),
        idle.map(|worst| &worst.releaser),
        idle.map(|worst| &worst.waiter),
        Some(&lock.created),
        Some(&lock.first_taken),
    ];
    let frames = lock.site.iter().chain(stacks.into_iter().flatten().flatten());
    let names = [kind_of(lock), class_name(lock.class), &lock.address];
    names.into_iter().chain(frames.flat_map(of_frame))
}

fn of_frame(frame: &Frame) -> impl Iterator<Item = &str> {
    let names = [&frame.function, &frame.file, &frame.module].map(Option::as_deref);
    let [_, file, module] = names;
    names.into_iter().chain([file.and_then(base), module.and_then(base)]).flatten()
}

fn base(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}
