//! Deadlocks: cycles of threads that wait for each other when the record ends.
//!
//! # Contract
//! A thread waits for another if its call in progress wants a lock that the other holds, as the record's last words
//! say, or the other's end; or if it wants to share a lock that another wants for itself, and no thread holds it
//! alone. A thread that took a lock after that call began has left the call by a jump. Each cycle is reported once; of
//! cycles that share a thread, one. A semaphore counts as a lock if one thread has taken it, and it was posted by its
//! takers and by no other thread: the taker of one that no thread has posted may have taken an event.
//! # Invariants
//! I1: no thread is in two of the cycles found, and every other cycle has a thread in one of them.
//! # Evidence
//! The tests below: random graphs against all their cycles; `tests/programs`: `deadlock.c`.

use super::stacks::Stacks;
use super::threads::joined;
use crate::run::{Deadlock, Process, Stuck};
use std::collections::{HashMap, VecDeque};
use uncontended_trace::layout::kind;
use uncontended_trace::reader::{HoldRecord, LockRecord, ProcessRecord, Record, WantsRecord};

/// Which threads wait for which when the record ends.
pub(super) struct Waits<'a> {
    pub(super) last: Last<'a>,
    /// For each thread, its waits.
    pub(super) of: Vec<Vec<Wait>>,
    /// The threads that they are for.
    pub(super) graph: Vec<Vec<usize>>,
    /// The place of each lock among the rows, by its unit.
    pub(super) number: HashMap<u32, u64>,
}

impl<'a> Waits<'a> {
    /// Those of `image`, whose rows have these units; none if no thread waits.
    pub(super) fn of(record: &Record<'_>, image: &'a ProcessRecord, units: &[u32]) -> Option<Self> {
        if image.threads.iter().all(|thread| thread.wants.is_none()) {
            return None;
        }
        let last = Last::of(record, image);
        let of: Vec<Vec<Wait>> = (0..image.threads.len()).map(|at| last.waits(at)).collect();
        let holders = |waits: &Vec<Wait>| waits.iter().map(|wait| wait.holder).collect();
        let graph = of.iter().map(holders).collect();
        Some(Waits { last, of, graph, number: units.iter().copied().zip(0..).collect() })
    }
}

/// The deadlocks of `image`. For now, a lock's number is its place among the rows.
pub(super) fn deadlocks(
    record: &Record<'_>,
    image: &ProcessRecord,
    until_ns: u64,
    waits: &Waits<'_>,
    stacks: &mut Stacks<'_>,
) -> Vec<Deadlock> {
    let Waits { of: waits, graph, number, .. } = waits;
    let for_ns = |since: u64| {
        let begun = since.checked_sub(record.start_ticks)?;
        Some(until_ns.saturating_sub(record.ns(begun)))
    };
    let mut found = Vec::new();
    for cycle in cycles(graph) {
        let stuck = cycle.iter().enumerate().filter_map(|(nth, &at)| {
            let next = cycle[(nth + 1) % cycle.len()];
            let (thread, wants) = (&image.threads[at], image.threads[at].wants?);
            let wait = waits[at].iter().find(|wait| wait.holder == next)?;
            Some(Stuck {
                tid: thread.tid,
                name: thread.name.clone(),
                lock: if wait.is_join { None } else { Some(*number.get(&wants.lock)?) },
                shared: wants.shared,
                has_deadline: wants.has_deadline,
                wait_ns: for_ns(wants.since).unwrap_or(0),
                stack: stacks.frames(wants.stack),
                holder: image.threads[next].tid,
                holds: wait.holds,
                taken: stacks.frames(wait.site),
                held_ns: wait.since.and_then(for_ns),
            })
        });
        let threads: Vec<Stuck> = stuck.collect();
        if threads.len() == cycle.len() {
            let behind = u32::try_from(behind(graph, &cycle)).unwrap_or(u32::MAX);
            found.push(Deadlock { pid: image.pid, threads, behind });
        }
    }
    found
}

/// The deadlocks of all processes, each with the numbers of its process's locks.
pub(super) fn numbered(
    found: impl Iterator<Item = Vec<Deadlock>>,
    processes: &[Process],
) -> Vec<Deadlock> {
    let numbered = found.zip(processes).flat_map(|(mut deadlocks, process)| {
        for thread in deadlocks.iter_mut().flat_map(|deadlock| &mut deadlock.threads) {
            let place = thread.lock.as_mut();
            place.into_iter().for_each(|lock| *lock = process.locks[*lock as usize].id);
        }
        deadlocks
    });
    numbered.collect()
}

/// That a thread waits for another.
pub(super) struct Wait {
    /// The other, by its place among the threads.
    pub(super) holder: usize,
    /// Whether that one holds the lock.
    pub(super) holds: bool,
    /// Whether it is for that one's end.
    pub(super) is_join: bool,
    /// Stack of its acquisition; 0 if unknown.
    pub(super) site: u32,
    /// Since when it holds the lock, in ticks.
    pub(super) since: Option<u64>,
}

/// The last words of the record about locks and their holders.
pub(super) struct Last<'a> {
    image: &'a ProcessRecord,
    locks: HashMap<u32, &'a LockRecord>,
    /// The readers' row of each read-write lock, by address: the last generation.
    readers: HashMap<u64, u32>,
    /// The holds in progress, by lock: the thread's place, the cell's number, and the hold.
    held: HashMap<u32, Vec<(usize, u32, HoldRecord)>>,
    /// For each thread, the beginning of its last hold in progress.
    latest: Vec<u64>,
}

impl<'a> Last<'a> {
    fn of(record: &Record<'_>, image: &'a ProcessRecord) -> Last<'a> {
        let locks = image.locks.iter().map(|lock| (lock.unit, lock)).collect();
        let readers = image.locks.iter().filter(|lock| lock.kind == kind::RWLOCK_READ);
        let readers = readers.map(|lock| (lock.address, lock.unit)).collect();
        let mut held: HashMap<u32, Vec<_>> = HashMap::new();
        let mut latest = vec![0; image.threads.len()];
        for (at, thread) in image.threads.iter().enumerate() {
            for &place in &thread.cells {
                let Some(hold) = record.hold(place) else { continue };
                latest[at] = latest[at].max(hold.since.unwrap_or(0));
                held.entry(place.lock).or_default().push((at, place.number(), hold));
            }
        }
        Last { image, locks, readers, held, latest }
    }

    /// What a thread waits for: nothing if it left its call by a jump.
    pub(super) fn wants(&self, at: usize) -> Option<WantsRecord> {
        self.image.threads[at].wants.filter(|wants| self.latest[at] <= wants.since)
    }

    /// The threads that a thread waits for.
    fn waits(&self, at: usize) -> Vec<Wait> {
        let Some(wants) = self.wants(at) else { return Vec::new() };
        if let Some(holder) = joined(self.image, wants.joined) {
            let is_alive = self.image.threads[holder].end_ticks == 0;
            let wait = Wait { holder, holds: false, is_join: true, site: 0, since: None };
            return is_alive.then_some(wait).into_iter().collect();
        }
        let Some(lock) = self.locks.get(&wants.lock) else { return Vec::new() };
        match lock.kind {
            kind::MUTEX | kind::SPIN | kind::ANNOTATED => self.owner(lock).into_iter().collect(),
            kind::SEMAPHORE if lock.has_holders() => self.only_holder(lock).into_iter().collect(),
            kind::RWLOCK_WRITE => self.sharers(at, wants, lock),
            _ => Vec::new(),
        }
    }

    /// The thread that holds a lock alone.
    fn owner(&self, lock: &LockRecord) -> Option<Wait> {
        let held = self.held.get(&lock.unit).filter(|_| !lock.is_released)?;
        let owner = held.iter().find(|(_, cell, _)| *cell == lock.owner)?;
        Some(Last::wait_for(owner))
    }

    /// The thread that took a semaphore alone and has not posted it.
    fn only_holder(&self, lock: &LockRecord) -> Option<Wait> {
        self.owner(lock).filter(|_| self.held[&lock.unit].len() == 1)
    }

    /// The threads that keep a read-write lock from one that wants it.
    fn sharers(&self, at: usize, wants: WantsRecord, lock: &LockRecord) -> Vec<Wait> {
        let holders = |unit: u32| self.held.get(&unit).into_iter().flatten().map(Last::wait_for);
        let mut waits: Vec<Wait> = holders(lock.unit).collect();
        if !wants.shared {
            waits.extend(
                self.readers.get(&lock.address).into_iter().flat_map(|&unit| holders(unit)),
            );
        } else if waits.is_empty() {
            let writers = (0..self.image.threads.len()).filter(|&other| {
                let theirs = self.wants(other).filter(|theirs| !theirs.shared && other != at);
                theirs.is_some_and(|theirs| theirs.lock == wants.lock)
            });
            let before =
                |holder| Wait { holder, holds: false, is_join: false, site: 0, since: None };
            waits.extend(writers.map(before));
        }
        waits
    }

    fn wait_for((at, _, hold): &(usize, u32, HoldRecord)) -> Wait {
        Wait { holder: *at, holds: true, is_join: false, site: hold.site, since: hold.since }
    }
}

/// Cycles of a graph, given each node's successors (I1). The first node of a cycle is its smallest.
fn cycles(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut is_taken = vec![false; graph.len()];
    let mut found = Vec::new();
    for node in 0..graph.len() {
        if let Some(cycle) = shortest(graph, node, &is_taken).filter(|_| !is_taken[node]) {
            cycle.iter().for_each(|&node| is_taken[node] = true);
            found.push(cycle);
        }
    }
    found
}

/// The shortest cycle through `from` that passes no node that is taken.
fn shortest(graph: &[Vec<usize>], from: usize, is_taken: &[bool]) -> Option<Vec<usize>> {
    let mut before = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &next in graph[node].iter().filter(|&&next| !is_taken[next]) {
            if next == from {
                let back = std::iter::successors(Some(node), |node| before.get(node).copied());
                let mut cycle: Vec<usize> = back.collect();
                cycle.reverse();
                return Some(cycle);
            }
            before.entry(next).or_insert_with(|| {
                queue.push_back(next);
                node
            });
        }
    }
    None
}

/// How many nodes outside a cycle lead into it.
pub(super) fn behind(graph: &[Vec<usize>], cycle: &[usize]) -> usize {
    let mut waiters = vec![Vec::new(); graph.len()];
    for (node, nexts) in graph.iter().enumerate() {
        nexts.iter().for_each(|&next| waiters[next].push(node));
    }
    let mut is_met = vec![false; graph.len()];
    cycle.iter().for_each(|&node| is_met[node] = true);
    let mut met = cycle.to_vec();
    while let Some(node) = met.pop() {
        for &waiter in &waiters[node] {
            if !std::mem::replace(&mut is_met[waiter], true) {
                met.push(waiter);
            }
        }
    }
    is_met.iter().filter(|&&is_met| is_met).count() - cycle.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_testkit::{Random, repetitions};

    /// Every simple cycle, each beginning with its smallest node.
    fn all(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
        fn extend(graph: &[Vec<usize>], path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
            for &next in &graph[*path.last().unwrap()] {
                if next == path[0] {
                    found.push(path.clone());
                } else if next > path[0] && !path.contains(&next) {
                    path.push(next);
                    extend(graph, path, found);
                    path.pop();
                }
            }
        }
        let mut found = Vec::new();
        (0..graph.len()).for_each(|node| extend(graph, &mut vec![node], &mut found));
        found
    }

    #[test]
    fn every_cycle_is_found_or_shares_a_thread_with_one() {
        let mut rng = Random(3);
        let mut met = 0;
        for _ in 0..repetitions("random graphs of waits", 20_000, 1_000_000) {
            let nodes = 1 + (rng.next() % 6) as usize;
            let edges = |rng: &mut Random| {
                let bits = rng.next() & rng.next() & ((1 << nodes) - 1);
                (0..nodes).filter(|node| bits >> node & 1 != 0).collect::<Vec<_>>()
            };
            let graph: Vec<Vec<usize>> = (0..nodes).map(|_| edges(&mut rng)).collect();
            let (all, found) = (all(&graph), cycles(&graph));
            let mut taken: Vec<usize> = found.iter().flatten().copied().collect();
            assert!(found.iter().all(|cycle| all.contains(cycle)), "{graph:?}: {found:?}");
            let is_met = |cycle: &Vec<usize>| cycle.iter().any(|node| taken.contains(node));
            assert!(all.iter().all(is_met), "{graph:?}: {found:?} of {all:?}");
            let before = taken.len();
            taken.sort_unstable();
            taken.dedup();
            assert_eq!(taken.len(), before, "{graph:?}: {found:?}");
            met += found.len();
        }
        assert!(met > 10_000);
    }

    #[test]
    fn those_behind_a_cycle_are_counted() {
        let graph = vec![vec![1], vec![0], vec![1], vec![2], vec![5], vec![]];
        assert_eq!((cycles(&graph), behind(&graph, &[0, 1])), (vec![vec![0, 1]], 2));
    }
}
