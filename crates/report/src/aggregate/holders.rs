//! What the holders of a lock waited for themselves, while others waited for them.
//!
//! # Contract
//! The threads' logs have the times of the newest waits and holds. Of each hold, [`add`] takes the waiting of others
//! that fell into it, and the part of that during which its own thread was in a wait: for a lock, a condition, a
//! barrier, a futex or another thread's end. Whether a holder ran or slept in the rest, the record does not say. Of a
//! lock that is seen by its wakeups, the holds are its [`passes`](super::passes).
//! # Invariants
//! I1: the waits of one thread are apart, so no instant of a hold counts twice.
//! # Evidence
//! The tests below; `tests/programs`: `holder_waits.c`.

use super::locks::Rows;
use super::passes::{Pass, is_passed};
use super::path::Logs;
use super::stacks::Stacks;
use super::waiting::{Waiting, times};
use crate::code::line;
use crate::run::{Frame, HoldersWaited, Kind, WaitedOn};
use std::cmp::Reverse;
use std::collections::HashMap;
use uncontended_trace::layout::logged;
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, Record, ThreadRecord};

/// How many things that holders waited for are kept.
const MOST: usize = 5;

/// What was waited for: a row, or another thread's end; and the stack of the wait.
type On = (Option<usize>, u32);

/// The same with the line of code instead of the stack.
type Code = (Option<usize>, Option<Frame>);

/// The waiting that fell into the known holds of one lock, and the parts during which their threads waited.
#[derive(Debug, Default)]
struct Sum {
    all: u64,
    on: HashMap<On, u64>,
}

impl Sum {
    /// Adds a hold from `from` to `to` of a thread with these waits (I1), each with what it was for.
    fn add(&mut self, waiting: &Waiting, (from, to): (u64, u64), own: &[(u64, u64, On)]) {
        self.all = self.all.saturating_add(waiting.within(from, to));
        let first = own.partition_point(|&(_, ended, _)| ended <= from);
        for &(began, ended, on) in own[first..].iter().take_while(|&&(began, ..)| began < to) {
            let part = waiting.within(began.max(from), ended.min(to));
            let sum = self.on.entry(on).or_default();
            *sum = sum.saturating_add(part);
        }
    }
}

/// Adds what they waited for to the rows of `image`. For now, a lock's number is its place among them.
pub(super) fn add(
    (record, image): (&Record<'_>, &ProcessRecord),
    logs: &Logs<'_>,
    passes: &[Pass],
    rows: &mut Rows,
    stacks: &mut Stacks<'_>,
) {
    let logs_of = || image.threads.iter().map(|thread| &thread.log);
    let waits = by_lock(logs_of().flat_map(|log| log.waits()));
    let holds = by_lock(logs_of().flat_map(|log| log.holds()));
    let of = |(lock, waits): (u32, Vec<(u64, u64)>)| {
        (lock, Waiting::new(&waits, holds.get(&lock).map_or(&[], Vec::as_slice), 1))
    };
    let waiting: HashMap<u32, Waiting> = waits.into_iter().map(of).collect();
    let mut sums: HashMap<u32, Sum> = HashMap::new();
    let mut passed: Vec<Vec<(u32, u64, u64)>> = vec![Vec::new(); image.threads.len()];
    // Where each thread sleeps on an object of its own, its wait may be for the very lock that it passes on.
    for pass in passes.iter().filter(|pass| !rows.locks[pass.row].is_sleepers()) {
        passed[pass.thread].push((rows.units[pass.row], pass.from, pass.to));
    }
    for (thread, passed) in image.threads.iter().zip(passed) {
        let own = own_waits(thread, logs);
        let holds = thread.log.holds().map(|hold| (hold.lock, hold.began, hold.ended));
        for (lock, began, ended) in holds.chain(passed).filter(|&(_, began, ended)| began < ended) {
            if let Some(waiting) = waiting.get(&lock) {
                sums.entry(lock).or_default().add(waiting, (began, ended), &own);
            }
        }
    }
    for (place, unit) in rows.units.iter().enumerate() {
        let lock = &mut rows.locks[place];
        let is_exclusive = matches!(
            lock.kind,
            Kind::Mutex | Kind::Spin | Kind::Annotated | Kind::Semaphore | Kind::RwlockWrite
        );
        let is_signal = lock.kind == Kind::Semaphore && lock.held_by.is_empty();
        let is_one = is_exclusive && !is_signal || is_passed(lock);
        let sum = sums.remove(unit).filter(|sum| is_one && sum.all > 0);
        lock.holders_waited = sum.map(|sum| waited(record, sum, stacks));
    }
}

/// When these were, by lock.
fn by_lock<'l>(logged: impl Iterator<Item = &'l LoggedRecord>) -> HashMap<u32, Vec<(u64, u64)>> {
    let mut all: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for entry in logged {
        all.entry(entry.lock).or_default().push(times(entry));
    }
    all
}

/// The waits of a thread, apart and in the order of time (I1).
fn own_waits(thread: &ThreadRecord, logs: &Logs<'_>) -> Vec<(u64, u64, On)> {
    let mut own: Vec<(u64, u64, On)> = Vec::new();
    let mut all: Vec<&LoggedRecord> =
        thread.log.waits().filter(|wait| !logs.is_over(wait)).collect();
    all.sort_by_key(|wait| (wait.began, wait.ended));
    for wait in all {
        let from = own.last().map_or(wait.began, |last| wait.began.max(last.1));
        let row = logs.row(wait.lock);
        // A lock without a row is another process's.
        if from < wait.ended && (row.is_some() || wait.what == logged::JOIN) {
            own.push((from, wait.ended, (row, wait.stack)));
        }
    }
    own
}

/// The sums of a lock, with names.
fn waited(record: &Record<'_>, sum: Sum, stacks: &mut Stacks<'_>) -> HoldersWaited {
    let mut on: HashMap<Code, (Option<Frame>, u64)> = HashMap::new();
    for ((lock, stack), ticks) in sum.on.into_iter().filter(|&(_, ticks)| ticks > 0) {
        let frames = stacks.frames(stack);
        let site = stacks.skipped.site(&frames).cloned();
        let (kept, all) = on.entry((lock, site.as_ref().map(line))).or_default();
        *kept = kept.take().or(site);
        *all = all.saturating_add(ticks);
    }
    let waited_ns = record.ns(super::sum(on.values().map(|&(_, ticks)| ticks)));
    let on = on.into_iter().map(|((lock, _), (site, ticks))| WaitedOn {
        lock: lock.map(|place| place as u64),
        site,
        wait_ns: record.ns(ticks),
    });
    let mut on: Vec<WaitedOn> = on.collect();
    on.sort_by(|a, b| {
        let key = |on: &WaitedOn| (Reverse(on.wait_ns), on.lock, on.site.clone());
        key(a).cmp(&key(b))
    });
    on.truncate(MOST);
    HoldersWaited { wait_ns: record.ns(sum.all), waited_ns, on }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads wait for a hold from 10 to 100, whose thread waits for row 7 and for another thread's end.
    #[test]
    fn a_holders_own_waits_count_as_often_as_threads_waited_meanwhile() {
        let waiting = Waiting::new(&[(0, 100), (50, 100), (200, 300)], &[(10, 100), (250, 260)], 1);
        let own = [(0, 5, (Some(1), 0)), (20, 30, (Some(7), 3)), (90, 120, (None, 0))];
        let mut sum = Sum::default();
        sum.add(&waiting, (10, 100), &own);
        assert_eq!(sum.all, 90 + 50);
        assert_eq!(sum.on, HashMap::from([((Some(7), 3), 10), ((None, 0), 20)]));
        sum.add(&waiting, (250, 260), &own);
        assert_eq!(sum.all, 150);
    }
}
