//! Every consistent execution graph, each exactly once: what may follow a graph when a thread makes one more step.
//!
//! # Contract
//! [`Growth::read`], [`Growth::write`] and [`Growth::choose`] put the new event into the graph in the way that leaves
//! most open (a read of the newest write, a write that is the newest), and put every other graph that can follow into
//! [`Growth::work`]: other writes to read from, other places in the order of writes, and *revisits*: an earlier read
//! that reads from the new write instead, with everything cut off that came after the read and does not lead to the
//! write.
//!
//! No graph is reached twice: a revisit is made only from the one graph in which everything that it cuts off had been
//! added in the way that leaves most open (`is_maximal`). Nothing leads nowhere: a graph put into `work` is consistent,
//! and a consistent graph can always go on. The one exception is waiting (below).
//!
//! A read-modify-write is an exclusive read and then, in the same step, its write. Of two that read the same write the
//! second has no place of its own: only its revisits, which move the first one behind it, go on.
//!
//! A wait that reads a write it does not wait for ends its thread there, `Kind::Blocked`, until a later write revisits
//! it. It does so only on the newest write: a wait on an older one would never be revisited (it is not maximal), and no
//! system leaves it there. An execution may end with a wait blocked although the newest write would satisfy it: such
//! ends are counted apart, their continuation is another graph in `work`.
//!
//! # Sources
//! Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless, optimal dynamic partial order reduction, POPL
//! 2022.

use super::graph::{Event, EventId, Graph, Kind};
use super::memory::Memory;
use super::op::{Effect, Op, Order};

/// A graph to go on from.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) graph: Graph,
    /// A read-modify-write whose write half is still to come.
    pub(crate) unfinished: Option<EventId>,
}

#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) memory: Memory,
    pub(crate) work: Vec<Item>,
    /// Goes on in one way only: nothing is put into `work`.
    pub(crate) single: bool,
    /// Where the next write goes, if that is not left to it: how many writes of its location are before it.
    pub(crate) place: Option<usize>,
}

impl Growth {
    /// The next graph to run, if any is left.
    pub(crate) fn next(&mut self) -> Option<Graph> {
        while let Some(item) = self.work.pop() {
            let graph = match item.unfinished {
                None => Some(item.graph),
                Some(read) => self.finish(item.graph, read),
            };
            if graph.is_some() {
                return graph;
            }
        }
        None
    }

    /// A request that reads: `draft` is its event, `only` the write it must read if it has no choice.
    pub(crate) fn read(
        &mut self,
        graph: &mut Graph,
        thread: usize,
        draft: &Event,
        only: Option<EventId>,
    ) {
        let newest = graph.locations[draft.location as usize].order.len();
        let chosen = only.map_or(newest, |write| graph.position(draft.location, write));
        if only.is_none() && !self.single {
            for position in graph.floor(draft.location, &draft.hb)..newest {
                let from = graph.write_at(draft.location, position);
                if draft.op.effect(graph.value_of(draft.location, from)) == Some(Effect::Blocked) {
                    continue; // An end that waits on an old value while a new one stands is nobody's.
                }
                let mut other = graph.clone();
                let read = self.place_read(&mut other, thread, draft.clone(), from);
                if self.memory.consistent(&other) {
                    let finished = if is_unfinished(&other, read) {
                        self.finish(other, read)
                    } else {
                        Some(other)
                    };
                    self.work.extend(finished.map(|graph| Item { graph, unfinished: None }));
                }
            }
        }
        let from = graph.write_at(draft.location, chosen);
        let read = self.place_read(graph, thread, draft.clone(), from);
        if is_unfinished(graph, read) {
            let whole = self.finish(std::mem::take(graph), read);
            *graph = whole
                .expect("the newest write has no successor, and to write after it is consistent");
        }
    }

    /// A request that writes. `draft` holds the value; its clocks are those of program order.
    pub(crate) fn write(&mut self, graph: &mut Graph, thread: usize, draft: Event, order: Order) {
        let event = self.as_write(graph, draft, order, None);
        let whole = self.place_write(std::mem::take(graph), thread, &event);
        *graph =
            whole.expect("to be the newest write is consistent, and so is the place of a schedule");
    }

    /// A choice among `options`: `taken` is taken here.
    pub(crate) fn choose(
        &mut self,
        graph: &mut Graph,
        thread: usize,
        draft: &Event,
        options: u64,
        taken: u64,
    ) {
        for value in 1..if self.single { 1 } else { options } {
            let mut other = graph.clone();
            other.push(thread, Event { value, kind: Kind::Choice, ..draft.clone() });
            self.work.push(Item { graph: other, unfinished: None });
        }
        graph.push(thread, Event { value: taken, kind: Kind::Choice, ..draft.clone() });
    }

    /// Whether the memory model lets the read `draft` read `from`.
    pub(crate) fn may_read(
        &self,
        graph: &Graph,
        thread: usize,
        draft: &Event,
        from: EventId,
    ) -> bool {
        let mut other = graph.clone();
        self.place_read(&mut other, thread, draft.clone(), from);
        self.memory.consistent(&other)
    }

    /// Adds the read `draft`, reading from `from`.
    fn place_read(
        &self,
        graph: &mut Graph,
        thread: usize,
        mut event: Event,
        from: EventId,
    ) -> EventId {
        event.value = graph.value_of(event.location, from);
        let effect = event.op.effect(event.value).expect("a request that reads");
        let order = match effect {
            Effect::Blocked => {
                event.kind = Kind::Blocked;
                event.from = from;
                return graph.push(thread, event);
            }
            Effect::Write { .. } if matches!(event.op, Op::Unlocked { .. }) => Order::RELAXED,
            Effect::Read(order) | Effect::Write { order, .. } => order,
        };
        event.kind = Kind::Read;
        event.from = from;
        event.exclusive =
            matches!(effect, Effect::Write { .. }) && !matches!(event.op, Op::Unlocked { .. });
        event.order = self.memory.effective(order);
        let message = graph.message_of(from);
        event.pending.join(&message);
        if event.order.acquire {
            event.hb.join(&message);
        }
        if !from.is_initial() {
            event.prefix.join(&graph.get(from).prefix);
        }
        graph.push(thread, event)
    }

    fn as_write(
        &self,
        graph: &Graph,
        mut event: Event,
        order: Order,
        read: Option<&Event>,
    ) -> Event {
        event.kind = Kind::Write;
        event.order = self.memory.effective(order);
        event.message = if event.order.release { event.hb } else { event.fenced };
        event.exclusive = read.is_some_and(|read| read.exclusive);
        if let (true, Some(read)) = (event.exclusive, read) {
            // A read-modify-write carries on the release sequence of what it reads.
            event.message.join(&graph.message_of(read.from));
        }
        event
    }

    /// Adds the write half of the read-modify-write that `read` begins.
    fn finish(&mut self, graph: Graph, read: EventId) -> Option<Graph> {
        let thread = usize::from(read.thread);
        let half = graph.get(read);
        let Some(Effect::Write { value, order }) = half.op.effect(half.value) else {
            unreachable!("only a read-modify-write is unfinished");
        };
        let mut draft = graph.draft(thread, half.op, half.location, half.site);
        draft.value = value;
        let event = self.as_write(&graph, draft, order, Some(half));
        self.place_write(graph, thread, &event)
    }

    /// The graph with `event` as the newest write it can be; all other places and all revisits go to `work`.
    fn place_write(&mut self, graph: Graph, thread: usize, event: &Event) -> Option<Graph> {
        if !self.single {
            self.revisit(&graph, thread, event);
        }
        let newest = graph.locations[event.location as usize].order.len();
        let mut places = self.places(&graph, thread, event);
        let last = match self.place.take() {
            Some(place) => places.iter().copied().find(|&other| other == place)?,
            None => places.pop()?,
        };
        let others = if self.single { Vec::new() } else { places };
        for place in others {
            let mut other = graph.clone();
            insert(&mut other, thread, event.clone(), place);
            if self.memory.consistent(&other) {
                self.work.push(Item { graph: other, unfinished: None });
            }
        }
        let mut whole = graph;
        insert(&mut whole, thread, event.clone(), last);
        (last == newest || self.memory.consistent(&whole)).then_some(whole)
    }

    /// Where in its location's order the write may go: behind which position.
    fn places(&self, graph: &Graph, thread: usize, event: &Event) -> Vec<usize> {
        let newest = graph.locations[event.location as usize].order.len();
        if event.exclusive {
            let from = graph.position(event.location, graph.get(graph.last(thread)).from);
            let taken = graph.successor(event.location, from).is_some();
            return if taken { Vec::new() } else { vec![from] };
        }
        let free = |&place: &usize| graph.successor(event.location, place).is_none();
        (graph.floor(event.location, &event.hb)..=newest).filter(free).collect()
    }

    /// Lets every earlier read that can do so read from the new write instead.
    fn revisit(&mut self, graph: &Graph, thread: usize, event: &Event) {
        let reads: Vec<EventId> = graph
            .iter()
            .filter(|(id, read)| {
                matches!(read.kind, Kind::Read | Kind::Blocked)
                    && read.location == event.location
                    && !read.forced
                    && !event.prefix.knows(*id)
            })
            .map(|(id, _)| id)
            .collect();
        for read in reads {
            let stamp = graph.get(read).stamp;
            let stays = |id: EventId, other: &Event| other.stamp <= stamp || event.prefix.knows(id);
            let cut = graph.iter().filter(|&(id, other)| id == read || !stays(id, other));
            let mut cut = cut.map(|(id, other)| is_maximal(graph, event, id, other));
            if cut.all(|maximal| maximal) {
                self.revisit_one(&graph.restrict(stays), thread, event, read);
            }
        }
    }

    fn revisit_one(&mut self, kept: &Graph, thread: usize, event: &Event, read: EventId) {
        let old = kept.get(read);
        let blocks = old.op.effect(event.value) == Some(Effect::Blocked);
        let (stamp, reader) = (old.stamp, usize::from(read.thread));
        let mut without = kept.clone();
        without.threads[reader].pop();
        let newest = without.locations[event.location as usize].order.len();
        for place in self.places(&without, thread, event) {
            if blocks && place != newest {
                continue;
            }
            let mut graph = without.clone();
            let write = insert(&mut graph, thread, event.clone(), place);
            let draft = graph.draft(reader, old.op, old.location, old.site);
            if graph.floor(old.location, &draft.hb) > place + 1 {
                continue;
            }
            let read = self.place_read(&mut graph, reader, draft, write);
            graph.get_mut(read).stamp = stamp;
            if self.memory.consistent(&graph) {
                let unfinished = is_unfinished(&graph, read).then_some(read);
                self.work.push(Item { graph, unfinished });
            }
        }
    }
}

/// Puts a write behind `place` in its location's order and at the end of its thread.
fn insert(graph: &mut Graph, thread: usize, event: Event, place: usize) -> EventId {
    let location = event.location as usize;
    let id = graph.push(thread, event);
    graph.locations[location].order.insert(place, id);
    id
}

fn is_unfinished(graph: &Graph, read: EventId) -> bool {
    let event = graph.get(read);
    event.kind == Kind::Read && matches!(event.op.effect(event.value), Some(Effect::Write { .. }))
}

/// Whether `event` had been added in the way that leaves most open, seen from what came before it and from what leads
/// to the write `cause`.
fn is_maximal(graph: &Graph, cause: &Event, id: EventId, event: &Event) -> bool {
    let before = |other: EventId| {
        other.is_initial() || graph.get(other).stamp <= event.stamp || cause.prefix.knows(other)
    };
    let newest_before = || {
        let order = &graph.locations[event.location as usize].order;
        order.iter().rev().copied().find(|&write| before(write)).unwrap_or(EventId::INITIAL)
    };
    match event.kind {
        Kind::Read | Kind::Blocked => event.forced || newest_before() == event.from,
        Kind::Write => {
            let read_before = graph.iter().any(|(read, other)| {
                matches!(other.kind, Kind::Read | Kind::Blocked)
                    && other.from == id
                    && other.location == event.location
                    && before(read)
            });
            newest_before() == id && !read_before
        }
        Kind::Choice => event.value == 0,
        Kind::Fence | Kind::Thread => true,
    }
}
