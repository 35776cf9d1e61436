//! The locks of a report that match a pattern: `--only`.
//!
//! # Contract
//! A lock matches if anything that a report prints of it contains the pattern: its kind, class, place, address or
//! variable, or a function, line, file or module of one of its stacks or of the code that waited for it, held it or
//! ended its waits. In a pattern, `*` stands for any characters. `#3` is the lock of that number, and `#3+2` all locks
//! of the row that is called so.
//! # Evidence
//! `tests/rows.rs`.

use crate::code::is_match;
use crate::rows::{class_name, code, kind_of, place, rows, variable};
use crate::run::{Blamed, Frame, Lock, RunReport};
use std::collections::HashSet;
use std::path::Path;
use uncontended_figures::text::{closest, some_of};

impl RunReport {
    /// Keeps only the locks that match `pattern`, and the findings and culprits that concern them.
    pub fn keep_matching(&mut self, pattern: &str) {
        let kept: HashSet<u64> = self.matching(pattern);
        for process in &mut self.processes {
            process.locks.retain(|lock| kept.contains(&lock.id));
        }
        self.findings.retain(|finding| finding.lock.is_none_or(|id| kept.contains(&id)));
        self.keep_culprits(|culprit| culprit.locks.iter().any(|id| kept.contains(id)));
        let concerns = |lock: &u64| kept.contains(lock);
        self.deadlocks.retain(|deadlock| {
            deadlock.threads.iter().any(|t| t.lock.as_ref().is_some_and(concerns))
        });
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

    /// The numbers of the locks that match.
    fn matching(&self, pattern: &str) -> HashSet<u64> {
        if let Some(number) = number(pattern) {
            return self.locks().map(|lock| lock.id).filter(|&id| id == number).collect();
        }
        if let Some(row) = rows(self).iter().find(|row| row.label() == pattern) {
            return row.locks.iter().map(|lock| lock.id).collect();
        }
        let matching = self.locks().filter(|lock| matches(lock, pattern));
        matching.map(|lock| lock.id).collect()
    }

    /// The remedy, if there are locks but none matches `pattern`: the name that was probably meant, or the rows of the
    /// report.
    pub fn without_match(&self, pattern: &str) -> Option<String> {
        const NAMED: usize = 8;
        let rows = rows(self);
        if rows.is_empty() || !self.matching(pattern).is_empty() {
            return None;
        }
        let near = closest(pattern, self.locks().flat_map(words));
        if let Some(near) = near.filter(|_| !pattern.starts_with('#') && !pattern.contains('*')) {
            return Some(format!("did you mean '{near}'?"));
        }
        let named = rows.iter().take(NAMED);
        let named: Vec<String> =
            named.map(|row| format!("{} {}", row.label(), place(row.first()))).collect();
        Some(format!("locks of this run: {}", some_of(&named, rows.len(), NAMED)))
    }

    fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.processes.iter().flat_map(|process| &process.locks)
    }
}

/// The number in `#3`.
fn number(pattern: &str) -> Option<u64> {
    pattern.strip_prefix('#')?.parse().ok()
}

fn matches(lock: &Lock, pattern: &str) -> bool {
    let part = format!("*{pattern}*");
    let variable = variable(lock).map_or_else(String::new, |name| format!(" ({name})"));
    let names = [place(lock), format!("#{}{variable}", lock.id)];
    let lines = || frames(lock).map(code);
    words(lock).any(|word| is_match(word, &part))
        || names.into_iter().chain(lines()).any(|name| is_match(&name, &part))
}

/// The words that a report prints of a lock.
fn words(lock: &Lock) -> impl Iterator<Item = &str> {
    let names = [kind_of(lock), class_name(lock.class), &lock.address];
    let names = names.into_iter().chain(lock.variable.as_deref());
    names.chain(frames(lock).flat_map(of_frame))
}

/// The code that a report prints of a lock.
fn frames(lock: &Lock) -> impl Iterator<Item = &Frame> {
    let (wait, idle) = (lock.worst_wait.as_ref(), lock.worst_idle.as_ref());
    let stacks = [
        wait.map(|worst| &worst.waiter),
        wait.map(|worst| &worst.holder),
        idle.map(|worst| &worst.releaser),
        idle.map(|worst| &worst.waiter),
        Some(&lock.created),
        Some(&lock.first_taken),
    ];
    let blamed = lock.held_by.iter().chain(&lock.ended_by);
    let blamed = blamed.flat_map(|by| by.site.iter().chain(&by.stack));
    let waited = lock.waited_in.iter().flat_map(|at| at.site.iter().chain(&at.stack));
    let frames = lock.site.iter().chain(stacks.into_iter().flatten().flatten());
    frames.chain(blamed).chain(waited)
}

fn of_frame(frame: &Frame) -> impl Iterator<Item = &str> {
    let names = [&frame.function, &frame.file, &frame.module].map(Option::as_deref);
    let [_, file, module] = names;
    names.into_iter().chain([file.and_then(base), module.and_then(base)]).flatten()
}

fn base(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}
