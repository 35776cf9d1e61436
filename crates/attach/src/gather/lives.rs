//! When the threads of a process lived.
//!
//! # Contract
//! The kernel's times, of those that found room; else from when to when the thread was met or waited.

use super::Sum;
use crate::process::Process;
use crate::seed;
use std::collections::{BTreeMap, BTreeSet};

/// The lives of the threads of a process.
pub(super) struct Lives {
    /// Birth, and end (0: it lives), by thread.
    pub(super) of: BTreeMap<u32, [u64; 2]>,
}

impl Lives {
    /// Of the threads of `process`: `noted` by the kernel, met, or with `sums`.
    pub(super) fn new(process: &Process, noted: BTreeMap<u32, [u64; 2]>, sums: &[Sum]) -> Self {
        let is_watched = process.is_watched();
        let mut others: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        let met = process.lives.iter().map(|(&tid, life)| (tid, life.met));
        let waited = sums.iter().map(|sum| (sum.thread, waited(sum)));
        for (tid, [from, to]) in met.chain(waited).filter(|(tid, _)| !noted.contains_key(tid)) {
            let life = others.entry(tid).or_insert([from, to]);
            *life = [life[0].min(from), life[1].max(to)];
        }
        if is_watched && !others.is_empty() {
            for tid in seed::threads(process.pid) {
                others.entry(tid).and_modify(|life| life[1] = 0);
            }
        }
        let mut of = noted;
        of.extend(others);
        Lives { of }
    }

    /// When the last thread ended; none if one lives.
    pub(super) fn last(&self) -> Option<u64> {
        let ends = self.of.values().map(|&[_, ended]| ended);
        ends.clone().all(|ended| ended != 0).then(|| ends.max()).flatten()
    }

    /// The threads of `process` that live.
    pub(super) fn alive(&self, process: &Process) -> BTreeSet<u32> {
        let alive = self.of.iter().filter(|(_, life)| process.is_watched() && life[1] == 0);
        alive.map(|(&tid, _)| tid).collect()
    }
}

/// From when to when a thread lived at least that waited so.
fn waited(sum: &Sum) -> [u64; 2] {
    let from = sum.longest_at.saturating_sub(sum.longest);
    [from, sum.longest_at.max(from.saturating_add(sum.total))]
}
