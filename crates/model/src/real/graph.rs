//! An execution as a graph: events in program order, what each read reads from, and one order of writes per location.
//!
//! # State
//! G1: the events of a thread are numbered from 1 in program order; number 0 of thread 0 stands for every initial
//!     value.
//! G2: `stamp` grows along program order, and is the order in which events entered the graph.
//! G3: program order and reads-from together are acyclic; a prefix of them is itself a graph.
//! G4: `Location::order` lists the writes of a location from first to last, the initial value left out.
//! G5: the clocks of an event are a function of its prefix, so they stay valid when later events are cut off. They are
//!     stored in a separate array, one per event: a replay does not touch them.
//! G6: `Location::accesses` lists the reads and writes of a location by thread; `sc_events`, `forced`, `joined` and
//!     `ties` count and find events of their kinds. All are derived from the events, so that no step scans all of them.

use super::clock::{Clock, MAX_THREADS};
use super::op::{Op, Order};
use super::rwlock::Step;
use super::symmetry;
use std::panic::Location as Site;

/// An event: its thread and its number there (G1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct EventId {
    pub(crate) thread: u8,
    pub(crate) index: u16,
}

impl EventId {
    pub(crate) const INITIAL: EventId = EventId { thread: 0, index: 0 };

    #[inline]
    pub(crate) fn new(thread: usize, index: usize) -> EventId {
        EventId {
            thread: thread as u8,
            index: u16::try_from(index).expect("the limit on events is far below 2^16"),
        }
    }

    pub(crate) fn is_initial(self) -> bool {
        self.index == 0
    }
}

/// What an event does in the graph. A read-modify-write is two events: an exclusive read, then an exclusive write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    /// A wait that read a write it does not wait for.
    Blocked,
    Write,
    Fence,
    Thread,
    Choice,
}

/// No location: fences, threads, choices.
pub(crate) const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) op: Op,
    /// Read or written; the option taken by a choice.
    pub(crate) value: u64,
    pub(crate) location: u32,
    /// For a read: the write it reads from. For a begin or a join: the spawn or the end that enabled it.
    pub(crate) from: EventId,
    pub(crate) kind: Kind,
    pub(crate) order: Order,
    pub(crate) site: &'static Site<'static>,
    pub(crate) stamp: u32,
    /// Half of a read-modify-write.
    pub(crate) exclusive: bool,
    /// A repeated read of a waiting loop: it has no alternatives.
    pub(crate) forced: bool,
    /// Its thread had given a hint just before.
    pub(crate) after_hint: bool,
}

/// What an event knows of other events (G5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// What happens before this event and the event itself.
    pub(crate) hb: Clock,
    /// Program order and reads-from before this event and the event itself.
    pub(crate) prefix: Clock,
    /// What an acquire fence after this event would add.
    pending: Clock,
    /// What happens before the last release fence.
    fenced: Clock,
    /// Of a write: what an acquire read of it learns.
    pub(crate) message: Clock,
}

impl Clocks {
    const NONE: Clocks = Clocks {
        hb: Clock::NONE,
        prefix: Clock::NONE,
        pending: Clock::NONE,
        fenced: Clock::NONE,
        message: Clock::NONE,
    };
}

impl Event {
    /// An event that is not yet in a graph.
    pub(crate) fn draft(op: Op, location: u32, site: &'static Site<'static>) -> Event {
        Event {
            stamp: 0,
            kind: Kind::Thread,
            op,
            order: Order::RELAXED,
            location,
            value: 0,
            from: EventId::INITIAL,
            exclusive: false,
            forced: false,
            after_hint: false,
            site,
        }
    }

    /// Whether it reads or writes a location, waits included.
    fn is_access(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Blocked | Kind::Write)
    }

    /// Whether it takes part in the order of SeqCst, or in that of asymmetric fences.
    fn is_sc(&self) -> bool {
        match self.op {
            Op::Heavy | Op::Light => true,
            Op::Fence { order } => order.sc,
            _ => matches!(self.kind, Kind::Read | Kind::Write) && self.order.sc,
        }
    }

    /// Whether it is the write half of a read-modify-write.
    pub(crate) fn is_half(&self) -> bool {
        self.kind == Kind::Write && (self.exclusive || matches!(self.op, Op::Unlocked { .. }))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// Creating thread and its count of creations: the same in every run that has the same prefix.
    pub(crate) name: (u8, u32),
    /// Where in the code, if in an explored thread.
    pub(crate) made: Option<&'static Site<'static>>,
    /// Its name in traces (`named`).
    pub(crate) label: Option<&'static str>,
    pub(crate) initial: u64,
    pub(crate) order: Vec<EventId>,
    /// By thread, the numbers of its events here (G6).
    accesses: Vec<Vec<u16>>,
}

impl Location {
    pub(crate) fn new(name: (u8, u32), initial: u64) -> Location {
        let (order, accesses) = Default::default();
        Location { name, made: None, label: None, initial, order, accesses }
    }

    /// Reads and writes of all threads; a thread's own in program order.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = EventId> {
        self.accesses.iter().enumerate().flat_map(|(thread, indices)| {
            indices.iter().map(move |&index| EventId { thread: thread as u8, index })
        })
    }

    /// Those that `known` does not know.
    pub(crate) fn accesses_beyond(&self, known: &Clock) -> impl Iterator<Item = EventId> {
        self.accesses.iter().enumerate().flat_map(|(thread, indices)| {
            indices[count_known(indices, thread, known)..]
                .iter()
                .map(move |&index| EventId { thread: thread as u8, index })
        })
    }
}

/// How many of a thread's events, in growing order, `known` knows.
fn count_known(indices: &[u16], thread: usize, known: &Clock) -> usize {
    let known = known.get(thread);
    match indices.last() {
        Some(&last) if usize::from(last) > known => {
            indices.partition_point(|&index| usize::from(index) <= known)
        }
        _ => indices.len(),
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) threads: Vec<Vec<Event>>,
    /// Of each event (G5).
    clocks: Vec<Vec<Clocks>>,
    pub(crate) locations: Vec<Location>,
    pub(crate) next_stamp: u32,
    /// The number of events in the order of SeqCst (G6).
    pub(crate) sc_events: usize,
    /// How many reads are forced (G6).
    pub(crate) forced: usize,
    /// By thread, the thread that joined it (G6).
    pub(crate) joined: [Option<EventId>; MAX_THREADS],
    /// Of symmetric threads (G6).
    pub(crate) ties: symmetry::Ties,
}

impl Graph {
    pub(crate) fn get(&self, id: EventId) -> &Event {
        &self.threads[usize::from(id.thread)][usize::from(id.index) - 1]
    }

    pub(crate) fn get_mut(&mut self, id: EventId) -> &mut Event {
        &mut self.threads[usize::from(id.thread)][usize::from(id.index) - 1]
    }

    pub(crate) fn clocks(&self, id: EventId) -> &Clocks {
        &self.clocks[usize::from(id.thread)][usize::from(id.index) - 1]
    }

    /// What `thread` knows at its end.
    pub(crate) fn known(&self, thread: usize) -> &Clocks {
        self.clocks[thread].last().unwrap_or(&Clocks::NONE)
    }

    /// Whether there is such an event.
    pub(crate) fn has(&self, id: EventId) -> bool {
        self.threads
            .get(usize::from(id.thread))
            .is_some_and(|events| events.len() >= usize::from(id.index))
    }

    pub(crate) fn last(&self, thread: usize) -> EventId {
        EventId::new(thread, self.threads[thread].len())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (EventId, &Event)> {
        self.threads.iter().enumerate().flat_map(|(thread, events)| {
            events
                .iter()
                .enumerate()
                .map(move |(index, event)| (EventId::new(thread, index + 1), event))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// The value a read of `write` finds at `location`.
    pub(crate) fn value_of(&self, location: u32, write: EventId) -> u64 {
        if write.is_initial() {
            self.locations[location as usize].initial
        } else {
            self.get(write).value
        }
    }

    /// What an acquire read of `write` learns.
    pub(crate) fn message_of(&self, write: EventId) -> Clock {
        if write.is_initial() { Clock::default() } else { self.clocks(write).message }
    }

    /// What the last writer of a reader-writer lock has left, of those up to `change`: the steps of readers in between
    /// order nothing for other readers.
    fn written(&self, mut change: EventId) -> Clock {
        while !change.is_initial() && self.get(change).op != Op::RwLock(Step::EndWrite) {
            let Some(half) = self.read_half(change) else { break };
            change = self.get(half).from;
        }
        self.message_of(change)
    }

    /// What an asymmetric fence at the end of `thread` learns from fences of its counterpart `kind`: those before
    /// writes that the thread has read, or before writes that lead to one of them by read-modify-writes.
    fn announced(&self, thread: usize, kind: Op) -> Clock {
        let mut known = Clock::default();
        for read in self.threads[thread].iter().filter(|event| event.kind == Kind::Read) {
            let mut write = read.from;
            while !write.is_initial() {
                let fence = (1..write.index)
                    .rev()
                    .map(|index| EventId { index, ..write })
                    .find(|&id| self.get(id).op == kind);
                fence.into_iter().for_each(|fence| known.join(&self.clocks(fence).hb));
                let Some(half) = self.read_half(write) else { break };
                write = self.get(half).from;
            }
        }
        known
    }

    /// 0 for the initial value, then 1, 2, … along the order of writes.
    pub(crate) fn position(&self, location: u32, write: EventId) -> usize {
        if write.is_initial() {
            return 0;
        }
        let order = &self.locations[location as usize].order;
        1 + order
            .iter()
            .rposition(|&w| w == write)
            .expect("G4: every write is in its location's order")
    }

    pub(crate) fn write_at(&self, location: u32, position: usize) -> EventId {
        if position == 0 {
            EventId::INITIAL
        } else {
            self.locations[location as usize].order[position - 1]
        }
    }

    pub(crate) fn newest(&self, location: u32) -> EventId {
        self.locations[location as usize].order.last().copied().unwrap_or(EventId::INITIAL)
    }

    /// The read-modify-write that reads from the write at `position`, if there is one: its write comes next.
    pub(crate) fn successor(&self, location: u32, position: usize) -> Option<EventId> {
        let next = *self.locations[location as usize].order.get(position)?;
        let read = self.read_half(next)?;
        (self.get(read).from == self.write_at(location, position)).then_some(next)
    }

    /// The read of the read-modify-write whose write this is.
    pub(crate) fn read_half(&self, write: EventId) -> Option<EventId> {
        self.get(write).exclusive.then(|| EventId { index: write.index - 1, ..write })
    }

    /// The first position in a location's order that `thread` may still read, or may place a write after.
    pub(crate) fn floor(&self, location: u32, thread: usize) -> usize {
        let Location { order, accesses, .. } = &self.locations[location as usize];
        let known = &self.known(thread).hb;
        // A thread's later accesses have the later writes, so its last known one decides.
        let mut seen = [EventId::INITIAL; MAX_THREADS];
        for (thread, indices) in accesses.iter().enumerate() {
            // A wait that continues has not seen anything.
            let last = indices[..count_known(indices, thread, known)]
                .iter()
                .rev()
                .map(|&index| EventId { thread: thread as u8, index });
            let mut found = last.filter(|&id| self.get(id).kind != Kind::Blocked);
            if let Some(id) = found.next() {
                let event = self.get(id);
                seen[thread] = if event.kind == Kind::Write { id } else { event.from };
            }
        }
        let seen = &seen[..accesses.len()];
        order.iter().rposition(|write| seen.contains(write)).map_or(0, |at| at + 1)
    }

    /// Adds a thread without events.
    pub(crate) fn add_thread(&mut self) {
        self.threads.push(Vec::new());
        self.clocks.push(Vec::new());
    }

    /// What comes before the next event of `thread` by program order and `symmetry`.
    pub(crate) fn prefix_of_next(&self, thread: usize) -> Clock {
        let mut prefix = self.known(thread).prefix;
        if let Some(twin) = symmetry::ahead(self, thread) {
            prefix.join(&self.clocks(twin).prefix);
        }
        prefix
    }

    /// What `event` knows at the end of `thread`.
    fn learnt(&self, thread: usize, event: &Event) -> Clocks {
        let index = self.threads[thread].len() + 1;
        let prefix = self.prefix_of_next(thread);
        let mut clocks = Clocks { message: Clock::default(), prefix, ..*self.known(thread) };
        clocks.hb.set(thread, index);
        clocks.prefix.set(thread, index);
        match event.kind {
            Kind::Read => {
                let message = match event.op {
                    Op::RwLock(step) if !step.takes_all(event.value) => self.written(event.from),
                    _ => self.message_of(event.from),
                };
                clocks.pending.join(&message);
                if event.order.acquire {
                    clocks.hb.join(&message);
                }
                if !event.from.is_initial() {
                    clocks.prefix.join(&self.clocks(event.from).prefix);
                }
            }
            Kind::Write => {
                clocks.message = if event.order.release { clocks.hb } else { clocks.fenced };
                if event.exclusive {
                    // A read-modify-write continues the release sequence of what it reads.
                    let read = self.get(self.last(thread));
                    clocks.message.join(&self.message_of(read.from));
                }
            }
            Kind::Fence => {
                match event.op {
                    Op::Heavy => clocks.hb.join(&self.announced(thread, Op::Light)),
                    Op::Light => clocks.hb.join(&self.announced(thread, Op::Heavy)),
                    _ => {}
                }
                if event.order.acquire {
                    clocks.hb.join(&clocks.pending);
                }
                if event.order.release {
                    clocks.fenced = clocks.hb;
                }
            }
            Kind::Thread if !event.from.is_initial() => {
                let Clocks { hb, prefix, .. } = self.clocks(event.from);
                clocks.hb.join(hb);
                clocks.prefix.join(prefix);
            }
            Kind::Thread | Kind::Blocked | Kind::Choice => {}
        }
        clocks
    }

    pub(crate) fn push(&mut self, thread: usize, mut event: Event) -> EventId {
        event.stamp = self.next_stamp;
        self.next_stamp += 1;
        let clocks = self.learnt(thread, &event);
        self.put(thread, event, clocks)
    }

    /// Adds an event that keeps its stamp and its clocks.
    pub(crate) fn put(&mut self, thread: usize, event: Event, clocks: Clocks) -> EventId {
        let id = EventId::new(thread, self.threads[thread].len() + 1);
        if event.is_access() {
            let accesses = &mut self.locations[event.location as usize].accesses;
            if accesses.len() <= thread {
                accesses.resize_with(thread + 1, Vec::new);
            }
            accesses[thread].push(id.index);
        }
        self.sc_events += usize::from(event.is_sc());
        self.forced += usize::from(event.forced);
        if let Op::Join { child } = event.op {
            self.joined[usize::from(child)] = Some(id);
        }
        self.threads[thread].push(event);
        self.clocks[thread].push(clocks);
        self.tie(thread);
        id
    }

    /// Removes the last event of `thread`, also from its location's order.
    pub(crate) fn pop(&mut self, thread: usize) -> Option<Event> {
        let event = self.threads[thread].pop()?;
        self.clocks[thread].pop();
        let id = EventId::new(thread, self.threads[thread].len() + 1);
        if event.is_access() {
            let location = &mut self.locations[event.location as usize];
            location.accesses[thread].pop();
            let at = location.order.iter().rposition(|&write| write == id);
            if let (Kind::Write, Some(at)) = (event.kind, at) {
                location.order.remove(at);
            }
        }
        self.sc_events -= usize::from(event.is_sc());
        self.forced -= usize::from(event.forced);
        if let Op::Join { child } = event.op {
            self.joined[usize::from(child)] = None;
        }
        self.untie(thread, &event);
        Some(event)
    }

    /// Removes everything that `prefix`, of program order and reads-from, does not know.
    pub(crate) fn keep(&mut self, prefix: &Clock) {
        for thread in 0..self.threads.len() {
            while self.threads[thread].len() > prefix.get(thread) {
                self.pop(thread);
            }
        }
    }

    /// Removes everything with this stamp or a later one.
    pub(crate) fn cut_back(&mut self, stamp: u32) {
        for thread in 0..self.threads.len() {
            while self.threads[thread].last().is_some_and(|event| event.stamp >= stamp) {
                self.pop(thread);
            }
        }
        self.next_stamp = stamp;
    }

    /// The first thread number without a spawn in this graph.
    pub(crate) fn free_thread(&self) -> Option<usize> {
        (1..MAX_THREADS).find(|&thread| self.threads.get(thread).is_none_or(Vec::is_empty))
    }
}
