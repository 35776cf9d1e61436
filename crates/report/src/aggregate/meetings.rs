//! Barriers that are made of a condition or a futex, known by how their threads meet.
//!
//! # Contract
//! A *round* is what one wakeup ended: the threads that waited, and the one that made it. They meet if they wait and
//! wake in one function of a library (Rust's `Barrier::wait`, say): the last one would have waited for the others.
//! Threads that take part in nearly every round are its members. Three members and more meet if they wait and wake in
//! one function of the program, or if the last one is now this member and now another. Two may as well hand things
//! over, which looks the same. A thread that mostly spins until the last one comes does not count as a member.
//!
//! [`add_last`] says which thread came last for most of the waiting.
//! # Evidence
//! The tests below; `tests/programs/path.c`, mode `counted`.

use super::locks::Rows;
use super::meanwhile::{Meanwhile, Wait};
use super::stacks::Stacks;
use crate::code::Skipped;
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
        .filter(|(_, rounds)| meet(rounds, |of| One::of(of, stacks)))
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

/// Whether threads meet in these rounds. `in_one`: of what a wait and a wakeup with these stacks are one function.
fn meet(rounds: &Rounds, in_one: impl FnOnce((u32, u32)) -> One) -> bool {
    let first = rounds.values().next().filter(|_| rounds.len() >= FEWEST);
    let Some(in_one) = first.map(|round| in_one(round.stacks)) else { return false };
    if in_one == One::Library {
        return true;
    }
    let is_nearly = |count: usize| count as f64 >= NEARLY * rounds.len() as f64;
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for &thread in rounds.values().flat_map(|round| &round.threads) {
        *taken.entry(thread).or_default() += 1;
    }
    let members = taken.into_iter().filter(|&(_, rounds)| is_nearly(rounds));
    let members: BTreeSet<usize> = members.map(|(thread, _)| thread).collect();
    let last: BTreeSet<usize> = rounds.keys().map(|&(by, _)| by).collect();
    let takes_turns = last.len() > 1 && last.is_subset(&members);
    members.len() > 2 && (takes_turns || in_one == One::Own)
}

/// Of what a wait and a wakeup are the same function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum One {
    /// Of a library: the one that the thread's own code calls.
    Library,
    /// Of the thread's own code.
    Own,
    /// Of neither.
    Neither,
}

impl One {
    /// Of a wait and a wakeup with these stacks. Functions without a name of their own are not the same.
    fn of((wait, wakeup): (u32, u32), stacks: &mut Stacks<'_>) -> One {
        let [wait, wakeup] = [stacks.frames(wait), stacks.wakeup(wakeup)];
        let [wait, wakeup] = [&wait, &wakeup].map(|frames| ends(frames, stacks.skipped));
        let is_same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
        let is_named = |name: &str| !["{", "operator()"].iter().any(|part| name.contains(part));
        if is_same(wait[0], wakeup[0]) {
            One::Library
        } else if is_same(wait[1], wakeup[1]) && wait[1].is_some_and(is_named) {
            One::Own
        } else {
            One::Neither
        }
    }
}

/// The function of a library that the thread's own code calls, and that code's, in a stack.
fn ends<'f>(frames: &'f [Frame], skipped: &Skipped) -> [Option<&'f str>; 2] {
    let own = frames.iter().position(|frame| !skipped.contains(frame)).unwrap_or(frames.len());
    let name = |at: Option<usize>| frames.get(at?)?.function.as_deref();
    [name(own.checked_sub(1)), name(Some(own))]
}

#[cfg(test)]
mod tests {
    use super::{One, Round, Rounds, meet};

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
        assert!(meet(&turns, |_| One::Neither));
        let two = rounds(&[(1, &[2, 3]), (2, &[1, 3])]);
        assert!(!meet(&two, |_| One::Library), "two rounds show nothing");
    }

    #[test]
    fn a_thread_that_always_comes_last_meets_others_where_they_wait() {
        let same = rounds(&[(1, &[2, 3]), (1, &[2, 3]), (1, &[2, 3]), (1, &[2, 3])]);
        assert!(meet(&same, |stacks| if stacks == (1, 2) { One::Own } else { One::Neither }));
        assert!(!meet(&same, |_| One::Neither), "it tells others to begin");
        let pair = rounds(&[(1, &[2]), (1, &[2]), (1, &[2])]);
        assert!(meet(&pair, |_| One::Library));
    }

    #[test]
    fn threads_of_a_queue_do_not_meet() {
        // A thread that gives work does not wait for it.
        let producers = rounds(&[(1, &[3, 4]), (2, &[3, 4]), (1, &[3, 4]), (2, &[3, 4])]);
        assert!(!meet(&producers, |_| One::Neither));
        // Now this thread waits for work, and now that one.
        let queue = rounds(&[(1, &[2]), (1, &[3]), (1, &[4]), (2, &[1]), (3, &[1])]);
        assert!(!meet(&queue, |_| One::Own));
        // Both ends of a queue may be in one function.
        let ends = rounds(&[(1, &[2]), (1, &[2]), (2, &[1]), (1, &[2])]);
        assert!(!meet(&ends, |_| One::Own));
    }
}
