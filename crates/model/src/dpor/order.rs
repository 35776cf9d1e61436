//! Happens-before of one execution, updated as events are added and removed.
//!
//! # Contract
//! [`Order::push`] adds an event and returns its direct predecessors; [`Order::pop`] removes the last event.
//! # State
//! The order is that of chronological traces: program order of each thread; a store before its own drain; drains of one
//! buffer in sequence; writes to one location in sequence; a write before the loads of *other* threads that read it; a
//! load before the first write of another thread that follows, in memory, the write it read. A thread's load of its own
//! store is not ordered against that store's drain: whether the value came from the buffer or from memory, the
//! execution is the same. So two executions have the same order exactly if every load reads the same write and every
//! location has the same sequence of writes.
//! I1: event `e` is before `f` exactly if `clock(f)[actor of e] >= ordinal of e`.
//! I2: writes are numbered in the order of their creation, so the newest write is removed first.
//! # Sources
//! Abdulla, Aronis, Atig, Jonsson, Leonardsson, Sagonas, "Stateless model checking for TSO and PSO", TACAS 2015.

use crate::program::Loc;
use crate::step::Happening;
use std::collections::VecDeque;

/// An event: index into the execution.
pub(super) type EventId = usize;

/// A predecessor of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) event: EventId,
    /// The two events could happen in the opposite order.
    pub(super) reversible: bool,
}

fn fixed(event: EventId) -> Before {
    Before { event, reversible: false }
}

#[derive(Debug, Default)]
struct Write {
    loc: Loc,
    thread: u8,
    /// The event that wrote it to memory; `None` for initial values and buffered stores.
    event: Option<EventId>,
    /// The storing event of the thread, for stores that went through a buffer.
    origin: Option<EventId>,
    /// The write that it overwrote in memory.
    replaced: usize,
    readers: Vec<(EventId, u8)>,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    actor: usize,
    ordinal: u32,
    happened_to: usize,
}

/// Happens-before of the current execution, in a program without locks, futexes and interrupts. Actors are the threads,
/// followed by their buffers if stores are buffered.
#[derive(Debug)]
pub(super) struct Order {
    actors: usize,
    threads: usize,
    events: Vec<Event>,
    happened: Vec<Happening>,
    clocks: Vec<u32>,
    by_actor: Vec<Vec<EventId>>,
    writes: Vec<Write>,
    live: usize,
    memory: Vec<usize>,
    buffers: Vec<VecDeque<usize>>,
}

impl Order {
    /// The order of the empty execution; `started` has already happened.
    pub(super) fn new(
        threads: usize,
        actors: usize,
        locations: usize,
        started: &[Happening],
    ) -> Self {
        let mut order = Order {
            actors,
            threads,
            events: Vec::new(),
            happened: Vec::new(),
            clocks: Vec::new(),
            by_actor: vec![Vec::new(); actors],
            writes: Vec::new(),
            live: 0,
            memory: Vec::new(),
            buffers: vec![VecDeque::new(); threads],
        };
        for loc in 0..locations {
            let write = order.new_write(loc as Loc, u8::MAX, None);
            order.memory.push(write);
        }
        for happening in started {
            if let Happening::Buffered { thread, loc, .. } = *happening {
                let write = order.new_write(loc, thread, None);
                order.buffers[usize::from(thread)].push_back(write);
            }
        }
        order
    }

    fn new_write(&mut self, loc: Loc, thread: u8, origin: Option<EventId>) -> usize {
        if self.live == self.writes.len() {
            self.writes.push(Write::default());
        }
        let write = &mut self.writes[self.live];
        write.loc = loc;
        write.thread = thread;
        write.event = None;
        write.origin = origin;
        write.readers.clear();
        self.live += 1;
        self.live - 1
    }

    /// The actor of an event.
    pub(super) fn actor(&self, event: EventId) -> usize {
        self.events[event].actor
    }

    /// The clock of an event (I1).
    pub(super) fn clock(&self, event: EventId) -> &[u32] {
        &self.clocks[event * self.actors..(event + 1) * self.actors]
    }

    /// Whether `early` equals `late` or happens before it.
    pub(super) fn before(&self, early: EventId, late: EventId) -> bool {
        let Event { actor, ordinal, .. } = self.events[early];
        self.clocks[late * self.actors + actor] >= ordinal
    }

    /// Whether an event touched a location.
    pub(super) fn touched(&self, event: EventId, at: Loc) -> bool {
        let from = event.checked_sub(1).map_or(0, |before| self.events[before].happened_to);
        self.happened[from..self.events[event].happened_to].iter().any(
            |happening| match happening {
                Happening::Read { loc, .. } | Happening::Wrote { loc, .. } => *loc == at,
                _ => false,
            },
        )
    }

    /// Adds an event and stores its direct predecessors in `before`. A barrier comes after its thread's drains.
    pub(super) fn push(
        &mut self,
        actor: usize,
        is_barrier: bool,
        happened: &[Happening],
        before: &mut Vec<Before>,
    ) {
        let event = self.events.len();
        before.clear();
        let drains = self.by_actor.get(actor + self.threads).filter(|_| is_barrier);
        let own = [Some(&self.by_actor[actor]), drains].into_iter().flatten();
        before.extend(own.filter_map(|events| events.last()).map(|&last| fixed(last)));
        for happening in happened {
            self.happen(event, *happening, before);
        }
        self.happened.extend_from_slice(happened);
        let ordinal = self.by_actor[actor].len() as u32 + 1;
        self.by_actor[actor].push(event);
        self.events.push(Event { actor, ordinal, happened_to: self.happened.len() });
        self.clocks.resize((event + 1) * self.actors, 0);
        let (old, new) = self.clocks.split_at_mut(event * self.actors);
        for predecessor in before.iter() {
            let clock =
                &old[predecessor.event * self.actors..(predecessor.event + 1) * self.actors];
            new.iter_mut().zip(clock).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
        new[actor] = ordinal;
    }

    fn happen(&mut self, event: EventId, happening: Happening, before: &mut Vec<Before>) {
        let race = |event: EventId| Before { event, reversible: true };
        match happening {
            Happening::Read { thread, loc, forwarded, .. } => {
                let write = self.seen_write(thread, loc, forwarded);
                let source = &mut self.writes[write];
                if let Some(written) = source.event.filter(|_| source.thread != thread) {
                    before.push(race(written));
                }
                source.readers.push((event, thread));
            }
            Happening::Buffered { thread, loc, .. } => {
                let write = self.new_write(loc, thread, Some(event));
                self.buffers[usize::from(thread)].push_back(write);
            }
            Happening::Wrote { thread, loc, drained, .. } => {
                let waiting =
                    if drained { self.buffers[usize::from(thread)].pop_front() } else { None };
                let write = waiting.unwrap_or_else(|| self.new_write(loc, thread, None));
                if let Some(origin) = self.writes[write].origin {
                    before.push(fixed(origin));
                }
                let replaced = self.memory[usize::from(loc)];
                let old = &self.writes[replaced];
                if let Some(event) = old.event {
                    before.push(Before { event, reversible: old.thread != thread });
                }
                let others = old.readers.iter().filter(|(_, reader)| *reader != thread);
                before.extend(others.map(|&(reader, _)| race(reader)));
                self.memory[usize::from(loc)] = write;
                self.writes[write].replaced = replaced;
                self.writes[write].event = Some(event);
            }
            _ => {}
        }
    }

    /// The write that a read sees: the newest buffered store of its thread, otherwise the one in memory.
    fn seen_write(&self, thread: u8, loc: Loc, forwarded: bool) -> usize {
        let own = || {
            self.buffers[usize::from(thread)]
                .iter()
                .rev()
                .find(|&&write| self.writes[write].loc == loc)
        };
        if forwarded { own().copied().unwrap_or(0) } else { self.memory[usize::from(loc)] }
    }

    /// Removes the last event.
    pub(super) fn pop(&mut self) {
        let Some(event) = self.events.pop() else { return };
        self.by_actor[event.actor].pop();
        self.clocks.truncate(self.events.len() * self.actors);
        let from = self.events.last().map_or(0, |last| last.happened_to);
        while self.happened.len() > from {
            if let Some(happening) = self.happened.pop() {
                self.take_back(happening);
            }
        }
    }

    fn take_back(&mut self, happening: Happening) {
        match happening {
            Happening::Read { thread, loc, forwarded, .. } => {
                let write = self.seen_write(thread, loc, forwarded);
                self.writes[write].readers.pop();
            }
            Happening::Buffered { thread, .. } => {
                self.buffers[usize::from(thread)].pop_back();
                self.live -= 1;
            }
            Happening::Wrote { thread, loc, drained, .. } => {
                let write = self.memory[usize::from(loc)];
                self.memory[usize::from(loc)] = self.writes[write].replaced;
                self.writes[write].event = None;
                if drained {
                    self.buffers[usize::from(thread)].push_front(write);
                } else {
                    self.live -= 1;
                }
            }
            _ => {}
        }
    }
}
