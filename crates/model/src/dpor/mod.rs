//! Source-DPOR: enumerates one execution of every class, with a pseudo-thread for each store buffer.
//!
//! # Contract
//! [`executions`] counts the complete executions of a program up to equivalence (every load reads the same write, every
//! location sees the same sequence of writes) by the end they reach. Explorations that turn out redundant halfway are
//! counted separately, as `blocked`. Loops are followed for a stated number of rounds; the result names the bound that
//! was hit.
//! # State
//! I1: no class is completed twice (sleep sets); every class is completed (source sets), unless `bound` is set.
//! I2: `frames[d]` is the state before event `d`; `path` holds the actors of the events so far.
//! I3: whether a lock, a wait or an interrupt could have come first may depend on several races together. In programs
//! that have any of them every step that is awake is explored and only sleep sets prune: more explorations are
//! abandoned halfway, but none is missed and none completed twice. In all other programs [`order::Order`] follows the
//! path, and the races in it determine what to explore.
//! # Evidence
//! tests/corpora.rs (counts of an independent checker, test by test), tests/classes.rs (closed formulas),
//! tests/waiting_classes.rs (the same with locks, futexes and interrupts, against every interleaving), tests/engines.rs
//! (ends agree with [`crate::search`] on random programs).
//! # Sources
//! Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction", POPL 2014 (source sets); the order
//! under TSO: see [`order`]. Sleep sets: Godefroid, "Partial-order methods for the verification of concurrent systems",
//! 1996.

mod order;

use crate::memory::Model;
use crate::outcome::{Bound, Limits, Outcome};
use crate::program::{Loc, Op, Program};
use crate::state::State;
use crate::step::{Actor, Happening, Stepper};
use order::{Before, EventId, Order};
use std::collections::BTreeMap;
use std::fmt;

/// A set of actors.
type Actors = u128;

/// The classes of executions of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executions {
    /// Complete executions by end.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Complete executions, one per class.
    pub complete: u64,
    /// Explorations abandoned because everything left had been explored elsewhere.
    pub blocked: u64,
    /// Executions stopped by the bound on loops.
    pub cut: u64,
    /// Steps taken in all explorations together.
    pub steps: u64,
    /// Why there may be more executions; `None` if these are all.
    pub bound: Option<Bound>,
}

/// Why a program's executions cannot be enumerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// More threads, buffers and interrupts than a set of actors can hold.
    TooManyActors(usize),
    /// The model bounds how long stores wait, which orders every step against every tick.
    Delta,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::TooManyActors(n) => {
                write!(out, "{n} threads, buffers and interrupts; at most 128 can be explored")
            }
            Unsupported::Delta => write!(out, "executions are not enumerated under a time bound"),
        }
    }
}

impl std::error::Error for Unsupported {}

/// Enumerates the executions of a program, one per class.
///
/// # Errors
/// [`Unsupported`] if the program has too many actors or the model bounds time.
pub fn executions<M: Model>(
    program: &Program,
    model: M,
    limits: Limits,
) -> Result<Executions, Unsupported> {
    if model.delta().is_some() {
        return Err(Unsupported::Delta);
    }
    let interrupts = interrupts(program);
    let buffers = if model.stores_are_private() { program.threads.len() } else { 0 };
    let actors = program.threads.len() + buffers + interrupts.len();
    if actors > Actors::BITS as usize {
        return Err(Unsupported::TooManyActors(actors));
    }
    let stepper = Stepper::new(program, model).with_loop_bound(limits.loops);
    let mut happened = Vec::new();
    let start = stepper.start(&mut happened);
    let order = Order::new(program.threads.len(), actors, program.locations.len(), &happened);
    let waits =
        |op: &Op| matches!(op, Op::Lock { .. } | Op::FutexWait { .. } | Op::FutexWake { .. });
    let waits = program.threads.iter().flat_map(|thread| &thread.code).any(waits);
    let mut explorer = Explorer {
        thorough: waits || !interrupts.is_empty(),
        stepper,
        order,
        names: Names { threads: program.threads.len(), buffers, interrupts },
        actors,
        path: Vec::new(),
        frames: vec![Frame::default()],
        taken: vec![0; actors],
        found: Executions::default(),
        happened,
        before: Vec::new(),
        enabled: Vec::new(),
        clock: Vec::new(),
    };
    explorer.frames[0].state = start;
    explorer.explore(limits);
    Ok(explorer.found)
}

/// The pairs of threads between which the program asks for interrupts.
fn interrupts(program: &Program) -> Vec<(u8, u8)> {
    let threads = program.threads.len() as u8;
    let mut pairs = Vec::new();
    for (by, thread) in program.threads.iter().enumerate() {
        for on in (0..threads).filter(|&on| usize::from(on) != by) {
            let asks = |op: &Op| {
                matches!(op, Op::Membarrier)
                    || matches!(op, Op::Interrupt { thread } if *thread == on)
            };
            if thread.code.iter().any(asks) {
                pairs.push((by as u8, on));
            }
        }
    }
    pairs
}

/// Numbers the actors: threads, then buffers, then interrupts.
#[derive(Debug)]
struct Names {
    threads: usize,
    buffers: usize,
    interrupts: Vec<(u8, u8)>,
}

impl Names {
    fn number(&self, actor: Actor) -> usize {
        match actor {
            Actor::Thread(thread) => usize::from(thread),
            Actor::Drain(thread) => self.threads + usize::from(thread),
            Actor::Interrupt { by, on } => {
                let at = self.interrupts.iter().position(|&pair| pair == (by, on)).unwrap_or(0);
                self.threads + self.buffers + at
            }
            Actor::Tick => unreachable!("no ticks without a time bound, which is refused"),
        }
    }

    fn actor(&self, number: usize) -> Actor {
        if number < self.threads {
            Actor::Thread(number as u8)
        } else if number < self.threads + self.buffers {
            Actor::Drain((number - self.threads) as u8)
        } else {
            let (by, on) = self.interrupts[number - self.threads - self.buffers];
            Actor::Interrupt { by, on }
        }
    }
}

/// A state on the current path, and the exploration status of its steps.
#[derive(Debug, Default)]
struct Frame {
    state: State,
    enabled: Actors,
    /// Steps whose continuations were explored elsewhere.
    sleep: Actors,
    /// Steps that have to be explored.
    backtrack: Actors,
    entered: bool,
}

struct Explorer<'p, M> {
    stepper: Stepper<'p, M>,
    order: Order,
    names: Names,
    actors: usize,
    /// Whether every step that is awake is explored (I3).
    thorough: bool,
    path: Vec<usize>,
    /// Reused: only the first `path.len() + 1` are in use (I2).
    frames: Vec<Frame>,
    /// `taken[d * actors + a]`: steps of actor `a` among the first `d` events.
    taken: Vec<u32>,
    found: Executions,
    happened: Vec<Happening>,
    before: Vec<Before>,
    enabled: Vec<Actor>,
    clock: Vec<u32>,
}

impl<M: Model> Explorer<'_, M> {
    fn explore(&mut self, limits: Limits) {
        loop {
            let depth = self.path.len();
            if !self.frames[depth].entered {
                self.enter(depth);
            }
            let frame = &mut self.frames[depth];
            let open = frame.backtrack & !frame.sleep;
            if open != 0 {
                self.take(depth, open.trailing_zeros() as usize);
                continue;
            }
            frame.entered = false;
            let Some(actor) = self.path.pop() else { break };
            if !self.thorough {
                self.order.pop();
            }
            self.frames[depth - 1].sleep |= 1 << actor;
            if self.found.complete + self.found.blocked + self.found.cut >= limits.executions {
                self.found.bound = Some(Bound::Executions(limits.executions));
                return;
            }
        }
        if self.found.cut > 0 {
            self.found.bound = Some(Bound::Loops(limits.loops));
        }
    }

    /// Visits a state for the first time: an end, a dead end, or a first step.
    fn enter(&mut self, depth: usize) {
        let frame = &mut self.frames[depth];
        frame.entered = true;
        frame.backtrack = 0;
        self.stepper.enabled(&frame.state, &mut self.enabled);
        frame.enabled =
            self.enabled.iter().fold(0, |set, &actor| set | 1 << self.names.number(actor));
        let awake = frame.enabled & !frame.sleep;
        if awake != 0 {
            frame.backtrack = if self.thorough { awake } else { 1 << awake.trailing_zeros() };
            return;
        }
        if frame.enabled != 0 {
            self.found.blocked += 1;
        } else {
            match Outcome::of(&frame.state) {
                Some(outcome) => {
                    self.found.complete += 1;
                    *self.found.outcomes.entry(outcome).or_default() += 1;
                }
                None => self.found.cut += 1,
            }
        }
    }

    /// Takes a step and schedules the reversal of every race it is in.
    fn take(&mut self, depth: usize, number: usize) {
        if self.frames.len() == depth + 1 {
            self.frames.push(Frame::default());
        }
        let actor = self.names.actor(number);
        let sleep = self.still_asleep(depth, actor);
        let (done, ahead) = self.frames.split_at_mut(depth + 1);
        ahead[0].state.clone_from(&done[depth].state);
        ahead[0].sleep = sleep;
        ahead[0].entered = false;
        self.stepper.apply(&mut ahead[0].state, actor, &mut self.happened);
        self.found.steps += 1;
        self.path.push(number);
        if !self.thorough {
            self.reverse_races(depth, actor, number);
        }
    }

    /// Adds the event just taken, at `depth`, to the order, and reverses its races.
    fn reverse_races(&mut self, depth: usize, actor: Actor, number: usize) {
        let is_barrier = match actor {
            Actor::Thread(thread) => self
                .stepper
                .next_op(&self.frames[depth].state, thread)
                .is_some_and(|op| op.is_barrier()),
            _ => false,
        };
        let mut before = std::mem::take(&mut self.before);
        self.order.push(number, is_barrier, &self.happened, &mut before);
        let (here, next) = (depth * self.actors, (depth + 1) * self.actors);
        self.taken.resize(self.taken.len().max(next + self.actors), 0);
        self.taken.copy_within(here..next, next);
        self.taken[next + number] += 1;
        self.reverse_conflicts(depth, &before);
        self.before = before;
    }

    /// The sleep set after a step: the sleeping actors that commute with it.
    fn still_asleep(&self, depth: usize, actor: Actor) -> Actors {
        let frame = &self.frames[depth];
        let mut asleep = frame.sleep & frame.enabled;
        if asleep == 0 {
            return 0;
        }
        let touch = self.stepper.touch(&frame.state, actor);
        let mut left = asleep;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let sleeper = self.names.actor(number);
            let meets = match (actor, sleeper) {
                (Actor::Thread(t), Actor::Interrupt { on, .. })
                | (Actor::Interrupt { on, .. }, Actor::Thread(t)) => t == on,
                _ => touch.conflicts(self.stepper.touch(&frame.state, sleeper)),
            };
            if meets {
                asleep &= !(1 << number);
            }
        }
        asleep
    }

    /// Reverses the last event, at `depth`, with every direct predecessor that it could have preceded.
    fn reverse_conflicts(&mut self, depth: usize, before: &[Before]) {
        for race in before.iter().filter(|b| b.reversible) {
            // An event in between keeps the two apart, and so does a second reason that cannot be reversed.
            let between = |b: &Before| match b.event == race.event {
                true => !b.reversible,
                false => self.order.before(race.event, b.event),
            };
            if !before.iter().any(between) {
                let rest = before.iter().filter(|b| b.event != race.event);
                self.clock_after(rest);
                self.reverse(race.event, depth, self.order.actor(depth));
            }
        }
    }

    /// Sets `self.clock` to the clock of an event with exactly these predecessors.
    fn clock_after<'b>(&mut self, before: impl Iterator<Item = &'b Before>) {
        self.clock.clear();
        self.clock.resize(self.actors, 0);
        for predecessor in before {
            let theirs = self.order.clock(predecessor.event);
            self.clock
                .iter_mut()
                .zip(theirs)
                .for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
    }

    /// The location of a step whose other effects depend on the value there: a compare-and-swap may write once the
    /// preceding event is removed. Its order with other steps at that location then differs from this execution's.
    fn undecided(&self, depth: usize, actor: usize) -> Option<Loc> {
        let Actor::Thread(thread) = self.names.actor(actor) else { return None };
        match self.stepper.next_op(&self.frames[depth].state, thread)? {
            Op::CompareExchange { .. } => {}
            _ => return None,
        }
        self.happened.iter().find_map(|happening| match happening {
            Happening::Read { loc, .. } => Some(*loc),
            _ => None,
        })
    }

    /// Makes sure that from before event `early` some explored step leads to `actor`'s step coming first. `self.clock`
    /// has the clock of that step, without `early`.
    fn reverse(&mut self, early: EventId, depth: usize, actor: usize) {
        let taken = &self.taken[early * self.actors..(early + 1) * self.actors];
        // A step can be the first if all its predecessors come before `early`.
        let first = |clock: &[u32], actor: usize, own: u32| {
            own == taken[actor] + 1
                && clock
                    .iter()
                    .zip(taken)
                    .enumerate()
                    .all(|(a, (needs, has))| a == actor || needs <= has)
        };
        let frame = &self.frames[early];
        let undecided = self.undecided(depth, actor);
        let mut alone = true;
        let mut initials: Actors = 0;
        for event in early + 1..depth {
            let by = self.order.actor(event);
            if self.order.before(early, event) {
                continue;
            }
            alone &= undecided.is_none_or(|loc| !self.order.touched(event, loc));
            if initials >> by & 1 == 0 {
                let clock = self.order.clock(event);
                initials |= Actors::from(first(clock, by, clock[by])) << by;
            }
        }
        let own = self.clock[actor].max(self.taken[depth * self.actors + actor]) + 1;
        initials |= Actors::from(alone && first(&self.clock, actor, own)) << actor;
        if initials & (frame.backtrack | frame.sleep) != 0 {
            return;
        }
        let choices = initials & frame.enabled;
        debug_assert!(choices != 0, "every reversal starts with a step that is enabled");
        let preferred =
            if choices >> actor & 1 == 1 { actor } else { choices.trailing_zeros() as usize };
        self.frames[early].backtrack |= 1 << preferred;
    }
}
