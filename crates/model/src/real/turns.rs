//! Counts preemptions and contexts: how often an execution must switch threads.
//!
//! # Contract
//! An execution's preemptions are those of the best sequence of its events: the fewest in any sequence that keeps
//! program order and reads-from, and under SC the order of writes and from-reads. A thread is preempted if another
//! thread continues although the first has not ended, does not wait to join a thread, and has not just given a hint.
//! Weak-memory reads cost nothing: a read of an old write needs no preemption.
//!
//! [`fewest`] searches for that sequence breadth first, by how far each thread has come. A thread stops only where it
//! must, or at a hint. No sequence is missed: in any sequence, let a preempted thread continue to where it must stop,
//! gives a hint or ends. Steps that move earlier delay no other thread, and stopping there costs no more. One stop of
//! another thread may cost more: one before a join of this thread, because its end now came earlier. It has one joiner,
//! and the removed preemption pays for it.
//!
//! This fails if a step lets other threads continue in another way: a thread that is preempted while it holds a lock
//! lets others stop at the lock at no cost. So code that waits is refused ([`Core::refuses_wait`]).
//!
//! [`Core::refuses_wait`]: super::core::Core::refuses_wait
//!
//! An execution's contexts are the fewest stretches of one thread's steps that make up such a sequence. Letting a
//! thread continue as far as it can never adds a stretch, whatever others wait for, so contexts are counted for code
//! that waits too. A complete execution has no steps for unsuccessful attempts of a wait.
//!
//! [`settled`] is the part of a graph that all graphs explored from it share, so none of them has fewer preemptions or
//! contexts than this part. It is the prefix of
//! - writes that a read with a smaller stamp reads (a revisit added them): as long as the read is there they can't be
//!   cut off, and what takes the read away has them in its prefix;
//! - events added in another way than the one that leaves most open, seen from what was before them: they are never cut
//!   off, or else kept by such a write.
//!
//! # Sources
//! Musuvathi, Qadeer: Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007.
//! Marmanis, Kokologiannakis, Vafeiadis: Reconciling preemption bounding with DPOR, TACAS 2023 (which prunes otherwise:
//! by what may be cut off).

use super::clock::Clock;
use super::graph::{Event, EventId, Graph, Kind};
use super::op::Op;
use std::collections::{HashMap, VecDeque};

/// A bound on switches between threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turns {
    Preemptions(u32),
    Contexts(u32),
}

impl Turns {
    /// What is counted, without a bound.
    pub(crate) fn unbounded(self) -> Turns {
        match self {
            Turns::Preemptions(_) => Turns::Preemptions(u32::MAX),
            Turns::Contexts(_) => Turns::Contexts(u32::MAX),
        }
    }

    pub(crate) fn preemptions(self) -> Option<u32> {
        if let Turns::Preemptions(most) = self { Some(most) } else { None }
    }

    pub(crate) fn contexts(self) -> Option<u32> {
        if let Turns::Contexts(most) = self { Some(most) } else { None }
    }
}

/// The fewest preemptions or contexts of the first `part` events of each thread. `None`: more than the bound.
pub(crate) fn fewest(graph: &Graph, part: &Clock, is_sc: bool, bound: Turns) -> Option<u32> {
    let (Turns::Preemptions(most) | Turns::Contexts(most)) = bound;
    let row = Row { graph, part, is_sc, counts_all: bound.contexts().is_some() };
    let mut best = HashMap::from([(Clock::default(), 0)]);
    let mut open = VecDeque::from([(Clock::default(), 0)]);
    while let Some((done, turns)) = open.pop_front() {
        if best[&done] < turns {
            continue;
        }
        if done == *part {
            return Some(turns);
        }
        for thread in 0..graph.threads.len() {
            row.go_on(done, thread, &mut |next, is_free| {
                let turns = turns + u32::from(!is_free);
                let known = best.entry(next).or_insert(u32::MAX);
                if turns > most || turns >= *known {
                    return;
                }
                *known = turns;
                if is_free {
                    open.push_front((next, turns));
                } else {
                    open.push_back((next, turns));
                }
            });
        }
    }
    None
}

/// All events of a graph.
pub(crate) fn whole(graph: &Graph) -> Clock {
    let mut all = Clock::default();
    for (thread, events) in graph.threads.iter().enumerate() {
        all.set(thread, events.len());
    }
    all
}

/// The events that all graphs explored from this one keep.
pub(crate) fn settled(graph: &Graph) -> Clock {
    let mut kept = Clock::default();
    let mut keep = |id: EventId| kept.join(&graph.clocks(id).prefix);
    for (id, event) in graph.iter() {
        let is_late = |other: EventId| !other.is_initial() && graph.get(other).stamp > event.stamp;
        match event.kind {
            Kind::Read | Kind::Blocked => {
                if is_late(event.from) {
                    keep(event.from);
                }
                if !event.forced && is_overtaken(graph, event, event.from) {
                    keep(id);
                }
            }
            Kind::Write if is_overtaken(graph, event, id) => keep(id),
            Kind::Choice if event.value != 0 => keep(id),
            Kind::Write | Kind::Choice | Kind::Fence | Kind::Thread => {}
        }
    }
    kept
}

/// Whether a write that was there before `event` comes after `write`, which `event` is or reads.
fn is_overtaken(graph: &Graph, event: &Event, write: EventId) -> bool {
    let order = &graph.locations[event.location as usize].order;
    let later = order.iter().rev().take_while(|&&other| other != write);
    later.into_iter().any(|&other| graph.get(other).stamp < event.stamp)
}

struct Row<'g> {
    graph: &'g Graph,
    part: &'g Clock,
    is_sc: bool,
    /// Whether every stretch counts, or only those that end in a preemption.
    counts_all: bool,
}

impl Row<'_> {
    /// Lets `thread` take steps after what is `done`; reports where it may stop, and whether that is free.
    fn go_on(&self, mut done: Clock, thread: usize, stop: &mut dyn FnMut(Clock, bool)) {
        let begin = done.get(thread);
        loop {
            let index = done.get(thread);
            let next = (index < self.part.get(thread)).then(|| EventId::new(thread, index + 1));
            let is_possible = next.is_some_and(|next| self.is_possible(&done, next));
            let after_hint = |next| self.graph.get(next).after_hint;
            let is_hint = !self.counts_all && next.is_some_and(after_hint);
            if index > begin && (is_hint || !is_possible) {
                let waits =
                    next.is_none_or(|next| matches!(self.graph.get(next).op, Op::Join { .. }));
                stop(done, is_hint || (waits && !self.counts_all));
            }
            if !is_possible {
                return;
            }
            done.set(thread, index + 1);
        }
    }

    /// Whether an event can come next.
    fn is_possible(&self, done: &Clock, id: EventId) -> bool {
        let event = self.graph.get(id);
        let is_done = |other: EventId| other.is_initial() || done.knows(other);
        match event.kind {
            Kind::Read | Kind::Blocked | Kind::Thread => is_done(event.from),
            Kind::Write if self.is_sc => {
                let rank = |id: EventId| {
                    let event = self.graph.get(id);
                    match event.kind {
                        Kind::Write => 2 * self.graph.position(event.location, id),
                        _ => 2 * self.graph.position(event.location, event.from) + 1,
                    }
                };
                let own = rank(id);
                let location = &self.graph.locations[event.location as usize];
                let mut left = location
                    .accesses_beyond(done)
                    .filter(|&other| other != id && self.part.knows(other));
                left.all(|other| rank(other) > own)
            }
            Kind::Write | Kind::Choice | Kind::Fence => true,
        }
    }
}
