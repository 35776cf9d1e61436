//! What the holders of a lock waited for themselves, while others waited for them.
//!
//! # Contract
//! The threads' logs have the times of the newest waits and holds. Of each hold, [`add`] takes the waiting of others
//! that fell into it, and the part of that during which its own thread was in a wait: for a lock, a condition, a
//! barrier, a futex or another thread's end. Whether a holder ran or slept in the rest, the record does not say. Of a
//! lock that is seen by its wakeups, the holds are its [`passes`](super::passes).
//! # Invariants
//! I1: the waits of one thread are apart ([`Meanwhile`]), so no instant of a hold counts twice.
//! # Evidence
//! The tests below; `tests/programs`: `holder_waits.c`.

use super::locks::Rows;
use super::meanwhile::{Meanwhile, Wait, is_held_by_one};
use super::passes::{Pass, is_passed};
use super::stacks::Stacks;
use super::waiting::Waiting;
use crate::code::line;
use crate::run::{Frame, HoldersWaited, WaitedOn};
use std::cmp::Reverse;
use std::collections::HashMap;
use uncontended_trace::reader::Record;

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
    /// Adds a hold from `from` to `to` of a thread with these waits meanwhile (I1).
    fn add<'w>(
        &mut self,
        waiting: &Waiting,
        (from, to): (u64, u64),
        own: impl Iterator<Item = &'w Wait>,
    ) {
        self.all = self.all.saturating_add(waiting.within(from, to));
        for wait in own {
            let part = waiting.within(wait.began.max(from), wait.ended.min(to));
            let sum = self.on.entry((wait.row, wait.stack)).or_default();
            *sum = sum.saturating_add(part);
        }
    }
}

/// Adds what they waited for to the rows of `image`. For now, a lock's number is its place among them.
pub(super) fn add(
    record: &Record<'_>,
    meanwhile: &Meanwhile,
    passes: &[Pass],
    rows: &mut Rows,
    stacks: &mut Stacks<'_>,
) {
    let mut sums: HashMap<usize, Sum> = HashMap::new();
    // Where each thread sleeps on an object of its own, its wait may be for the very lock that it passes on.
    let passed = passes.iter().filter(|pass| !rows.locks[pass.row].is_sleepers());
    let passed = passed.map(|pass| (pass.row, pass.thread, (pass.from, pass.to)));
    let holds = meanwhile.holds.iter().flat_map(|(&row, holds)| {
        holds.iter().map(move |hold| (row, hold.thread, (hold.began, hold.ended)))
    });
    for (row, thread, at) in holds.chain(passed).filter(|(.., (began, ended))| began < ended) {
        if let Some(waiting) = meanwhile.waiting.get(&row) {
            sums.entry(row).or_default().add(waiting, at, meanwhile.waits_in(thread, at));
        }
    }
    for (row, lock) in rows.locks.iter_mut().enumerate() {
        let is_one = is_held_by_one(lock) || is_passed(lock);
        let sum = sums.remove(&row).filter(|sum| is_one && sum.all > 0);
        lock.holders_waited = sum.map(|sum| waited(record, sum, stacks));
    }
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
        let wait =
            |began, ended, row, stack| Wait { row, began, ended, stack, by: None, by_stack: 0 };
        let own = vec![wait(0, 5, Some(1), 0), wait(20, 30, Some(7), 3), wait(90, 120, None, 0)];
        let meanwhile = Meanwhile { waits: vec![own], ..Meanwhile::default() };
        let mut sum = Sum::default();
        let mut add = |hold| sum.add(&waiting, hold, meanwhile.waits_in(0, hold));
        add((10, 100));
        add((250, 260));
        assert_eq!(sum.all, 90 + 50 + 10);
        assert_eq!(sum.on, HashMap::from([((Some(7), 3), 10), ((None, 0), 20)]));
    }
}
