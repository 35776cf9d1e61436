//! Locks that are seen by their waits and wakeups alone, as those that programs make of futexes: since when the thread
//! had such a lock that passed it on, and what it waited for itself meanwhile.
//!
//! # Contract
//! [`passes`] takes the wakeups from the threads' logs. The thread that wakes a waiter had the lock at least since
//! the latest of the waiter's arrival, of its own last wait for the lock, and of the last time that it passed it on.
//! [`follow`] passes on what it waited for other such locks meanwhile, to the thread that ended that wait, and so on:
//! of a chain, each thread is to blame for what only it did. Where the logs keep the newest waits alone, their shares
//! are those of all.
//! # Evidence
//! The tests below; `tests/programs`: `blame_chain_of_futexes.c`.

use super::blame::{Sites, pass_on};
use super::locks::Rows;
use super::path::Logs;
use super::stacks::Stacks;
use super::waiting::{Waiting, times};
use crate::run::{BlamedKind, Frame, Lock};
use std::collections::{BTreeMap, HashMap};
use uncontended_trace::reader::{LoggedRecord, ProcessRecord, ThreadRecord};

/// A time in which a thread had a lock and others waited for it, up to its wakeup of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pass {
    pub(super) row: usize,
    pub(super) thread: usize,
    /// When it woke the other.
    pub(super) to: u64,
    pub(super) from: u64,
    /// The stack of the wakeup.
    pub(super) stack: u32,
}

/// A wait.
#[derive(Debug, Clone, Copy)]
struct Own {
    row: usize,
    began: u64,
    ended: u64,
    /// The thread that ended it, and when; none if that is unknown.
    by: Option<(usize, u64)>,
    /// With which stack.
    by_stack: u32,
}

/// Whether a lock is seen by wakeups alone, though threads have it.
pub(super) fn is_passed(lock: &Lock) -> bool {
    lock.class.is_caused_by_holders() && !lock.ended_by.is_empty()
}

/// The waits of each thread for such locks, in the order of time.
fn own_waits(image: &ProcessRecord, logs: &Logs<'_>, rows: &Rows) -> Vec<Vec<Own>> {
    let of_thread = |thread: &ThreadRecord| {
        let of = |wait: &LoggedRecord| {
            let row = logs.row(wait.lock).filter(|&row| is_passed(&rows.locks[row]))?;
            let (began, ended) = times(wait);
            Some(Own { row, began, ended, by: logs.by(wait), by_stack: wait.by_stack })
        };
        let mut waits: Vec<Own> = thread.log.waits().filter_map(of).collect();
        waits.sort_by_key(|wait| (wait.ended, wait.began));
        waits
    };
    image.threads.iter().map(of_thread).collect()
}

/// The times in which the threads that woke others had their locks, by lock and thread, the oldest first.
fn passes(waits: &[Vec<Own>]) -> Vec<Pass> {
    let had_since = |wait: &Own, (by, at): (usize, u64)| {
        let own = &waits[by];
        let before = own.partition_point(|own| own.ended <= at);
        let mut since = own[..before].iter().rev().take_while(|own| own.ended > wait.began);
        since.find(|own| own.row == wait.row).map_or(wait.began, |own| own.ended)
    };
    let of = |wait: &Own| {
        let (thread, to) = wait.by?;
        let from = had_since(wait, (thread, to)).min(to);
        Some(Pass { row: wait.row, thread, to, from, stack: wait.by_stack })
    };
    let mut all: Vec<Pass> = waits.iter().flatten().filter_map(of).collect();
    all.sort_unstable();
    // Of several that were woken at once, the one that came first.
    all.dedup_by_key(|pass| (pass.row, pass.thread, pass.to));
    for at in 1..all.len() {
        let before = all[at - 1];
        let pass = &mut all[at];
        if (before.row, before.thread) == (pass.row, pass.thread) {
            pass.from = pass.from.max(before.to);
        }
    }
    all
}

/// The code of a wakeup: of a lock, with a stack.
type Code = (usize, u32);

/// How many threads of a chain are followed.
const LONGEST: usize = 8;

/// Divides the time from `from` to `to`, in which `thread` had what `code` passed on, among those to blame for it.
fn divide(
    waits: &[Vec<Own>],
    thread: usize,
    (from, to): (u64, u64),
    (code, length): (Code, usize),
    add: &mut impl FnMut(Code, u64, u64),
) {
    let own = &waits[thread];
    let first = own.partition_point(|wait| wait.ended <= from);
    let mut own_since = from;
    for wait in own[first..].iter().take_while(|wait| length < LONGEST && wait.began < to) {
        let Some((by, at)) = wait.by else { continue };
        let (began, ended) = (wait.began.max(own_since), at.min(to));
        if began < ended {
            add(code, own_since, began);
            let next = ((wait.row, wait.by_stack), length + 1);
            divide(waits, by, (began, ended), next, add);
            own_since = ended;
        }
    }
    add(code, own_since, to);
}

/// What of the waiting for one lock fell into the times of one code's passes, by the code that it is to be blamed on.
type Shares = BTreeMap<Code, BTreeMap<Code, u64>>;

fn shares(waits: &[Vec<Own>], passes: &[Pass], waiting: &HashMap<usize, Waiting>) -> Shares {
    let mut shares = Shares::new();
    for pass in passes.iter().filter(|pass| pass.from < pass.to) {
        let Some(waiting) = waiting.get(&pass.row) else { continue };
        let code = (pass.row, pass.stack);
        let of_code = shares.entry(code).or_default();
        let mut add = |to: Code, from, until| {
            let sum = of_code.entry(to).or_default();
            *sum = u64::saturating_add(*sum, waiting.within(from, until));
        };
        divide(waits, pass.thread, (pass.from, pass.to), (code, 0), &mut add);
    }
    shares
}

/// Passes on the waiting of `rows` at such locks along chains, and returns when threads had them.
pub(super) fn follow(
    image: &ProcessRecord,
    logs: &Logs<'_>,
    rows: &mut Rows,
    sites: &Sites,
    stacks: &mut Stacks<'_>,
) -> Vec<Pass> {
    let waits = own_waits(image, logs, rows);
    let passes = passes(&waits);
    let mut by_row: HashMap<usize, Vec<(u64, u64)>> = HashMap::new();
    for wait in waits.iter().flatten() {
        by_row.entry(wait.row).or_default().push((wait.began, wait.ended));
    }
    let of = |(row, waits): (usize, Vec<_>)| (row, Waiting::new(&waits, &[], 1));
    let waiting = by_row.into_iter().map(of).collect();
    // Several stacks may be of one line of code.
    let mut by_line: BTreeMap<(usize, Option<Frame>), BTreeMap<Code, u64>> = BTreeMap::new();
    for ((row, stack), to) in shares(&waits, &passes, &waiting) {
        let line = sites.line(BlamedKind::Wake, stack, stacks);
        let of_line = by_line.entry((row, line.clone())).or_default();
        for (target, ticks) in to {
            // What stays with the same code is its own.
            let is_own = target.0 == row && sites.line(BlamedKind::Wake, target.1, stacks) == line;
            let target = if is_own { (row, 0) } else { target };
            let sum = of_line.entry(target).or_default();
            *sum = sum.saturating_add(ticks);
        }
    }
    for ((row, line), mut to) in by_line {
        let all = super::sum(to.values().copied());
        to.remove(&(row, 0));
        let share = |ticks: u64| ticks as f64 / all.max(1) as f64;
        let parts = to.into_iter().filter(|&(_, ticks)| ticks > 0);
        let parts = parts.map(|((_, stack), ticks)| {
            (sites.piece(BlamedKind::Wake, stack, stacks), share(ticks))
        });
        let parts = parts.collect();
        pass_on(&mut rows.locks[row], &mut rows.followed[row], line.as_ref(), parts);
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACKS: [u32; 3] = [11, 12, 13];

    /// Thread 1 waits for row 7, which thread 0 passes on; thread 2 waits for row 8, which thread 1 passes on.
    fn chain() -> Vec<Vec<Own>> {
        let wait = |row, (began, ended), by: usize, at| Own {
            row,
            began,
            ended,
            by: Some((by, at)),
            by_stack: STACKS[by],
        };
        vec![vec![], vec![wait(7, (10, 85), 0, 80)], vec![wait(8, (20, 105), 1, 100)]]
    }

    #[test]
    fn a_thread_had_a_lock_since_a_waiter_came_or_it_had_it_itself() {
        let mut waits = chain();
        let pass = |row, thread, from, to| Pass { row, thread, to, from, stack: STACKS[thread] };
        assert_eq!(passes(&waits), [pass(7, 0, 10, 80), pass(8, 1, 20, 100)]);
        // Thread 1 waited for that lock itself, until 90, as for a time that ran out.
        let own = Own { began: 85, ended: 90, by: None, ..waits[2][0] };
        waits[1].push(own);
        assert_eq!(passes(&waits)[1], pass(8, 1, 90, 100));
        // It passes the lock on once more, to a thread that had come before the first time.
        waits.push(vec![Own { began: 30, ended: 120, by: Some((1, 115)), ..waits[2][0] }]);
        assert_eq!(passes(&waits)[2], pass(8, 1, 100, 115));
    }

    #[test]
    fn what_a_holder_waited_for_is_the_others() {
        let waits = chain();
        let waiting = [(7, (10, 85)), (8, (20, 105))];
        let waiting = waiting.map(|(row, wait)| (row, Waiting::new(&[wait], &[], 1)));
        let shares = shares(&waits, &passes(&waits), &waiting.into());
        assert_eq!(shares[&(7, 11)], [((7, 11), 70)].into());
        // From 80 on it was awake, or about to be.
        assert_eq!(shares[&(8, 12)], [((7, 11), 60), ((8, 12), 20)].into());
    }
}
