//! Lock order: threads that took the same locks in different orders, and so may wait for each other forever.
//!
//! # Contract
//! The record has, for each thread, the locks that it took while it held others. An inversion is a cycle of different
//! threads, each of which took a lock that the next one held. Threads that held one more lock in common never do so at
//! the same time. Two readers of a lock do not exclude each other. Of cycles of the same locks, or of the same code,
//! the first is kept. The order in which threads begin, end and wait for each other by other means is not known.
//! # Evidence
//! `tests/lock_order.rs`: random programs against all their schedules; `tests/programs`: `lock_order.c`.
//! # Sources
//! Havelund, "Using runtime analysis to guide model checking of Java programs" (SPIN 2000): locks that keep the others
//! away. Joshi, Park, Sen and Naik, "A randomized dynamic program analysis technique for detecting real deadlocks"
//! (PLDI 2009): the search.

use super::stacks::Stacks;
use super::sum;
use crate::run::{Inversion, LockOrder, Nested, Process};
use std::collections::{HashMap, HashSet};
use uncontended_trace::layout::kind;
use uncontended_trace::reader::{
    HeldRecord, LockRecord, NestedRecord, ProcessRecord, ThreadRecord,
};

/// Most threads of a cycle.
const THREADS: usize = 4;
/// Steps of the search, after which it ends.
const STEPS: usize = 1 << 20;
/// Rounds in which sets that are in no cycle are left out: each follows chains one lock further.
const ROUNDS: usize = 32;

/// The lock order of `image`. For now, a lock's number is its place among the rows, whose units these are.
pub(super) fn order(image: &ProcessRecord, units: &[u32], stacks: &mut Stacks<'_>) -> LockOrder {
    let number: HashMap<u32, u64> = units.iter().copied().zip(0..).collect();
    let search = Search::of(image);
    let cycles = search.run();
    let mut inversions = Vec::new();
    for Found { cycle, more } in &cycles.found {
        let thread = |&(set, held): &(usize, HeldRecord)| {
            let Set { thread, nested, .. } = search.sets[set];
            Some(Nested {
                tid: thread.tid,
                name: thread.name.clone(),
                held: *number.get(&held.lock)?,
                held_stack: stacks.frames(held.site),
                taken: *number.get(&nested.lock)?,
                taken_stack: stacks.frames(nested.stack),
            })
        };
        let threads: Vec<Nested> = cycle.iter().filter_map(thread).collect();
        if threads.len() == cycle.len() {
            inversions.push(Inversion { pid: image.pid, threads, more: *more });
        }
    }
    LockOrder {
        sets: image.threads.iter().map(|thread| thread.nested.len() as u64).sum(),
        lost: sum(image.threads.iter().map(|thread| thread.nested_lost)),
        is_complete: cycles.steps < STEPS,
        inversions,
    }
}

/// The lock order of all processes, each with the numbers of its process's locks.
pub(super) fn joined(orders: impl Iterator<Item = LockOrder>, processes: &[Process]) -> LockOrder {
    let none = LockOrder { sets: 0, lost: 0, is_complete: true, inversions: Vec::new() };
    orders.zip(processes).fold(none, |mut all, (mut order, process)| {
        let threads = order.inversions.iter_mut().flat_map(|inversion| &mut inversion.threads);
        for thread in threads {
            for lock in [&mut thread.held, &mut thread.taken] {
                *lock = process.locks[*lock as usize].id;
            }
        }
        all.inversions.append(&mut order.inversions);
        LockOrder {
            sets: all.sets.saturating_add(order.sets),
            lost: all.lost.saturating_add(order.lost),
            is_complete: all.is_complete && order.is_complete,
            inversions: all.inversions,
        }
    })
}

/// A side of a lock.
#[derive(Clone, Copy, PartialEq)]
struct Side {
    /// The lock: of a read-write lock, the writers' row.
    lock: u32,
    /// Whether it is shared with other readers.
    shared: bool,
}

impl Side {
    /// Whether two threads cannot have both.
    fn excludes(self, other: Side) -> bool {
        self.lock == other.lock && !(self.shared && other.shared)
    }
}

/// The sides of the locks of an image.
struct Sides {
    /// The writers' rows by the readers'.
    writers: HashMap<u32, u32>,
}

impl Sides {
    fn of(image: &ProcessRecord) -> Sides {
        let rows = |kind| image.locks.iter().filter(move |lock| lock.kind == kind);
        let key = |lock: &LockRecord| (lock.address, lock.generation);
        let writers: HashMap<_, u32> =
            rows(kind::RWLOCK_WRITE).map(|lock| (key(lock), lock.unit)).collect();
        let readers = rows(kind::RWLOCK_READ);
        let pairs = readers.filter_map(|lock| Some((lock.unit, *writers.get(&key(lock))?)));
        Sides { writers: pairs.collect() }
    }

    fn side(&self, lock: u32) -> Side {
        match self.writers.get(&lock) {
            Some(&lock) => Side { lock, shared: true },
            None => Side { lock, shared: false },
        }
    }

    fn set<'a>(
        &self,
        number: usize,
        thread: &'a ThreadRecord,
        nested: &'a NestedRecord,
    ) -> Set<'a> {
        let held = nested.held.iter().map(|held| self.side(held.lock)).collect();
        Set { number, thread, nested, taken: self.side(nested.lock), held }
    }
}

/// A lock that a thread took, and those that it held.
struct Set<'a> {
    /// The thread, by its place, and itself.
    number: usize,
    thread: &'a ThreadRecord,
    nested: &'a NestedRecord,
    taken: Side,
    held: Vec<Side>,
}

impl Set<'_> {
    /// The lock held that keeps a thread waiting that takes `wanted`.
    fn keeps_from(&self, wanted: Side) -> Option<HeldRecord> {
        let at = self.held.iter().position(|held| held.excludes(wanted))?;
        Some(self.nested.held[at])
    }

    /// Whether both threads may do this at the same time.
    fn may_meet(&self, other: &Set<'_>) -> bool {
        self.number != other.number
            && !self.held.iter().any(|&held| other.keeps_from(held).is_some())
    }
}

/// A cycle: the sets, each with the lock held that the set before it takes.
struct Found {
    cycle: Vec<(usize, HeldRecord)>,
    /// How many sets of other locks the same code took so.
    more: u64,
}

/// What is searched.
struct Search<'a> {
    sets: Vec<Set<'a>>,
    /// The sets with a lock held, by place.
    holding: HashMap<u32, Vec<usize>>,
}

/// The cycles found so far.
#[derive(Default)]
struct Cycles {
    found: Vec<Found>,
    /// The locks of the cycles met, sorted.
    locks: HashSet<Vec<u32>>,
    /// The code of those found, sorted, each once, with the place in `found`.
    code: HashMap<Vec<(u32, u32)>, usize>,
    steps: usize,
}

impl<'a> Search<'a> {
    fn of(image: &'a ProcessRecord) -> Search<'a> {
        let sides = Sides::of(image);
        let threads = image.threads.iter().enumerate();
        let sets = threads.flat_map(|(number, thread)| {
            let set = |nested| sides.set(number, thread, nested);
            thread.nested.iter().map(set).collect::<Vec<_>>()
        });
        let mut sets: Vec<Set<'_>> = sets.collect();
        leave_out_acyclic(&mut sets);
        let mut holding: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, set) in sets.iter().enumerate() {
            set.held.iter().for_each(|held| holding.entry(held.lock).or_default().push(at));
        }
        Search { sets, holding }
    }

    fn run(&self) -> Cycles {
        let mut cycles = Cycles::default();
        (0..self.sets.len()).for_each(|first| self.extend(&mut vec![first], &mut cycles));
        cycles
    }

    /// Finds the cycles that begin with `path`, whose first set is the one with the smallest number.
    fn extend(&self, path: &mut Vec<usize>, cycles: &mut Cycles) {
        let wanted = self.sets[path[path.len() - 1]].taken;
        for &next in self.holding.get(&wanted.lock).into_iter().flatten() {
            if cycles.steps >= STEPS {
                return;
            }
            cycles.steps += 1;
            let set = &self.sets[next];
            let is_next = next > path[0]
                && set.keeps_from(wanted).is_some()
                && path.iter().all(|&other| set.may_meet(&self.sets[other]));
            if !is_next {
                continue;
            }
            path.push(next);
            if self.sets[path[0]].keeps_from(set.taken).is_some() {
                cycles.keep(self.cycle(path), &self.sets);
            } else if path.len() < THREADS {
                self.extend(path, cycles);
            }
            path.pop();
        }
    }

    /// The sets of a cycle, each with the lock held that the set before it takes.
    fn cycle(&self, path: &[usize]) -> Vec<(usize, HeldRecord)> {
        let before = |nth: usize| &self.sets[path[(nth + path.len() - 1) % path.len()]];
        let cycle = path
            .iter()
            .enumerate()
            .filter_map(|(nth, &set)| Some((set, self.sets[set].keeps_from(before(nth).taken)?)));
        cycle.collect()
    }
}

impl Cycles {
    fn keep(&mut self, cycle: Vec<(usize, HeldRecord)>, sets: &[Set<'_>]) {
        let mut locks: Vec<u32> = cycle.iter().map(|&(set, _)| sets[set].taken.lock).collect();
        let mut code: Vec<(u32, u32)> =
            cycle.iter().map(|&(set, held)| (held.site, sets[set].nested.stack)).collect();
        locks.sort_unstable();
        code.sort_unstable();
        code.dedup();
        if !self.locks.insert(locks) {
            return;
        }
        match self.code.get(&code) {
            Some(&at) => self.found[at].more += 1,
            None => {
                self.code.insert(code, self.found.len());
                self.found.push(Found { cycle, more: 0 });
            }
        }
    }
}

/// Leaves out sets whose lock no set holds, or of whose locks held no set takes any, and so on.
fn leave_out_acyclic(sets: &mut Vec<Set<'_>>) {
    for _ in 0..ROUNDS {
        let before = sets.len();
        let taken: HashSet<u32> = sets.iter().map(|set| set.taken.lock).collect();
        let held: HashSet<u32> =
            sets.iter().flat_map(|set| &set.held).map(|held| held.lock).collect();
        sets.retain(|set| {
            held.contains(&set.taken.lock) && set.held.iter().any(|held| taken.contains(&held.lock))
        });
        if sets.len() == before {
            return;
        }
    }
}
