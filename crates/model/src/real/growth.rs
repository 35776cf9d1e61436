//! Enumerates every consistent execution graph exactly once: how a graph may be extended by one more step of a thread.
//!
//! # Contract
//! [`Growth::read`], [`Growth::write`] and [`Growth::choose`] add the new event to the graph in the way that leaves
//! most open (a read of the newest write, a write that is the newest), and push every other extension onto a stack:
//! other writes to read from, other places in the order of writes, and *revisits*: an earlier read reads from the new
//! write instead, and everything after the read that does not lead to the write is cut off.
//!
//! There is one graph and one stack of alternatives. To take up an item, the graph is cut back to its state when the
//! item was pushed (by stamps), and the item's event is added. A revisit cuts off more than that: what it cuts off is
//! kept in a [`Frame`] and restored when everything that follows the revisit is done. So neither costs more in a longer
//! execution.
//!
//! No graph is reached twice: a revisit is made only from the one graph in which everything that it cuts off had been
//! added in the way that leaves most open (`maximal`). There are no dead ends: a graph that is run is consistent, and a
//! consistent graph can always be extended. The one exception is waiting (below).
//!
//! A read-modify-write is an exclusive read and then, in the same step, its write. Of two that read the same write the
//! second has no valid place: only its revisits, which move the first one behind it, continue.
//!
//! A wait that reads a write it does not wait for ends its thread there, `Kind::Blocked`, until a later write revisits
//! it. It blocks only on the newest write: a wait on an older one would never be revisited (it is not maximal), and no
//! system leaves it there. An execution may end with a wait blocked although the newest write would satisfy it: such
//! ends are counted separately, because another graph on the stack continues them.
//!
//! # Sources
//! Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless, optimal dynamic partial order reduction, POPL
//! 2022.

use super::graph::{Clocks, Event, EventId, Graph, Kind};
use super::maximal::leaves_most_open;
use super::memory::Memory;
use super::op::{Effect, Op, Order};
use super::turns::Turns;
use super::{symmetry, turns};

/// An event to add instead of the one that was added at this state of the graph. Its values are those of that run; some
/// may be addresses (C2 of `core`).
#[derive(Debug)]
struct Item {
    /// The graph is cut back to what came before this stamp.
    stamp: u32,
    /// Its share of the whole search.
    share: f64,
    event: Event,
    thread: usize,
    way: Way,
    /// How many items had been taken up on the path to where it was pushed.
    level: usize,
    /// The number of the part of the search that it starts.
    part: Option<usize>,
}

/// An item that was taken up on the path to the current graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// Its place on the stack.
    pub(crate) item: usize,
    /// The fingerprint of the run that it led to, if it is to be recorded.
    pub(crate) steps: u64,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// A read from this write.
    Read(EventId),
    /// A write after this many writes of its location.
    Write(usize),
    Choice,
    /// A write from which this earlier read, with this request, reads.
    Revisit(EventId, Op),
    /// The same after cutting off: the write at this place, and the read as it was.
    Revisited(usize),
}

/// What a revisit has cut off.
#[derive(Debug, Default)]
struct Frame {
    /// The first stamp of what follows the revisit.
    base: u32,
    /// The read that is revisited: it keeps its stamp.
    read: Option<(EventId, Event)>,
    /// Items from here on belong to the frame.
    first: usize,
    /// Events to restore, each thread's in program order.
    cut: Vec<(usize, Event, Clocks)>,
    /// Orders of writes before the cut.
    orders: Vec<(u32, Vec<EventId>)>,
}

/// The state before a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    items: usize,
    share: f64,
    barren: f64,
}

#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) memory: Memory,
    items: Vec<Item>,
    frames: Vec<Frame>,
    /// The path to the current graph: repeating it leads to the same graph and the same items.
    pub(crate) path: Vec<Turn>,
    /// The share of the search that the current graph stands for, if all branches were equally large.
    pub(crate) share: f64,
    /// The sum of shares that turned out to be empty.
    pub(crate) barren: f64,
    /// The bound on preemptions or contexts.
    pub(crate) turns: Option<Turns>,
    /// Whether symmetric threads are explored in one order.
    pub(crate) symmetry: bool,
    /// Continues in one way only and pushes no alternatives.
    pub(crate) single: bool,
    /// Where the next write goes, if that is prescribed: the number of writes of its location before it.
    pub(crate) place: Option<usize>,
}

impl Growth {
    pub(crate) fn new(memory: Memory) -> Growth {
        let frames = vec![Frame::default()];
        Growth {
            memory,
            items: Vec::new(),
            frames,
            path: Vec::new(),
            share: 1.0,
            barren: 0.0,
            turns: None,
            symmetry: false,
            single: false,
            place: None,
        }
    }

    /// Makes `graph`, which is as the last run left it, the next one to run. False: none is left.
    pub(crate) fn next(&mut self, graph: &mut Graph) -> bool {
        while self.come_to_top(graph) {
            if self.items.last().is_some_and(|item| item.part.is_some()) {
                return false;
            }
            if self.take_top(graph) {
                if self.is_within(graph) {
                    return true;
                }
                self.barren += self.share;
            }
        }
        false
    }

    /// Makes each branch that is left a part of the search, at which [`Growth::next`] stops; returns how many there
    /// are.
    pub(crate) fn part(&mut self) -> usize {
        for (number, item) in self.items.iter_mut().enumerate() {
            item.part = Some(number);
        }
        self.items.len()
    }

    /// The part that comes next, the one with the highest number first.
    pub(crate) fn next_part(&mut self, graph: &mut Graph) -> Option<usize> {
        self.come_to_top(graph).then(|| self.items.last()?.part)?
    }

    /// Enters the next part, or skips it.
    pub(crate) fn begin_part(&mut self, is_wanted: bool) {
        if is_wanted {
            self.items.last_mut().expect("a part is left").part = None;
        } else {
            self.items.pop();
        }
    }

    /// What a run that begins here has not changed yet.
    pub(crate) fn mark(&self) -> Mark {
        Mark { items: self.items.len(), share: self.share, barren: self.barren }
    }

    /// Forgets the alternatives to steps of the run that began at `mark`.
    pub(crate) fn forget_since(&mut self, mark: Mark) {
        self.items.truncate(mark.items);
        (self.share, self.barren) = (mark.share, mark.barren);
    }

    /// The number of branches left.
    pub(crate) fn count_left(&self) -> usize {
        self.items.len()
    }

    /// Leaves frames that have no alternatives left. False: nothing is left at all.
    fn come_to_top(&mut self, graph: &mut Graph) -> bool {
        loop {
            let frame = self.frames.last().expect("the first frame stays");
            if self.items.len() > frame.first {
                return true;
            }
            if self.frames.len() == 1 {
                return false;
            }
            self.leave(graph);
        }
    }

    fn take_top(&mut self, graph: &mut Graph) -> bool {
        let item = self.items.pop().expect("one is left");
        self.path.truncate(item.level);
        self.path.push(Turn { item: self.items.len(), steps: 0 });
        self.take_up(graph, item)
    }

    /// Takes up the item at this place on the stack, and none above it. `None`: there is no such item.
    pub(crate) fn take(&mut self, graph: &mut Graph, place: usize) -> Option<bool> {
        while self.come_to_top(graph) && self.items.len() > place + 1 {
            self.items.pop();
        }
        (self.come_to_top(graph) && self.items.len() == place + 1).then(|| self.take_top(graph))
    }

    /// Whether the bound on turns admits anything that follows the graph.
    fn is_within(&self, graph: &Graph) -> bool {
        self.turns.is_none_or(|bound| {
            let part = turns::settled(graph);
            turns::fewest(graph, &part, self.memory == Memory::Sc, bound).is_some()
        })
    }

    /// Whether anything is left to explore.
    pub(crate) fn is_left(&self) -> bool {
        !self.items.is_empty()
    }

    /// Continues with one of the branches pushed since the search began here, or with none of them, each with a
    /// probability equal to its share; forgets the others. `at` is uniform in 0 to 1. `None`: the run that pushed them
    /// is chosen; false: a branch that leads to a dead end.
    pub(crate) fn draw(&mut self, graph: &mut Graph, mut at: impl FnMut() -> f64) -> Option<bool> {
        let mut is_run = true;
        loop {
            let noted: f64 = self.items.iter().map(|item| item.share).sum();
            let whole = noted + self.barren + if is_run { self.share } else { 0.0 };
            let mut rest = at() * whole;
            let chosen = self.items.iter().position(|item| {
                rest -= item.share;
                rest < 0.0
            });
            let Some(chosen) = chosen else {
                return if is_run && rest < self.share { None } else { Some(false) };
            };
            let item = self.items.swap_remove(chosen);
            self.items.clear();
            self.barren = 0.0;
            self.frames.iter_mut().for_each(|frame| frame.first = 0);
            if self.take_up(graph, item) {
                return Some(true);
            }
            if self.items.is_empty() {
                return Some(false);
            }
            is_run = false;
        }
    }

    fn take_up(&mut self, graph: &mut Graph, item: Item) -> bool {
        let Item { stamp, share, event, thread, way, .. } = item;
        self.cut_back(graph, stamp);
        self.share = share;
        match way {
            Way::Choice => {
                let choice = graph.push(thread, event);
                self.book(symmetry::keeps(graph, &[choice]))
            }
            Way::Read(from) => {
                let read = self.place_read(graph, thread, event, from);
                self.admits(graph, &[read]) && self.finish(graph, read)
            }
            Way::Write(place) => {
                let write = insert(graph, thread, event, place);
                self.admits(graph, &[write])
            }
            Way::Revisit(read, op) => {
                self.enter(graph, thread, event, (read, Event { op, ..*graph.get(read) }));
                false
            }
            Way::Revisited(place) => {
                let frame = self.frames.last().expect("the frame of the revisit");
                let (read, old) = frame.read.expect("a revisit has a read");
                let reader = usize::from(read.thread);
                let write = insert(graph, thread, event, place);
                if graph.floor(old.location, reader) > place + 1 {
                    self.barren += self.share;
                    return false;
                }
                let draft = Event {
                    value: event.value,
                    after_hint: old.after_hint,
                    ..Event::draft(old.op, old.location, old.site)
                };
                let read = self.place_read(graph, reader, draft, write);
                graph.get_mut(read).stamp = old.stamp;
                self.admits(graph, &[write, read]) && self.finish(graph, read)
            }
        }
    }

    /// Whether the memory model allows the graph with these events, the last ones of their threads, added, and
    /// symmetric threads are sorted in it.
    fn admits(&mut self, graph: &Graph, added: &[EventId]) -> bool {
        self.book(symmetry::keeps(graph, added) && self.memory.admits(graph, added))
    }

    /// Counts the current share as empty unless it has a graph.
    fn book(&mut self, has_one: bool) -> bool {
        self.barren += if has_one { 0.0 } else { self.share };
        has_one
    }

    /// Cuts the graph back to what came before `stamp`, which belongs to the last frame.
    fn cut_back(&self, graph: &mut Graph, stamp: u32) {
        graph.cut_back(stamp);
        let frame = self.frames.last().expect("the first frame stays");
        if let Some((read, _)) = frame.read
            && stamp == frame.base
            && graph.has(read)
        {
            graph.pop(usize::from(read.thread));
        }
    }

    /// Cuts off what the revisit of `read` by `event` cuts off, and records the places that the write may take.
    fn enter(
        &mut self,
        graph: &mut Graph,
        thread: usize,
        event: Event,
        (read, old): (EventId, Event),
    ) {
        let outer = self.frames.last().expect("the first frame stays");
        // What the outer frame will cut back anyway need not be restored.
        let kept_before = match self.items.last() {
            Some(next) if self.items.len() > outer.first => next.stamp,
            _ => outer.base,
        };
        let mut frame = Frame {
            base: graph.next_stamp,
            read: Some((read, old)),
            first: self.items.len(),
            ..Frame::default()
        };
        let prefix = graph.prefix_of_next(thread);
        for thread in 0..graph.threads.len() {
            let begin = frame.cut.len();
            while let Some(&last) = graph.threads[thread].last() {
                let id = graph.last(thread);
                if id != read && (last.stamp <= old.stamp || prefix.knows(id)) {
                    break;
                }
                if last.kind == Kind::Write
                    && !frame.orders.iter().any(|(at, _)| *at == last.location)
                {
                    let order = graph.locations[last.location as usize].order.clone();
                    frame.orders.push((last.location, order));
                }
                if last.stamp < kept_before {
                    frame.cut.push((thread, last, *graph.clocks(id)));
                }
                graph.pop(thread);
            }
            frame.cut[begin..].reverse();
        }
        self.frames.push(frame);
        let blocks = old.op.effect(event.value) == Some(Effect::Blocked);
        let newest = graph.locations[event.location as usize].order.len();
        let before = self.items.len();
        for place in self.places(graph, thread, &event) {
            if !blocks || place == newest {
                self.note(graph.next_stamp, thread, event, Way::Revisited(place));
            }
        }
        self.divide(before, false);
    }

    /// Restores what the last frame has cut off.
    fn leave(&mut self, graph: &mut Graph) {
        let base = self.frames.last().expect("more than one").base;
        self.cut_back(graph, base);
        let frame = self.frames.pop().expect("more than one");
        for (thread, event, clocks) in frame.cut {
            graph.put(thread, event, clocks);
        }
        for (location, mut order) in frame.orders {
            order.retain(|&write| graph.has(write));
            graph.locations[location as usize].order = order;
        }
    }

    fn note(&mut self, stamp: u32, thread: usize, event: Event, way: Way) {
        let level = self.path.len();
        self.items.push(Item { stamp, share: 0.0, event, thread, way, level, part: None });
    }

    /// Divides the current share evenly among the items from `first` on, and the graph itself if it `stays` one.
    fn divide(&mut self, first: usize, stays: bool) {
        let ways = self.items.len() - first + usize::from(stays);
        match ways {
            0 => self.barren += self.share,
            1 => {}
            _ => self.share /= ways as f64,
        }
        self.items[first..].iter_mut().for_each(|item| item.share = self.share);
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
        let only = only.or_else(|| symmetry::followed(graph, thread, draft.location));
        let chosen = only.map_or(newest, |write| graph.position(draft.location, write));
        if only.is_none() && !self.single {
            let before = self.items.len();
            for position in graph.floor(draft.location, thread)..newest {
                let from = graph.write_at(draft.location, position);
                // An end that waits on an old value although a new one exists is not an execution.
                let value = graph.value_of(draft.location, from);
                if draft.op.effect(value) != Some(Effect::Blocked) {
                    let event = Event { value, ..*draft };
                    self.note(graph.next_stamp, thread, event, Way::Read(from));
                }
            }
            self.divide(before, true);
        }
        let from = graph.write_at(draft.location, chosen);
        let value = graph.value_of(draft.location, from);
        let read = self.place_read(graph, thread, Event { value, ..*draft }, from);
        let is_whole = self.finish(graph, read);
        assert!(is_whole, "the newest write has no successor, and to write after it is consistent");
    }

    /// A request that writes. `draft` holds the value.
    pub(crate) fn write(&mut self, graph: &mut Graph, thread: usize, draft: Event, order: Order) {
        let event = self.as_write(draft, order, false);
        let is_whole = self.place_write(graph, thread, &event);
        assert!(
            is_whole,
            "to be the newest write is consistent, and so is the place of a schedule"
        );
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
        let before = self.items.len();
        for value in 1..if self.single { 1 } else { options } {
            let event = Event { value, kind: Kind::Choice, ..*draft };
            self.note(graph.next_stamp, thread, event, Way::Choice);
        }
        self.divide(before, true);
        graph.push(thread, Event { value: taken, kind: Kind::Choice, ..*draft });
    }

    /// Adds the read `event`, which finds its value in `from`.
    pub(super) fn place_read(
        &self,
        graph: &mut Graph,
        thread: usize,
        mut event: Event,
        from: EventId,
    ) -> EventId {
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
        graph.push(thread, event)
    }

    pub(super) fn as_write(&self, draft: Event, order: Order, exclusive: bool) -> Event {
        Event { kind: Kind::Write, order: self.memory.effective(order), exclusive, ..draft }
    }

    /// Adds the write half if `read` begins a read-modify-write. False: there is no place for it.
    pub(super) fn finish(&mut self, graph: &mut Graph, read: EventId) -> bool {
        let half = graph.get(read);
        let (Kind::Read, Some(Effect::Write { value, order })) =
            (half.kind, half.op.effect(half.value))
        else {
            return true;
        };
        let thread = usize::from(read.thread);
        let draft = Event { value, ..Event::draft(half.op, half.location, half.site) };
        let event = self.as_write(draft, order, half.exclusive);
        self.place_write(graph, thread, &event)
    }

    /// Adds `event` as the newest write possible, and pushes all other places and all revisits. False: there is no
    /// place.
    fn place_write(&mut self, graph: &mut Graph, thread: usize, event: &Event) -> bool {
        let before = self.items.len();
        if !self.single {
            self.revisit(graph, thread, event);
        }
        let newest = graph.locations[event.location as usize].order.len();
        let mut places = self.places(graph, thread, event);
        let last = match self.place.take() {
            Some(place) => places.iter().copied().find(|&other| other == place),
            None => places.pop(),
        };
        if !self.single {
            for place in places {
                self.note(graph.next_stamp, thread, *event, Way::Write(place));
            }
        }
        self.divide(before, last.is_some());
        let Some(last) = last else { return false };
        let write = insert(graph, thread, *event, last);
        last == newest || self.admits(graph, &[write])
    }

    /// The positions in its location's order after which the write may go.
    pub(super) fn places(&self, graph: &Graph, thread: usize, event: &Event) -> Vec<usize> {
        let newest = graph.locations[event.location as usize].order.len();
        if event.exclusive {
            let from = graph.position(event.location, graph.get(graph.last(thread)).from);
            let taken = graph.successor(event.location, from).is_some();
            return if taken { Vec::new() } else { vec![from] };
        }
        let free = |&place: &usize| graph.successor(event.location, place).is_none();
        (graph.floor(event.location, thread)..=newest).filter(free).collect()
    }

    /// Pushes a revisit for every earlier read that can read from the new write instead.
    fn revisit(&mut self, graph: &Graph, thread: usize, event: &Event) {
        let location = &graph.locations[event.location as usize];
        let prefix = &graph.prefix_of_next(thread);
        for read in location.accesses_beyond(prefix) {
            let old = graph.get(read);
            if matches!(old.kind, Kind::Read | Kind::Blocked)
                && !old.forced
                && leaves_most_open(graph, prefix, read)
            {
                self.note(graph.next_stamp, thread, *event, Way::Revisit(read, old.op));
            }
        }
    }
}

/// Puts a write after `place` in its location's order and at the end of its thread.
pub(super) fn insert(graph: &mut Graph, thread: usize, event: Event, place: usize) -> EventId {
    let location = event.location as usize;
    let id = graph.push(thread, event);
    graph.locations[location].order.insert(place, id);
    id
}
