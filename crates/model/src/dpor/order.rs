//! Happens-before of one execution, kept up to date as events are added and taken back.
//!
//! # Contract
//! [`Order::push`] adds an event and answers with its direct predecessors; [`Order::pop`] takes the last event back.
//! # State
//! The order is that of chronological traces: program order of each thread; a store before its own drain; drains of one
//! buffer in turn; writes to one location in turn; a write before the loads of *other* threads that read it; a load
//! before the first write of another thread that follows, in memory, the write it read. A thread's load of its own store
//! is not ordered against that store's drain: whether it came from the buffer or from memory, the execution is the same.
//! So two executions have the same order exactly if every load reads the same write and every location has the same
//! sequence of writes.
//! I1: event `e` is before `f` exactly if `clock(f)[actor of e] >= ordinal of e`.
//! I2: writes are numbered in the order of their making, so the newest write is the first to be taken back.
//! # Sources
//! Abdulla, Aronis, Atig, Jonsson, Leonardsson, Sagonas, "Stateless model checking for TSO and PSO", TACAS 2015.

use crate::program::{Loc, Location, Value};
use crate::step::Happening;
use std::collections::VecDeque;

/// An event: index into the execution.
pub(super) type EventId = usize;

/// A predecessor of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) event: EventId,
    /// The two could happen the other way round.
    pub(super) reversible: bool,
    /// The order comes from memory or a queue, not from the thread that acts.
    pub(super) conflict: bool,
}

#[derive(Debug, Default)]
struct Write {
    loc: Loc,
    thread: u8,
    value: Value,
    /// The event that put it into memory; `None` for initial values and waiting stores.
    event: Option<EventId>,
    /// The event whose thread made it, for stores that went through a buffer.
    origin: Option<EventId>,
    /// The write it replaced in memory.
    replaced: usize,
    readers: Vec<(EventId, u8)>,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    actor: usize,
    ordinal: u32,
    happened_to: usize,
    /// For a drain: the event that made the store.
    origin: Option<EventId>,
}

/// What an actor is to the order: the thread it belongs to, and what kind of step it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Thread { thread: u8, barrier: bool, lock: bool },
    Drain,
    Interrupt { by: u8, on: u8 },
}

/// Happens-before of the current execution.
#[derive(Debug)]
pub(super) struct Order {
    actors: usize,
    threads: usize,
    /// Whether the actors after the threads are their buffers.
    buffered: bool,
    events: Vec<Event>,
    happened: Vec<Happening>,
    clocks: Vec<u32>,
    by_actor: Vec<Vec<EventId>>,
    writes: Vec<Write>,
    live: usize,
    memory: Vec<usize>,
    buffers: Vec<VecDeque<usize>>,
    queues: Vec<Vec<EventId>>,
    /// Events of others that a thread's next event comes after.
    joined: Vec<Vec<Before>>,
}

impl Order {
    /// The order of the empty execution, in which `started` has already happened.
    pub(super) fn new(
        threads: usize,
        buffered: bool,
        actors: usize,
        locations: &[Location],
        started: &[Happening],
    ) -> Self {
        let mut order = Order {
            actors,
            threads,
            buffered,
            events: Vec::new(),
            happened: Vec::new(),
            clocks: Vec::new(),
            by_actor: vec![Vec::new(); actors],
            writes: Vec::new(),
            live: 0,
            memory: Vec::new(),
            buffers: vec![VecDeque::new(); threads],
            queues: vec![Vec::new(); locations.len()],
            joined: vec![Vec::new(); threads],
        };
        for (loc, location) in locations.iter().enumerate() {
            let write = order.new_write(loc as Loc, u8::MAX, location.init, None);
            order.memory.push(write);
        }
        for happening in started {
            if let Happening::Buffered { thread, loc, value } = *happening {
                let write = order.new_write(loc, thread, value, None);
                order.buffers[usize::from(thread)].push_back(write);
            }
        }
        order
    }

    fn new_write(&mut self, loc: Loc, thread: u8, value: Value, origin: Option<EventId>) -> usize {
        if self.live == self.writes.len() {
            self.writes.push(Write::default());
        }
        let write = &mut self.writes[self.live];
        write.loc = loc;
        write.thread = thread;
        write.value = value;
        write.event = None;
        write.origin = origin;
        write.readers.clear();
        self.live += 1;
        self.live - 1
    }

    /// How many events there are.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The actor of an event.
    pub(super) fn actor(&self, event: EventId) -> usize {
        self.events[event].actor
    }

    /// The clock of an event (I1).
    pub(super) fn clock(&self, event: EventId) -> &[u32] {
        &self.clocks[event * self.actors..(event + 1) * self.actors]
    }

    /// Whether `early` happens before `late`, or is it.
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

    /// The events of an actor, oldest first.
    pub(super) fn events_of(&self, actor: usize) -> &[EventId] {
        &self.by_actor[actor]
    }

    /// Whether every store that a thread made before its event `early` can drain although `early` has not happened.
    pub(super) fn drains_without(&self, thread: u8, early: EventId) -> bool {
        let Some(drain) = self.buffered.then_some(self.threads + usize::from(thread)) else {
            return true;
        };
        let late = self.by_actor[drain].iter().rev().take_while(|&&event| event > early);
        late.filter(|&&event| self.events[event].origin.is_none_or(|origin| origin < early))
            .all(|&event| !self.before(early, event))
    }

    /// The newest write to a lock word before which the word was zero; with `own`, without counting the newest write.
    pub(super) fn taker(&self, loc: Loc, own: bool) -> Option<EventId> {
        let mut write = self.memory[usize::from(loc)];
        if own {
            write = self.writes[write].replaced;
        }
        loop {
            let event = self.writes[write].event?;
            write = self.writes[write].replaced;
            if self.writes[write].value == 0 {
                return Some(event);
            }
        }
    }

    /// What the next event of a thread comes after for the thread's own sake.
    pub(super) fn before_thread(&self, thread: u8, out: &mut Vec<Before>) {
        let last = self.by_actor[usize::from(thread)].last().copied();
        out.extend(last.map(|event| Before { event, reversible: false, conflict: false }));
        let newer = |before: &&Before| last.is_none_or(|last| before.event > last);
        out.extend(self.joined[usize::from(thread)].iter().rev().take_while(newer));
    }

    /// Adds an event and puts its direct predecessors into `before`.
    pub(super) fn push(
        &mut self,
        actor: usize,
        role: Role,
        happened: &[Happening],
        before: &mut Vec<Before>,
    ) {
        let event = self.events.len();
        before.clear();
        self.own_predecessors(actor, role, before);
        let lock = matches!(role, Role::Thread { lock: true, .. });
        for happening in happened {
            self.happen(event, *happening, lock, before);
        }
        self.happened.extend_from_slice(happened);
        let ordinal = self.by_actor[actor].len() as u32 + 1;
        self.by_actor[actor].push(event);
        let origin = happened.iter().find_map(|happening| match *happening {
            Happening::Wrote { loc, drained: true, .. } => {
                self.writes[self.memory[usize::from(loc)]].origin
            }
            _ => None,
        });
        self.events.push(Event { actor, ordinal, happened_to: self.happened.len(), origin });
        self.clocks.resize((event + 1) * self.actors, 0);
        let (old, new) = self.clocks.split_at_mut(event * self.actors);
        for predecessor in before.iter() {
            let clock =
                &old[predecessor.event * self.actors..(predecessor.event + 1) * self.actors];
            new.iter_mut().zip(clock).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
        new[actor] = ordinal;
    }

    /// What the next event of a thread comes after if it is a barrier: also the thread's drains.
    pub(super) fn before_barrier(&self, thread: u8, out: &mut Vec<Before>) {
        self.before_thread(thread, out);
        out.extend(self.last_drain(thread));
    }

    fn last_drain(&self, thread: u8) -> Option<Before> {
        let drain = self.buffered.then_some(self.threads + usize::from(thread))?;
        self.by_actor[drain].last().map(|&event| Before {
            event,
            reversible: false,
            conflict: false,
        })
    }

    fn own_predecessors(&self, actor: usize, role: Role, before: &mut Vec<Before>) {
        let fixed = |event: &EventId| Before { event: *event, reversible: false, conflict: false };
        match role {
            Role::Thread { thread, barrier: true, .. } => self.before_barrier(thread, before),
            Role::Thread { thread, .. } => self.before_thread(thread, before),
            Role::Drain => before.extend(self.by_actor[actor].last().map(fixed)),
            Role::Interrupt { by, on } => {
                // It comes after the request. Interrupts of one request on different threads come in any order.
                before.extend(self.by_actor[usize::from(by)].last().map(fixed));
                // The thread that takes it stands where its last event left it.
                before.extend(self.by_actor[usize::from(on)].last().map(fixed));
                before.extend(self.last_drain(on));
            }
        }
    }

    fn happen(
        &mut self,
        event: EventId,
        happening: Happening,
        lock: bool,
        before: &mut Vec<Before>,
    ) {
        let conflict =
            |event: EventId, reversible: bool| Before { event, reversible, conflict: true };
        match happening {
            Happening::Read { thread, loc, forwarded, .. } => {
                let write = self.seen_write(thread, loc, forwarded);
                let source = &mut self.writes[write];
                if let Some(written) = source.event.filter(|_| source.thread != thread) {
                    before.push(conflict(written, !lock));
                }
                source.readers.push((event, thread));
            }
            Happening::Buffered { thread, loc, value } => {
                let write = self.new_write(loc, thread, value, Some(event));
                self.buffers[usize::from(thread)].push_back(write);
            }
            Happening::Wrote { thread, loc, value, drained } => {
                let waiting =
                    if drained { self.buffers[usize::from(thread)].pop_front() } else { None };
                let write = waiting.unwrap_or_else(|| self.new_write(loc, thread, value, None));
                if let Some(origin) = self.writes[write].origin {
                    before.push(Before { event: origin, reversible: false, conflict: false });
                }
                let replaced = self.memory[usize::from(loc)];
                let old = &self.writes[replaced];
                if let Some(written) = old.event.filter(|_| old.thread != thread) {
                    before.push(conflict(written, !lock));
                } else if let Some(written) = old.event {
                    before.push(conflict(written, false));
                }
                let others = old.readers.iter().filter(|(_, reader)| *reader != thread);
                before.extend(others.map(|&(reader, _)| conflict(reader, true)));
                self.memory[usize::from(loc)] = write;
                self.writes[write].replaced = replaced;
                self.writes[write].event = Some(event);
            }
            Happening::Slept { thread, loc } | Happening::Passed { thread, loc } => {
                self.queue(event, thread, loc, before);
            }
            Happening::Woke { thread, loc, sleepers } => {
                self.queue(event, thread, loc, before);
                for sleeper in (0..self.threads).filter(|sleeper| sleepers >> sleeper & 1 == 1) {
                    self.joined[sleeper].push(Before { event, reversible: false, conflict: false });
                }
            }
            Happening::Interrupted { by, on } => {
                self.joined[usize::from(by)].push(Before {
                    event,
                    reversible: false,
                    conflict: false,
                });
                self.joined[usize::from(on)].push(Before {
                    event,
                    reversible: true,
                    conflict: false,
                });
            }
            Happening::Fenced { .. }
            | Happening::Locked { .. }
            | Happening::Asked { .. }
            | Happening::Ticked
            | Happening::Faulted { .. } => {}
        }
    }

    fn queue(&mut self, event: EventId, thread: u8, loc: Loc, before: &mut Vec<Before>) {
        let last = self.queues[usize::from(loc)].last().copied();
        before.extend(last.map(|event| {
            let reversible = self.events[event].actor != usize::from(thread);
            Before { event, reversible, conflict: true }
        }));
        self.queues[usize::from(loc)].push(event);
    }

    /// The write that a read saw: the newest own store that waits, or what memory holds.
    fn seen_write(&self, thread: u8, loc: Loc, forwarded: bool) -> usize {
        let own = || {
            self.buffers[usize::from(thread)]
                .iter()
                .rev()
                .find(|&&write| self.writes[write].loc == loc)
        };
        if forwarded { own().copied().unwrap_or(0) } else { self.memory[usize::from(loc)] }
    }

    /// Takes the last event back.
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
            Happening::Slept { loc, .. } | Happening::Passed { loc, .. } => {
                self.queues[usize::from(loc)].pop();
            }
            Happening::Woke { loc, sleepers, .. } => {
                self.queues[usize::from(loc)].pop();
                for sleeper in (0..self.threads).filter(|sleeper| sleepers >> sleeper & 1 == 1) {
                    self.joined[sleeper].pop();
                }
            }
            Happening::Interrupted { by, on } => {
                self.joined[usize::from(by)].pop();
                self.joined[usize::from(on)].pop();
            }
            Happening::Fenced { .. }
            | Happening::Locked { .. }
            | Happening::Asked { .. }
            | Happening::Ticked
            | Happening::Faulted { .. } => {}
        }
    }
}
