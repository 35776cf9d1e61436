//! One run of the explored code along a graph: replays what the graph holds, then extends it.
//!
//! # Contract
//! [`Core::step`] answers a thread's request, or reports that the thread must wait. While the graph is replayed, a
//! request must be the one that the graph holds at that place: any other request means that the code depends on
//! something the checker does not see, and ends the exploration with an error. After the replay, the lowest runnable
//! thread moves.
//! # State
//! C1: `ThreadRun::executed` events of each thread have been answered in this run; a read is answered only after the
//!     write it reads from, so plain memory changes in an order that program order and reads-from allow.
//! C2: values that are addresses are taken from this run, except those of watched memory, which have names (`heap`):
//!     an allocator may return other addresses.

use super::clock::Clock;
use super::condition::Condition;
use super::ending::{Access, Clash};
use super::graph::{Event, EventId, Graph, Kind, Location, NOWHERE};
use super::growth::Growth;
use super::guide::Guide;
use super::heap::Heap;
use super::op::{EMPTY_QUEUE, Effect, Op, Order};
use super::probing::{Patience, Probe};
use super::rounds::{Rounds, Seen, What};
use super::sampler::Sampler;
use super::schedule::{Find, Step};
use super::symmetry;
use super::verdict::{Bound, Failure, hidden};
use super::waiting::Waiting;
use std::collections::{HashMap, VecDeque};
use std::panic::Location as Site;

/// Marks the name of a location's queue.
pub(crate) const QUEUE: u8 = 0x80;
/// Marks the name of a thread's token.
const TOKEN: u8 = 0x40;

/// A request with its location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) op: Op,
    pub(crate) location: u32,
    /// Its values are addresses (C2).
    pub(crate) address: bool,
    pub(crate) site: &'static Site<'static>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    #[default]
    Ready,
    Joining(u8, &'static Site<'static>),
    /// In a wait that continues according to the graph.
    Blocked,
    /// In a loop that has made as many unsuccessful rounds as the bound allows.
    Spinning,
    /// In a `wait_until` whose condition does not hold.
    Awaiting,
    /// On a path that no system takes (see `futex`).
    Impossible,
    Finished,
}

/// A thread in this run.
#[derive(Debug, Default)]
pub(crate) struct ThreadRun {
    pub(crate) executed: usize,
    pub(crate) state: State,
    created: u32,
    /// Its waiting loops.
    pub(crate) rounds: Rounds,
    /// How often it has written, or started or joined a thread.
    pub(crate) effects: u64,
    /// The condition of a `wait_until` that it is evaluating.
    pub(crate) condition: Option<Condition>,
    /// How many of its timed waits have timed out.
    pub(crate) timeouts: u32,
    /// The number of its spurious failures and wakeups.
    pub(crate) spurious: u32,
    /// It has given a hint and done nothing since.
    pub(crate) hinted: bool,
    /// It is one of several threads that run the same code on the same values.
    pub(crate) symmetric: bool,
    /// Where its `park` waits.
    pub(crate) token: Option<u32>,
}

/// Why a run ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    Failure(Failure),
    Bound(Bound),
    Diverged(String),
    /// A schedule requests an impossible step.
    Misfit(String),
}

#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) events: usize,
    /// Unsuccessful rounds of a waiting loop that are explored in full.
    pub(crate) rounds: u32,
    /// Rounds alone after which a loop is taken to wait forever.
    pub(crate) spins: u32,
    /// Time-outs per thread.
    pub(crate) timeouts: u32,
    /// Spurious failures and wakeups per thread.
    pub(crate) spurious: u32,
    /// Memory that the run may take, in bytes.
    pub(crate) memory_bytes: usize,
    /// Bytes of a thread's stack.
    pub(crate) stack_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) growth: Growth,
    pub(crate) graph: Graph,
    pub(crate) limits: Limits,
    #[expect(clippy::vec_box, reason = "they are taken out and put back in every run")]
    pub(crate) threads: Vec<Box<ThreadRun>>,
    /// Creating thread and its number of events at that point, per location of this run.
    pub(super) born: Vec<Option<(u8, usize)>>,
    /// The likely index of the next location.
    next_location: usize,
    /// Clocks of earlier runs, kept to reuse their memory.
    #[expect(clippy::vec_box, reason = "as `threads`")]
    spare: Vec<Box<ThreadRun>>,
    /// Bytes that the run has taken.
    pub(crate) heap: Heap,
    /// Events in the order in which this run executed them.
    pub(crate) log: Vec<EventId>,
    pub(crate) replaying: bool,
    pub(crate) stop: Option<Stop>,
    /// The remaining steps of a schedule; empty if the run is not scripted.
    pub(crate) script: VecDeque<Step>,
    /// The guide of the run, if it has one.
    pub(crate) guide: Option<Guide>,
    /// The one thread that moves beyond the graph; `None`: all do.
    pub(crate) alone: Option<usize>,
    /// Its loop, and what is known of the loops probed before.
    pub(crate) probe: Option<Probe>,
    pub(crate) probed: HashMap<Waiting, Patience>,
    /// What a failure about two plain accesses refers to.
    pub(crate) clash: Option<Clash>,
    /// Objects that were borrowed exclusively, by location: the last time (see `exclusive`).
    pub(crate) owned: HashMap<u32, Access>,
    /// Draws the run at random.
    pub(crate) sampler: Option<Box<Sampler>>,
    /// A timed wait of this run could not time out, because the thread had used up its time-outs.
    pub(crate) out_of_time: bool,
    /// Something in this run could have failed or woken spuriously, but that was not requested.
    pub(crate) unspurious: bool,
    /// Identifies the run in objects that outlive it.
    pub(crate) epoch: u32,
}

impl Core {
    pub(crate) fn new(growth: Growth, limits: Limits) -> Core {
        let graph = Graph::default();
        let (threads, born, spare, heap, log) = Default::default();
        Core {
            growth,
            graph,
            limits,
            threads,
            born,
            next_location: 0,
            spare,
            heap,
            log,
            replaying: false,
            stop: None,
            script: VecDeque::new(),
            guide: None,
            alone: None,
            probe: None,
            probed: HashMap::new(),
            clash: None,
            owned: HashMap::new(),
            sampler: None,
            out_of_time: false,
            unspurious: false,
            epoch: 0,
        }
    }

    /// Prepares to run along `graph`.
    pub(crate) fn begin(&mut self, graph: Graph, epoch: u32) {
        self.graph = graph;
        if self.graph.threads.is_empty() {
            self.graph.add_thread();
        }
        self.spare.append(&mut self.threads);
        self.add_thread();
        self.born.clear();
        self.heap.clear();
        self.log.clear();
        self.replaying = true;
        (self.stop, self.clash) = (None, None);
        self.owned.clear();
        (self.out_of_time, self.unspurious) = (false, false);
        (self.next_location, self.epoch) = (0, epoch);
    }

    fn add_thread(&mut self) {
        let mut run = self.spare.pop().unwrap_or_default();
        run.clear();
        self.threads.push(run);
    }

    /// A new location, named by its creator and its count, so that its name is the same in every run.
    pub(crate) fn create(
        &mut self,
        thread: usize,
        initial: u64,
        site: &'static Site<'static>,
    ) -> u32 {
        let run = &mut self.threads[thread];
        let name = (thread as u8, run.created);
        run.created += 1;
        let born = Some((thread as u8, run.executed));
        let location = self.locate(name, initial, born);
        self.graph.locations[location as usize].made = Some(site);
        location
    }

    /// A location created before the exploration began; `number` stays with the object.
    pub(crate) fn adopt(&mut self, number: u32, initial: u64) -> u32 {
        self.locate((u8::MAX, number), initial, None)
    }

    /// The queue of threads that wait on a location; it exists as long as the location does.
    pub(crate) fn queue_of(&mut self, location: u32) -> u32 {
        let (creator, count) = self.graph.locations[location as usize].name;
        let born = self.born[location as usize];
        self.locate((creator ^ QUEUE, count), EMPTY_QUEUE, born)
    }

    /// Where a thread waits to be woken.
    pub(crate) fn token_of(&mut self, thread: usize) -> u32 {
        self.locate((TOKEN | thread as u8, 0), 0, None)
    }

    fn locate(&mut self, name: (u8, u32), initial: u64, born: Option<(u8, usize)>) -> u32 {
        let locations = &self.graph.locations;
        // Most locations are created in the same order as the first time.
        let next = Some(self.next_location)
            .filter(|&at| locations.get(at).is_some_and(|it| it.name == name));
        let found = next.or_else(|| locations.iter().position(|location| location.name == name));
        let at = found.unwrap_or_else(|| {
            self.graph.locations.push(Location::new(name, initial));
            self.graph.locations.len() - 1
        });
        self.next_location = at + 1;
        self.graph.locations[at].initial = initial;
        if self.born.len() <= at {
            self.born.resize(at + 1, None);
        }
        self.born[at] = born;
        at as u32
    }

    /// What `thread` knows to have happened.
    pub(crate) fn known(&self, thread: usize) -> Clock {
        match self.threads[thread].executed {
            0 => Clock::default(),
            executed => self.graph.clocks(EventId::new(thread, executed)).hb,
        }
    }

    /// Answers a request, or leaves the thread waiting.
    pub(crate) fn step(&mut self, thread: usize, request: &Request) -> Option<u64> {
        if self.stop.is_some() || !self.is_born(thread, request.location, request.site) {
            return None;
        }
        if let Some(answer) = self.rehearse(thread, request) {
            return answer;
        }
        let answer = self.advance(thread, request);
        if let (Some(answer), Some(condition)) = (answer, &mut self.threads[thread].condition) {
            condition.asked.push((*request, answer));
        }
        answer
    }

    fn advance(&mut self, thread: usize, request: &Request) -> Option<u64> {
        if self.threads[thread].executed < self.graph.threads[thread].len() {
            return self.replay(thread, request);
        }
        if self.replaying {
            return None;
        }
        if !self.is_symmetric(thread, request) {
            return None;
        }
        if request.op.is_wait() && self.refuses_wait(request.site) {
            return None;
        }
        if self.graph.len() >= self.limits.events {
            self.stop = Some(Stop::Bound(Bound::Events(self.limits.events)));
            return None;
        }
        self.extend(thread, request)
    }

    /// Whether preemptions are bounded: then code that waits is not supported (see `turns`), and the run is over.
    pub(crate) fn refuses_wait(&mut self, site: &'static Site<'static>) -> bool {
        let refuses = self.growth.turns.is_some_and(|bound| bound.preemptions().is_some());
        if refuses {
            self.stop = Some(Stop::Bound(Bound::Waits(site)));
        }
        refuses
    }

    /// Whether the location's creation, or the last time it was borrowed exclusively, happens before this use.
    pub(super) fn is_born(&mut self, thread: usize, at: u32, site: &'static Site<'static>) -> bool {
        let born = if at == NOWHERE { None } else { self.born[at as usize] };
        let Some((creator, events)) = born else { return true };
        if usize::from(creator) == thread || self.known(thread).get(usize::from(creator)) > events {
            return true;
        }
        self.stop = Some(Stop::Failure(self.unborn(thread, at, site)));
        false
    }

    /// Answers a condition that is evaluated again, from its earlier answers. `Some(None)`: it makes another request,
    /// and the run is over.
    fn rehearse(&mut self, thread: usize, request: &Request) -> Option<Option<u64>> {
        let answer = self.threads[thread].condition.as_mut()?.rehearse(request)?;
        if answer.is_none() {
            let why = "makes other requests when it is evaluated again";
            let failure = Failure::Condition { thread, site: request.site, why };
            self.stop = Some(Stop::Failure(failure));
        }
        Some(answer)
    }

    /// Adds an event and returns its answer.
    fn extend(&mut self, thread: usize, request: &Request) -> Option<u64> {
        let id = EventId::new(thread, self.graph.threads[thread].len() + 1);
        let mut draft = Event::draft(request.op, request.location, request.site);
        draft.after_hint = self.threads[thread].hinted;
        let scripted = self.scripted(thread, request)?;
        if !self.is_granted(thread, request) {
            return None;
        }
        let found = scripted.or_else(|| self.draw(thread, request, &draft));
        match request.op {
            Op::Store { value, order } => {
                draft.value = value;
                if let Some(Find::Place(place)) = found {
                    self.growth.place = Some(place);
                }
                self.growth.write(&mut self.graph, thread, draft, order);
            }
            Op::Fence { order } => {
                let order = self.growth.memory.effective(order);
                self.fence(thread, draft, order);
            }
            Op::Heavy => self.fence(thread, draft, Order { sc: true, ..Order::ACQ_REL }),
            Op::Light => self.fence(thread, draft, Order::RELAXED),
            Op::Choice { options } => {
                let taken = if let Some(Find::Choice(taken)) = found { taken } else { 0 };
                self.growth.choose(&mut self.graph, thread, &draft, options, taken);
            }
            Op::Join { child } => {
                let end = self.graph.last(usize::from(child));
                if self.threads[usize::from(child)].state != State::Finished {
                    self.threads[thread].state = State::Joining(child, draft.site);
                    return None;
                }
                self.threads[thread].state = State::Ready;
                draft.from = end;
                self.graph.push(thread, draft);
            }
            Op::Spawn { .. } | Op::Begin | Op::End => {
                self.graph.push(thread, draft);
            }
            Op::Load { .. }
            | Op::Rmw { .. }
            | Op::Cas { .. }
            | Op::Unlocked { .. }
            | Op::AwaitCas { .. }
            | Op::RwLock(_) => {
                if !self.extend_read(thread, request, draft, found) {
                    self.threads[thread].state = State::Blocked;
                    return None;
                }
            }
        }
        let is_old = scripted.is_some() && !self.finds_newest(id);
        debug_assert!(scripted.is_none() || is_old || self.growth.memory.consistent(&self.graph));
        if is_old && !self.growth.memory.consistent(&self.graph) {
            self.stop = Some(Stop::Misfit(format!(
                "the memory model forbids what the step at {} finds",
                request.site
            )));
            return None;
        }
        Some(self.answered(thread, id))
    }

    /// Whether an event that was just added is the newest in its location, or reads the newest: it breaks no order.
    fn finds_newest(&self, id: EventId) -> bool {
        let event = self.graph.get(id);
        match event.kind {
            Kind::Write => self.graph.newest(event.location) == id,
            Kind::Read if event.exclusive => {
                self.graph.newest(event.location) == EventId { index: id.index + 1, ..id }
            }
            Kind::Read if matches!(event.op, Op::Unlocked { .. }) => false,
            Kind::Read => self.graph.newest(event.location) == event.from,
            Kind::Blocked | Kind::Fence | Kind::Thread | Kind::Choice => true,
        }
    }

    /// Adds a read. False: it waits.
    fn extend_read(
        &mut self,
        thread: usize,
        request: &Request,
        mut draft: Event,
        found: Option<Find>,
    ) -> bool {
        let forced = match self.sampler {
            Some(_) => None,
            None => self.forced(thread, request, &draft),
        };
        let only = match found {
            Some(Find::From(from, _)) => Some(from),
            _ => forced,
        };
        draft.forced = found.is_none() && forced.is_some();
        let at = self.graph.threads[thread].len();
        self.growth.read(&mut self.graph, thread, &draft, only);
        self.graph.threads[thread][at].kind != Kind::Blocked
    }

    fn fence(&mut self, thread: usize, draft: Event, order: Order) {
        self.graph.push(thread, Event { kind: Kind::Fence, order, ..draft });
    }

    /// Records the event `id` as executed, with its write half if it has one, and returns the value for the code.
    pub(super) fn answered(&mut self, thread: usize, id: EventId) -> u64 {
        let event = self.graph.get(id);
        let (kind, value, location, from, site) =
            (event.kind, event.value, event.location, event.from, event.site);
        let written = match event.op.effect(event.value) {
            Some(Effect::Write { value, .. }) if kind == Kind::Read => Some(value),
            _ => None,
        };
        let is_wait = event.op.is_wait();
        let run = &mut self.threads[thread];
        run.executed += 1;
        run.hinted = false;
        self.log.push(id);
        if written.is_some() {
            run.executed += 1;
            self.log.push(EventId { index: id.index + 1, ..id });
        }
        let what = match kind {
            Kind::Read if written.is_none() => Some(What::Read(from)),
            Kind::Read if written == Some(value) && !is_wait => {
                let half = EventId { index: id.index + 1, ..id };
                Some(What::Rewritten(value, half))
            }
            Kind::Choice => Some(What::Chosen(value)),
            Kind::Fence => Some(What::Fenced),
            _ => None,
        };
        if !matches!(kind, Kind::Fence | Kind::Choice | Kind::Blocked)
            && !matches!(what, Some(What::Read(_)))
        {
            run.effects += 1;
        }
        match what {
            Some(what) => run.rounds.saw(Seen { site, location, what }),
            None if matches!(kind, Kind::Read | Kind::Write | Kind::Thread) => run.rounds.changed(),
            None => {}
        }
        value
    }

    /// Adds a thread whose `park` waits at `token`: its spawn in `parent`, and its begin. `None`: not now, or no room.
    /// If `left` is given, the new thread is its right neighbour (see `symmetry`).
    pub(crate) fn spawn(
        &mut self,
        parent: usize,
        token: u32,
        left: Option<usize>,
        site: &'static Site<'static>,
    ) -> Option<usize> {
        let executed = self.threads[parent].executed;
        let replayed = self.graph.threads[parent].get(executed).map(|event| event.op);
        let child = match replayed {
            Some(Op::Spawn { child }) => usize::from(child),
            _ => self.graph.free_thread().or_else(|| {
                self.stop.get_or_insert(Stop::Bound(Bound::Threads(super::MAX_THREADS)));
                None
            })?,
        };
        let op = Op::Spawn { child: child as u8 };
        self.step(parent, &Request { op, location: NOWHERE, address: false, site })?;
        while self.graph.threads.len() <= child {
            self.graph.add_thread();
        }
        while self.threads.len() <= child {
            self.add_thread();
            self.threads.last_mut().expect("just pushed").state = State::Finished;
        }
        if replayed.is_none() {
            let spawn = self.graph.last(parent);
            let value = symmetry::noted(left.filter(|&left| self.sorts() && left < child));
            let begin = Event { from: spawn, value, ..Event::draft(Op::Begin, NOWHERE, site) };
            self.graph.push(child, begin);
        }
        let run = &mut self.threads[child];
        (run.executed, run.state, run.token) = (1, State::Ready, Some(token));
        self.log.push(EventId::new(child, 1));
        Some(child)
    }

    /// Whether symmetric threads are explored in one order only: not in a run that is scripted, guided or random.
    fn sorts(&self) -> bool {
        self.growth.symmetry
            && self.script.is_empty()
            && self.guide.is_none()
            && self.sampler.is_none()
    }

    /// Ends the run if a thread differs from its tied left neighbour.
    fn is_symmetric(&mut self, thread: usize, request: &Request) -> bool {
        if self.alone.is_some() {
            return true; // A probe lets the others stay behind.
        }
        let Request { op, mut location, address, site } = *request;
        if self.threads[thread].token == Some(location) {
            // Each thread parks at its own token.
            let left = symmetry::left(&self.graph, thread);
            location = left.and_then(|left| self.threads[left].token).unwrap_or(location);
        }
        let Some(why) = symmetry::differs(&self.graph, thread, (op, location), address) else {
            return true;
        };
        let why = format!(
            "symmetric threads must do the same: thread {thread} {op} at {site}, {why}, though they have found \
             the same so far. {}",
            hidden("nothing explored distinguishes them")
        );
        self.stop = Some(Stop::Diverged(why));
        false
    }

    /// Threads that have not ended.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = usize> {
        (0..self.threads.len()).filter(|&thread| self.threads[thread].state != State::Finished)
    }

    /// Whether every event of the graph except waits has been executed.
    pub(crate) fn is_replayed(&self) -> bool {
        self.graph.threads.iter().enumerate().all(|(thread, events)| {
            let blocked = events.last().is_some_and(|event| event.kind == Kind::Blocked);
            let answered = self.threads.get(thread).map_or(0, |run| run.executed);
            answered + usize::from(blocked) >= events.len()
        })
    }

    /// Whether resuming `thread` makes progress.
    pub(crate) fn can_move(&self, thread: usize) -> bool {
        let run = &self.threads[thread];
        match run.state {
            State::Ready if self.replaying => {
                self.graph.threads[thread].get(run.executed).is_some_and(|event| {
                    !matches!(event.kind, Kind::Read | Kind::Thread) || self.is_executed(event.from)
                })
            }
            State::Ready => true,
            State::Joining(child, _) => self.threads[usize::from(child)].state == State::Finished,
            State::Blocked
            | State::Spinning
            | State::Awaiting
            | State::Impossible
            | State::Finished => false,
        }
    }
}

impl ThreadRun {
    /// Resets the state for another thread.
    fn clear(&mut self) {
        self.rounds.clear();
        (self.executed, self.state, self.token) = (0, State::Ready, None);
        (self.created, self.effects, self.condition) = (0, 0, None);
        (self.timeouts, self.spurious, self.hinted, self.symmetric) = (0, 0, false, false);
    }
}
