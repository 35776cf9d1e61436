//! The locks of a report that match a pattern: `--only`.
//!
//! # Contract
//! A lock matches if anything that a report prints of it contains the pattern (`only/printed.rs`). In a pattern, `*`
//! stands for any characters, and several spaces are as one. `#3` is the lock of that number, of a read-write lock both
//! rows, and `#3+2` all locks of the row that is called so. Threads that still wait stay where the lock that they wait
//! for does.
//! # Evidence
//! `tests/rows.rs`, `tests/only.rs`.

mod printed;

use crate::rows::{Row, rows};
use crate::run::{Blamed, Lock, RunReport};
use printed::Elsewhere;
use std::collections::HashSet;
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
            let is_it = |lock: &&Lock| lock.id == number || lock.other_side == Some(number);
            return self.locks().filter(is_it).map(|lock| lock.id).collect();
        }
        let pattern = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_called = |row: &&Row| row.label() == pattern || called(row) == pattern;
        if let Some(row) = rows(self).iter().find(is_called) {
            return row.locks.iter().map(|lock| lock.id).collect();
        }
        let elsewhere = Elsewhere::of(self);
        let matching = self.locks().filter(|lock| elsewhere.with(lock).matches(&pattern));
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
        let elsewhere = Elsewhere::of(self);
        let near = closest(pattern, self.locks().flat_map(|lock| elsewhere.with(lock).words()));
        if let Some(near) = near.filter(|_| !pattern.starts_with('#') && !pattern.contains('*')) {
            return Some(format!("did you mean '{near}'?"));
        }
        let named = rows.iter().take(NAMED);
        let named: Vec<String> = named.map(called).collect();
        Some(format!("locks of this run: {}", some_of(&named, rows.len(), NAMED)))
    }

    fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.processes.iter().flat_map(|process| &process.locks)
    }
}

/// A row as the remedy names it.
fn called(row: &Row) -> String {
    format!("{} {}", row.label(), row.place())
}

/// The number in `#3`.
fn number(pattern: &str) -> Option<u64> {
    pattern.strip_prefix('#')?.parse().ok()
}
