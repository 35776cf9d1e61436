//! What the threads of a process logged of their waits, in the report's terms.
//!
//! # Contract
//! Times are in nanoseconds since the start of the run, threads by their places in the process's list, locks by their
//! rows. A join of a thread that had ended is not a wait.
//! # Evidence
//! `crates/report/tests/chains.rs`; `tests/programs`: `path.c`, `phases.c`.

use crate::path::{History, Thread, Wait};
use std::collections::{HashMap, HashSet};
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, Record, ThreadRecord};

/// The logs of a process's threads.
pub(super) struct Logs<'a> {
    record: &'a Record<'a>,
    pub(super) image: &'a ProcessRecord,
    /// Threads by their numbers and those of their cells.
    pub(super) threads: HashMap<u32, usize>,
    /// Rows by the numbers of their locks.
    locks: HashMap<u32, usize>,
    /// The ends of the threads of each handle, in the order of time, with the threads' numbers.
    ends: HashMap<u64, Vec<(u64, usize)>>,
    /// The handles of all threads, and their numbers in the kernel.
    known: (HashSet<u64>, HashSet<u32>),
}

impl<'a> Logs<'a> {
    /// The rows have these units.
    pub(super) fn new(record: &'a Record<'a>, image: &'a ProcessRecord, units: &[u32]) -> Self {
        let mut threads = HashMap::new();
        let mut ends: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
        for (number, thread) in image.threads.iter().enumerate() {
            if thread.end_ticks != 0 {
                ends.entry(thread.handle).or_default().push((thread.end_ticks, number));
            }
            threads.insert(thread.unit, number);
            threads.extend(thread.cells.iter().map(|cell| (cell.number(), number)));
        }
        let locks = units.iter().enumerate().map(|(row, &unit)| (unit, row)).collect();
        ends.values_mut().for_each(|of_handle| of_handle.sort_unstable());
        let of_all = image.threads.iter();
        let known = of_all.map(|thread| (thread.handle, thread.tid)).unzip();
        Logs { record, image, threads, locks, ends, known }
    }

    /// The row of the lock with this number.
    pub(super) fn row(&self, lock: u32) -> Option<usize> {
        self.locks.get(&lock).copied()
    }

    pub(super) fn ns(&self, ticks: u64) -> u64 {
        self.record.ns_at(ticks)
    }

    pub(super) fn span_ns(&self, ticks: u64) -> u64 {
        self.record.ns(ticks)
    }

    /// From when on all waits of a thread are known.
    pub(super) fn known_from(&self, thread: &ThreadRecord) -> u64 {
        let first = thread.log.entries.first().filter(|_| thread.log.lost > 0);
        first.map_or(0, |first| self.ns(first.ended))
    }

    /// Whether a wait was for the end of a thread that is not in the record.
    pub(super) fn is_for_unseen(&self, wait: &LoggedRecord) -> bool {
        let (handles, tids) = &self.known;
        let is_known = match wait.by {
            0 => handles.contains(&wait.joined),
            tid => tids.contains(&tid),
        };
        wait.what == logged::JOIN && wait.joined != 0 && !is_known
    }

    /// The thread whose end a wait was for, and when it ended. Handles are used again: if it had ended before, it is
    /// taken to be the last one.
    pub(super) fn ended(&self, wait: &LoggedRecord) -> Option<(usize, u64)> {
        let of_handle = self.ends.get(&wait.joined).filter(|_| wait.joined != 0)?;
        let before = of_handle.partition_point(|&(end, _)| end <= wait.ended);
        let &(end, number) = of_handle.get(before.checked_sub(1)?)?;
        let is_it = wait.by == 0 || wait.by == self.image.threads[number].tid;
        is_it.then_some((number, end))
    }

    /// Whether this was no wait: the thread had ended before, and only had to be cleared away.
    pub(super) fn is_over(&self, wait: &LoggedRecord) -> bool {
        wait.what == logged::JOIN && self.ended(wait).is_some_and(|(_, end)| end < wait.began)
    }

    /// The thread that ended a wait, and when, in ticks.
    pub(super) fn by(&self, wait: &LoggedRecord) -> Option<(usize, u64)> {
        if wait.what == logged::JOIN {
            return self.ended(wait);
        }
        let is_inside = wait.by != 0 && (wait.began..=wait.ended).contains(&wait.by_at);
        let thread = self.threads.get(&wait.by).filter(|_| is_inside)?;
        Some((*thread, wait.by_at))
    }

    /// The threads that a thread joined after their ends: when, which, and when they had ended.
    pub(super) fn joined_after(&self, thread: &ThreadRecord) -> Vec<(u64, usize, u64)> {
        let over = thread.log.waits().filter(|wait| self.is_over(wait));
        let ended = over.filter_map(|wait| Some((wait.ended, self.ended(wait)?)));
        ended.map(|(at, (by, end))| (self.ns(at), by, self.ns(end))).collect()
    }

    /// Adds the threads that were joined and are not in the record: all that is known of each is that it ran while
    /// another thread waited for its end.
    pub(super) fn add_unseen(&self, history: &mut History) {
        for (joiner, thread) in self.image.threads.iter().enumerate() {
            for join in thread.log.waits().filter(|wait| self.is_for_unseen(wait)) {
                let (start, end) = (self.ns(join.began), self.ns(join.ended));
                let fresh = history.threads.len();
                let mut waits = history.threads[joiner].waits.iter_mut();
                let Some(wait) = waits.find(|wait| wait.began == start) else { continue };
                wait.by = Some((fresh, end));
                history.threads.push(Thread { start, ..Thread::default() });
            }
        }
    }

    /// The waits of a thread. Those that continue an earlier one, in the same place and straight after its return, are
    /// one wait with it: what ended the earlier one changed nothing.
    pub(super) fn whole_waits(&self, thread: &ThreadRecord) -> Vec<LoggedRecord> {
        /// What the thread did in between took at most this part of the whole.
        const STRAIGHT: u64 = 20;
        let mut waits: Vec<LoggedRecord> = Vec::new();
        for &(mut wait) in thread.log.waits().filter(|wait| !self.is_over(wait)) {
            let is_it = |before: &LoggedRecord| {
                let whole = wait.ended.saturating_sub(before.began);
                let is_straight = u64::from(wait.between) <= whole / STRAIGHT;
                (before.lock, before.stack) == (wait.lock, wait.stack) && is_straight
            };
            let before = waits.iter().rposition(|before| before.lock == wait.lock);
            let before = before.filter(|&at| wait.what == logged::CONTINUED && is_it(&waits[at]));
            if let Some(before) = before {
                // What is in between is the return to the mutex.
                wait.began = waits[before].began;
                waits.truncate(before);
            }
            waits.push(wait);
        }
        waits
    }

    /// The waits of a thread that do not overlap an earlier one.
    pub(super) fn waits(&self, thread: &ThreadRecord) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        for wait in self.whole_waits(thread) {
            let (began, ended) = (self.ns(wait.began), self.ns(wait.ended));
            let by = self.by(&wait).map(|(thread, at)| (thread, self.ns(at)));
            let lock = self.locks.get(&wait.lock).copied();
            if began < ended && waits.last().is_none_or(|last| last.ended <= began) {
                let (free, by_stack) = (self.span_ns(wait.free), wait.by_stack);
                let (excludes, meets, paced) = (false, false, false); // The rows tell.
                waits.push(Wait { began, ended, lock, by, by_stack, free, excludes, meets, paced });
            }
        }
        waits
    }
}
