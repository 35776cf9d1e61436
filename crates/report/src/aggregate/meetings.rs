//! Barriers that are made of a condition or a futex, known by how their threads meet.
//!
//! # Contract
//! A *round* is what one wakeup ended: the threads that waited, and the one that made it. Threads that take part in
//! nearly every round are its members. They meet if the last one is now this member and now another, or if it wakes in
//! the function in which others wait (Rust's `Barrier`, say): it would have waited for the others. A thread that mostly
//! spins until the last one comes does not count as one. Two threads that wake each other in turn meet as
//! well: each comes when the other waits.
//!
//! [`add_last`] says which thread came last for most of the waiting.
//! # Evidence
//! The tests below; `tests/programs/path.c`, mode `counted`.

use super::locks::Rows;
use super::meanwhile::{Meanwhile, Wait};
use super::stacks::Stacks;
use crate::run::{Frame, Keeper, Kind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uncontended_trace::reader::{ProcessRecord, Record};

/// Fewer rounds show nothing.
const FEWEST: usize = 3;
/// Members take part in at least this share of the rounds: not in the first or the last one, say.
const NEARLY: f64 = 0.9;

/// What one wakeup ended.
#[derive(Default)]
struct Round {
    /// The threads that took part.
    threads: BTreeSet<usize>,
    /// The stacks of a wait and of the wakeup.
    stacks: (u32, u32),
}

/// The rounds of a row, by the thread that made the wakeup, and when.
type Rounds = BTreeMap<(usize, u64), Round>;

/// The rows at which threads meet: barriers, and what works as one.
pub(super) fn rows(rows: &Rows, meanwhile: &Meanwhile, stacks: &mut Stacks<'_>) -> HashSet<usize> {
    let is = |row: usize, kinds: &[Kind]| {
        rows.locks.get(row).is_some_and(|lock| kinds.contains(&lock.kind))
    };
    let may_meet = |row: &usize| {
        is(*row, &[Kind::Condition, Kind::Futex]) && !rows.locks[*row].class.is_caused_by_holders()
    };
    let mut of_rows: BTreeMap<usize, Rounds> = BTreeMap::new();
    for (thread, waits) in meanwhile.waits.iter().enumerate() {
        for &Wait { row, by, stack, by_stack, .. } in waits {
            let Some((row, by)) = row.filter(may_meet).zip(by) else { continue };
            let round = of_rows.entry(row).or_default().entry(by).or_default();
            round.threads.extend([thread, by.0]);
            round.stacks = (stack, by_stack);
        }
    }
    let barriers = (0..rows.locks.len()).filter(|&row| is(row, &[Kind::Barrier]));
    let made = of_rows
        .iter()
        .filter(|(_, rounds)| meet(rounds, |of| is_one(of, stacks)))
        .map(|(&row, _)| row);
    made.chain(barriers).collect()
}

/// Adds to the rows `meetings` the thread that came last for most of the waiting there.
pub(super) fn add_last(
    (record, image): (&Record<'_>, &ProcessRecord),
    (meanwhile, meetings): (&Meanwhile, &HashSet<usize>),
    rows: &mut Rows,
) {
    let mut waited: BTreeMap<(usize, usize), (u64, BTreeSet<u64>)> = BTreeMap::new();
    for wait in meanwhile.waits.iter().flatten() {
        let Some((row, (thread, at))) = wait.row.zip(wait.by) else { continue };
        if meetings.contains(&row) {
            let (ticks, rounds) = waited.entry((row, thread)).or_default();
            *ticks = ticks.saturating_add(wait.ended - wait.began);
            rounds.insert(at);
        }
    }
    for &row in meetings {
        let lasts = || waited.range((row, 0)..=(row, usize::MAX));
        let most = lasts().max_by_key(|((_, thread), (ticks, _))| (*ticks, Reverse(*thread)));
        let Some((&(_, thread), (ticks, rounds))) = most else { continue };
        let all = super::sum(lasts().map(|(_, (ticks, _))| *ticks)).max(1);
        rows.locks[row].keeper = image.threads.get(thread).map(|thread| Keeper {
            tid: thread.tid,
            wait_ns: record.ns(*ticks),
            share: *ticks as f64 / all as f64,
            holds: rounds.len() as u64,
            hold_ns: None,
            longest_ns: None,
        });
    }
}

/// Whether threads meet in these rounds. `is_one`: whether a wait and a wakeup are of one function.
fn meet(rounds: &Rounds, is_one: impl FnOnce((u32, u32)) -> bool) -> bool {
    let is_nearly = |count: usize| count as f64 >= NEARLY * rounds.len() as f64;
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for &thread in rounds.values().flat_map(|round| &round.threads) {
        *taken.entry(thread).or_default() += 1;
    }
    let members = taken.into_iter().filter(|&(_, rounds)| is_nearly(rounds));
    let members: BTreeSet<usize> = members.map(|(thread, _)| thread).collect();
    if rounds.len() < FEWEST || members.len() < 2 {
        return false;
    }
    let last: BTreeSet<usize> = rounds.keys().map(|&(by, _)| by).collect();
    let takes_turns = last.len() > 1 && last.is_subset(&members);
    takes_turns || rounds.values().next().is_some_and(|round| is_one(round.stacks))
}

/// Whether a wait and a wakeup are of one function: the thread's own, or one of a library that it calls.
fn is_one((wait, wakeup): (u32, u32), stacks: &mut Stacks<'_>) -> bool {
    let (wait, wakeup) = (stacks.frames(wait), stacks.wakeup(wakeup));
    let near = |frames: &[Frame]| -> BTreeSet<String> {
        let own = frames.iter().position(|frame| !stacks.skipped.contains(frame));
        let own = own.unwrap_or(frames.len());
        let near = frames.iter().take(own + 1).skip(own.saturating_sub(1));
        near.filter_map(|frame| frame.function.clone()).collect()
    };
    !near(&wait).is_disjoint(&near(&wakeup))
}

#[cfg(test)]
mod tests {
    use super::{Round, Rounds, meet};

    /// A round for each wakeup, by a thread's number, with those that waited.
    fn rounds(all: &[(usize, &[usize])]) -> Rounds {
        let round = |(at, &(by, waited)): (usize, &(usize, &[usize]))| {
            let threads = waited.iter().copied().chain([by]).collect();
            ((by, at as u64), Round { threads, stacks: (1, 2) })
        };
        all.iter().enumerate().map(round).collect()
    }

    #[test]
    fn members_of_which_now_this_and_now_that_one_is_last_meet() {
        let turns = rounds(&[(1, &[2, 3]), (2, &[1, 3]), (1, &[2, 3])]);
        assert!(meet(&turns, |_| false));
        let two = rounds(&[(1, &[2, 3]), (2, &[1, 3])]);
        assert!(!meet(&two, |_| true), "two rounds show nothing");
    }

    #[test]
    fn a_thread_that_always_comes_last_meets_others_where_they_wait() {
        let same = rounds(&[(1, &[2, 3]), (1, &[2, 3]), (1, &[2, 3]), (1, &[2, 3])]);
        assert!(meet(&same, |stacks| stacks == (1, 2)));
        assert!(!meet(&same, |_| false), "it tells others to begin");
    }

    #[test]
    fn threads_of_a_queue_do_not_meet() {
        // A thread that gives work does not wait for it.
        let producers = rounds(&[(1, &[3, 4]), (2, &[3, 4]), (1, &[3, 4]), (2, &[3, 4])]);
        assert!(!meet(&producers, |_| false));
        // Now this thread waits for work, and now that one.
        let queue = rounds(&[(1, &[2]), (1, &[3]), (1, &[4]), (2, &[1]), (3, &[1])]);
        assert!(!meet(&queue, |_| true));
    }
}
