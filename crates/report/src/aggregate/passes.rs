//! Locks that are seen by their waits and wakeups alone, as those that programs make of futexes: since when the thread
//! had such a lock that passed it on.
//!
//! # Contract
//! [`passes`] takes the wakeups from the threads' logs. The thread that wakes a waiter had the lock at least since
//! the latest of the waiter's arrival, of its own last wait for the lock, and of the last time that it passed it on.
//! # Evidence
//! The tests below; `tests/programs`: `blame_chain_of_futexes.c`.

use super::locks::Rows;
use super::logs::Logs;
use super::waiting::times;
use crate::run::Lock;
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

/// The times in which the threads of `image` that woke others had their locks, by lock and thread, the oldest first.
pub(super) fn passes(image: &ProcessRecord, logs: &Logs<'_>, rows: &Rows) -> Vec<Pass> {
    of_waits(&own_waits(image, logs, rows))
}

/// The same from the waits of each thread.
fn of_waits(waits: &[Vec<Own>]) -> Vec<Pass> {
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
        assert_eq!(of_waits(&waits), [pass(7, 0, 10, 80), pass(8, 1, 20, 100)]);
        // Thread 1 waited for that lock itself, until 90, as for a time that ran out.
        let own = Own { began: 85, ended: 90, by: None, ..waits[2][0] };
        waits[1].push(own);
        assert_eq!(of_waits(&waits)[1], pass(8, 1, 90, 100));
        // It passes the lock on once more, to a thread that had come before the first time.
        waits.push(vec![Own { began: 30, ended: 120, by: Some((1, 115)), ..waits[2][0] }]);
        assert_eq!(of_waits(&waits)[2], pass(8, 1, 100, 115));
    }
}
