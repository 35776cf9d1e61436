//! A guided run: which thread moves at each step, and what could have been decided instead.
//!
//! # Contract
//! [`Guide::turns`] are followed as far as possible; a turn that cannot be taken is skipped. Then the run continues by
//! itself with as few switches as possible: a thread continues until it waits, reads the newest writes, and places its
//! writes last. [`Guide::trail`] lists the steps made, each with its alternatives. A thread that would wait, or has
//! given a hint that it waits, yields until another thread has changed something.

use super::core::{Core, Request, State};
use super::memory::Memory;
use super::op::{Effect, Op};
use super::order::Cost;
use super::schedule::Find;
use std::collections::VecDeque;

/// A step to make. `find`: what it should find, if that is possible; otherwise the newest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub(crate) thread: usize,
    pub(crate) find: Option<Find>,
}

/// A step made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) turn: Turn,
    /// Threads that could move, one bit each.
    pub(crate) movable: u32,
    /// What else it could have found.
    pub(crate) others: Vec<Find>,
}

impl Made {
    /// Other steps that could have been made, with their extra cost; `last` is the thread of the step before.
    pub(crate) fn instead(&self, last: Option<usize>) -> Vec<(Turn, Cost)> {
        let switches = |thread| usize::from(last.is_some_and(|last| last != thread));
        let threads =
            (0..32).filter(|&thread| self.movable >> thread & 1 == 1 && thread != self.turn.thread);
        let mut turns: Vec<(Turn, Cost)> = threads
            .map(|thread| {
                (Turn { thread, find: None }, Cost { switches: switches(thread), old: 0, steps: 1 })
            })
            .collect();
        let thread = self.turn.thread;
        for find in self.others.iter().copied().map(Some).filter(|&find| find != self.turn.find) {
            let old = usize::from(!matches!(find, Some(Find::Choice(_))));
            turns.push((Turn { thread, find }, Cost { switches: switches(thread), old, steps: 1 }));
        }
        turns
    }
}

#[derive(Debug, Default)]
pub(crate) struct Guide {
    pub(crate) turns: VecDeque<Turn>,
    /// Options that each thread takes, in order, unless a turn says otherwise.
    pub(crate) options: Vec<VecDeque<u64>>,
    pub(crate) trail: Vec<Made>,
    running: usize,
    /// Threads that yield.
    resting: u32,
    /// Those of them that have done so as often as the bound on rounds allows.
    idle: u32,
}

impl Guide {
    pub(crate) fn new(turns: VecDeque<Turn>, options: Vec<VecDeque<u64>>) -> Guide {
        Guide { turns, options, ..Guide::default() }
    }

    /// A thread has given a hint that it waits; `is_idle`: more rounds of it are not worth trying.
    pub(crate) fn rest(&mut self, thread: usize, is_idle: bool) {
        self.resting |= 1 << thread;
        self.idle |= u32::from(is_idle) << thread;
    }

    /// Something has changed.
    fn wake(&mut self) {
        (self.resting, self.idle) = (0, 0);
    }

    fn option(&mut self, thread: usize, options: u64) -> u64 {
        let planned = self.options.get_mut(thread).and_then(VecDeque::pop_front);
        planned.filter(|&option| option < options).unwrap_or(0)
    }
}

impl Core {
    /// Whether a guide or a schedule decides which thread moves.
    pub(crate) fn is_led(&self) -> bool {
        self.guide.is_some() || !self.script.is_empty()
    }

    fn movable(&self) -> u32 {
        let threads = (0..self.threads.len()).filter(|&thread| self.can_move(thread));
        threads.fold(0, |mask, thread| mask | 1 << thread)
    }

    /// The thread to resume next in a guided run.
    pub(crate) fn guided_thread(&mut self) -> Option<usize> {
        let movable = self.movable();
        let guide = self.guide.as_mut()?;
        while let Some(turn) = guide.turns.front() {
            if movable >> turn.thread & 1 == 1 {
                return Some(turn.thread);
            }
            guide.turns.pop_front();
        }
        if movable & !guide.resting == 0 {
            guide.resting = 0;
        }
        let ready = movable & !guide.resting;
        let goes_on = ready >> guide.running & 1 == 1;
        if goes_on { Some(guide.running) } else { (0..32).find(|thread| ready >> thread & 1 == 1) }
    }

    /// What a request finds in a guided run; see [`Core::scripted`].
    pub(crate) fn guided(&mut self, thread: usize, request: &Request) -> Option<Option<Find>> {
        let movable = self.movable();
        let is_wait = self.waits(request);
        let others = self.alternatives(thread, request);
        let guide = self.guide.as_mut()?;
        while let Some(turn) = guide.turns.front() {
            let is_own = turn.thread == thread;
            if !is_own && movable >> turn.thread & 1 == 1 {
                return None;
            }
            if is_own && !is_wait {
                break;
            }
            guide.turns.pop_front();
        }
        let turn = guide.turns.pop_front();
        if is_wait {
            guide.rest(thread, true);
        }
        let rests = turn.is_none() && guide.resting >> thread & 1 == 1;
        if rests && movable & !guide.resting != 0 {
            return None;
        }
        if is_wait {
            return Some(None); // No other thread can move: it waits.
        }
        let idle = guide.idle;
        guide.resting &= !(1 << thread);
        let option = match request.op {
            Op::Choice { options } => Some(Find::Choice(guide.option(thread, options))),
            _ => None,
        };
        let wanted = turn.and_then(|turn| turn.find);
        let find = wanted.filter(|&find| self.is_possible(find, thread, request)).or(option);
        let guide = self.guide.as_mut()?;
        guide.running = thread;
        if !matches!(request.op, Op::Load { .. } | Op::Fence { .. } | Op::Light | Op::Choice { .. })
        {
            guide.wake();
        }
        let movable = movable & !idle;
        guide.trail.push(Made { turn: Turn { thread, find }, movable, others });
        self.growth.place = find.and_then(Find::place);
        Some(find)
    }

    /// Whether the request would leave its thread waiting.
    fn waits(&self, request: &Request) -> bool {
        match request.op {
            Op::Join { child } => self.threads[usize::from(child)].state != State::Finished,
            op if op.is_wait() => {
                let newest = self.graph.newest(request.location);
                let value = self.graph.value_of(request.location, newest);
                request.op.effect(value) == Some(Effect::Blocked)
            }
            _ => false,
        }
    }

    /// What the request could find instead of the newest. Empty under SC: a thread that reads an old value could as
    /// well have run earlier.
    fn alternatives(&self, thread: usize, request: &Request) -> Vec<Find> {
        let is_sc = self.growth.memory == Memory::Sc;
        let (graph, at) = (&self.graph, request.location);
        let older = || {
            let newest = graph.locations[at as usize].order.len();
            graph.floor(at, thread)..newest
        };
        let finds: Vec<Find> = match request.op {
            Op::Choice { options } => (0..options).map(Find::Choice).collect(),
            _ if is_sc => Vec::new(),
            Op::Store { .. } => older().map(Find::Place).collect(),
            Op::Unlocked { .. } => {
                older().map(|old| Find::From(graph.write_at(at, old), Some(old))).collect()
            }
            Op::Load { .. }
            | Op::Rmw { .. }
            | Op::Cas { .. }
            | Op::AwaitCas { .. }
            | Op::RwLock(_) => {
                older().map(|old| Find::From(graph.write_at(at, old), None)).collect()
            }
            _ => Vec::new(),
        };
        finds.into_iter().filter(|&find| self.is_possible(find, thread, request)).collect()
    }
}
