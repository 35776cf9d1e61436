//! Chooses the order in which the steps of an execution are shown: the one with the fewest switches between threads.
//!
//! # Contract
//! The steps of one execution graph may be run in any order that program order and reads-from allow; all of them are
//! the same execution. [`Plan::cheapest`] finds the one of least [`Cost`].
//!
//! A read of a value that is not the newest, and a write placed before a newer one, count as two switches each
//! ([`Cost::counted`]). So an execution that needs no weak memory is shown without it, unless that takes many switches.

use super::clock::Clock;
use super::graph::{EventId, Graph, Kind, NOWHERE};
use super::op::Op;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::ops::Add;

/// The limit on states in the search for an order.
const MOST_STATES: usize = 20_000;

/// How hard an execution is to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// How often the next step belongs to another thread.
    pub switches: usize,
    /// Reads of values that are not the newest, and writes placed before newer ones.
    pub old: usize,
    /// The total number of steps.
    pub steps: usize,
}

/// A cost as a key for comparison: counted switches, then old values, then steps.
pub(crate) type Weight = (usize, usize, usize);

impl Cost {
    /// The switches, plus two for each old value: it stands for leaving a thread before the newer write and returning
    /// to it.
    pub fn counted(self) -> usize {
        self.switches + 2 * self.old
    }

    pub(crate) fn weight(self) -> Weight {
        (self.counted(), self.old, self.steps)
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            switches: self.switches + other.switches,
            old: self.old + other.old,
            steps: self.steps + other.steps,
        }
    }
}

/// A step of a thread: an event, or the two of a read-modify-write.
#[derive(Debug)]
struct Unit {
    events: Vec<EventId>,
    location: u32,
    /// Place of the write that is read, in its location's order; 0 for the initial value.
    read: Option<usize>,
    /// Place of the write, from 1, unless it is an exclusive half.
    wrote: Option<usize>,
    /// Steps of other threads that come first: thread and number of its steps.
    after: Vec<(usize, usize)>,
}

/// The steps of an execution and their dependencies.
#[derive(Debug)]
pub(crate) struct Plan {
    threads: Vec<Vec<Unit>>,
    /// By location: place in its order, thread and step of each write.
    writes: HashMap<u32, Vec<(usize, usize, usize)>>,
}

/// A thread, and how many steps it has made.
pub(crate) type Point = (usize, usize);

/// The number of steps made by each thread, and the thread of the last one.
type State = (Vec<usize>, usize);

impl Plan {
    /// The events of `log` that `keep` knows.
    pub(crate) fn new(graph: &Graph, log: &[EventId], keep: &Clock) -> Plan {
        let mut plan = Plan { threads: Vec::new(), writes: HashMap::new() };
        plan.threads.resize_with(graph.threads.len(), Vec::new);
        let mut step_of: BTreeMap<EventId, (usize, usize)> = BTreeMap::new();
        let mut last_spawn = None;
        for &id in log.iter().filter(|&&id| keep.knows(id)) {
            let (event, thread) = (graph.get(id), usize::from(id.thread));
            if event.kind == Kind::Thread && event.op == Op::Begin {
                // A thread begins with its spawn.
                step_of.insert(id, step_of[&event.from]);
                continue;
            }
            if !event.is_half() {
                let mut after: Vec<_> = step_of.get(&event.from).copied().into_iter().collect();
                if plan.threads[thread].is_empty() && thread > 0 {
                    after.extend(step_of.get(&EventId::new(thread, 1)).copied());
                }
                if matches!(event.op, Op::Spawn { .. }) {
                    // The numbers of threads are kept.
                    after.extend(last_spawn);
                }
                after.retain(|&(other, _)| other != thread);
                after.iter_mut().for_each(|(_, steps)| *steps += 1);
                let location = event.location;
                let events = Vec::with_capacity(2);
                plan.threads[thread].push(Unit {
                    events,
                    location,
                    read: None,
                    wrote: None,
                    after,
                });
            }
            let at = plan.threads[thread].len() - 1;
            let unit = &mut plan.threads[thread][at];
            unit.events.push(id);
            step_of.insert(id, (thread, at));
            if matches!(event.op, Op::Spawn { .. }) {
                last_spawn = Some((thread, at));
            }
            if event.kind == Kind::Read {
                unit.read = Some(graph.position(event.location, event.from));
            }
            if event.kind == Kind::Write {
                let place = graph.position(event.location, id);
                unit.wrote = (!event.exclusive).then_some(place);
                plan.writes.entry(event.location).or_default().push((place, thread, at));
            }
        }
        plan
    }

    fn is_over(&self, done: &[usize]) -> bool {
        self.threads.iter().zip(done).all(|(units, &done)| units.len() == done)
    }

    /// The next step of `thread`, if it can be made now.
    fn next(&self, done: &[usize], thread: usize) -> Option<&Unit> {
        let unit = self.threads[thread].get(done[thread])?;
        unit.after.iter().all(|&(other, steps)| done[other] >= steps).then_some(unit)
    }

    /// Reads and writes of `unit` that are not the newest now.
    fn old(&self, done: &[usize], unit: &Unit) -> usize {
        let has_newer = |place: usize| {
            let writes = self.writes.get(&unit.location).into_iter().flatten();
            writes.into_iter().any(|&(other, thread, at)| other > place && done[thread] > at)
        };
        usize::from(unit.read.is_some_and(has_newer))
            + usize::from(unit.wrote.is_some_and(has_newer))
    }

    /// Whether making the step now makes no later one old.
    fn is_harmless(&self, done: &[usize], thread: usize, unit: &Unit) -> bool {
        let at = done[thread];
        let writes = self.writes.get(&unit.location).into_iter().flatten();
        let own = writes.into_iter().filter(|write| (write.1, write.2) == (thread, at));
        let Some(place) = own.map(|write| write.0).max() else { return true };
        let others =
            self.threads.iter().zip(done).enumerate().filter(|(other, _)| *other != thread);
        let mut left = others.flat_map(|(_, (units, &done))| &units[done..]);
        left.all(|other| {
            other.location != unit.location
                || !other.read.into_iter().chain(other.wrote).any(|older| older < place)
        })
    }

    /// The cost of following `log`, step by step.
    pub(crate) fn costs(&self, log: &[EventId]) -> Vec<Cost> {
        let mut costs = Vec::new();
        self.follow(log, |done, last, thread, unit| {
            let switches = usize::from(last.is_some_and(|last| last != thread));
            costs.push(Cost { switches, old: self.old(done, unit), steps: 1 });
        });
        costs
    }

    /// Where following `log` leaves a thread, finds an old value, or makes a write to its location: the other places at
    /// which threads could stop to do with fewer switches or without the old value.
    pub(crate) fn points(&self, log: &[EventId]) -> BTreeSet<Point> {
        let mut points = BTreeSet::new();
        self.follow(log, |done, last, thread, unit| {
            points.extend(last.filter(|&last| last != thread).map(|last| (last, done[last])));
            if self.old(done, unit) > 0 {
                let writes = self.writes.get(&unit.location).into_iter().flatten();
                points.extend(writes.map(|&(_, thread, at)| (thread, at)));
                points.insert((thread, done[thread]));
            }
        });
        points
    }

    /// Calls `each` for each step of `log`, with what is done before it, the last thread and its own.
    fn follow<'p>(
        &'p self,
        log: &[EventId],
        mut each: impl FnMut(&[usize], Option<usize>, usize, &'p Unit),
    ) {
        let (mut done, mut last) = (vec![0; self.threads.len()], None);
        for id in log {
            let thread = usize::from(id.thread);
            let Some(unit) = self.threads[thread].get(done[thread]) else { continue };
            if unit.events[0] == *id {
                each(&done, last, thread, unit);
                done[thread] += 1;
                last = Some(thread);
            }
        }
    }

    /// The order of least cost; `None` if the search takes too long.
    pub(crate) fn cheapest(&self) -> Option<Vec<EventId>> {
        let start: State = (vec![0; self.threads.len()], 0);
        let zero = Cost::default().weight();
        let mut open = BinaryHeap::from([Reverse((zero, 0, start.clone()))]);
        let mut best = HashMap::from([(start, (zero, None))]);
        let mut closed = BTreeSet::new();
        while let Some(Reverse((weight, _, state))) = open.pop() {
            if !closed.insert(state.clone()) {
                continue;
            }
            if closed.len() > MOST_STATES {
                return None;
            }
            if self.is_over(&state.0) {
                return Some(self.way(&best, state));
            }
            for thread in self.worth_a_try(&state) {
                let (done, last) = &state;
                let Some(unit) = self.next(done, thread) else { continue };
                let is_first = done.iter().all(|&steps| steps == 0);
                let switches = usize::from(thread != *last && !is_first);
                let more = Cost { switches, old: self.old(done, unit), steps: 1 }.weight();
                let weight = (weight.0 + more.0, weight.1 + more.1, weight.2 + more.2);
                let mut done = done.clone();
                done[thread] += 1;
                let after = (done, thread);
                if best.get(&after).is_none_or(|(known, _)| weight < *known) {
                    best.insert(after.clone(), (weight, Some(state.clone())));
                    open.push(Reverse((weight, closed.len(), after)));
                }
            }
        }
        None
    }

    /// The threads that may be next. A thread continues if that is harmless: its step costs nothing, and makes no other
    /// one cost more.
    fn worth_a_try(&self, (done, last): &State) -> Vec<usize> {
        let free = self
            .next(done, *last)
            .filter(|unit| self.old(done, unit) == 0 && self.is_harmless(done, *last, unit));
        if free.is_some() { vec![*last] } else { (0..self.threads.len()).collect() }
    }

    fn way(&self, best: &HashMap<State, (Weight, Option<State>)>, end: State) -> Vec<EventId> {
        let (mut order, mut state) = (Vec::new(), end);
        while let Some((_, Some(before))) = best.get(&state) {
            let unit = &self.threads[state.1][state.0[state.1] - 1];
            order.extend(unit.events.iter().rev());
            state = before.clone();
        }
        order.reverse();
        order
    }

    /// Numbers that identify the state of an execution after each step, whatever the order that led there.
    pub(crate) fn states(graph: &Graph, log: &[EventId]) -> Vec<u64> {
        let (mut seen, mut state, mut states) = (BTreeSet::new(), 0u64, Vec::new());
        for &id in log {
            let event = graph.get(id);
            seen.insert(id);
            let order =
                graph.locations.get(event.location as usize).map(|location| &location.order);
            let mut word = mixed(u64::from(id.thread) << 16 | u64::from(id.index));
            match (event.kind, order) {
                (Kind::Write, Some(order)) => {
                    let at = graph.position(event.location, id) - 1;
                    let older = order[..at].iter().rev().find(|write| seen.contains(write));
                    let newer = order[at + 1..].iter().find(|write| seen.contains(write));
                    word = mixed(word ^ number(older.copied()));
                    word = mixed(word ^ number(newer.copied()).rotate_left(1));
                }
                (Kind::Read, _) => word = mixed(word ^ number(Some(event.from))),
                (Kind::Choice, _) => word = mixed(word ^ event.value),
                _ => {}
            }
            let is_begin = event.location == NOWHERE && event.op == Op::Begin;
            state = state.wrapping_add(word);
            match states.last_mut() {
                // The rest of the step before.
                Some(last) if event.is_half() || is_begin => *last = state,
                _ => states.push(state),
            }
        }
        states
    }
}

fn number(id: Option<EventId>) -> u64 {
    id.map_or(u64::MAX, |id| u64::from(id.thread) << 16 | u64::from(id.index) | 1 << 40)
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
