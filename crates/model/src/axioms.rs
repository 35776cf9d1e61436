//! A declarative engine: enumerates reads-from and coherence choices and keeps those that satisfy the axioms.
//!
//! # Contract
//! [`executions`] handles straight-line programs of loads, stores, read-modify-writes and fences. It declines
//! everything else, and programs with more choices than the limits allow. It shares no code with the operational
//! engines, so their agreement is evidence.
//! # State
//! I1: each relation is a transitively closed graph; an edge that would close a cycle is refused when it is added.
//! I2: with [`Halves::Ordered`] the read of a read-modify-write comes before its write, as on every machine. With
//! [`Halves::Unordered`] only the *value* flows from the read to the write, as herd 7.57 computes it with `sc.cat` and
//! `x86tso-mixed.cat`: an instruction may then read from a write that its own write precedes. No machine does that,
//! even under sequential consistency; the variant exists to compare counts with herd.
//! # Evidence
//! tests/corpora.rs (unordered: equal to the checker; ordered: equal to [`crate::dpor`]), tests/engines.rs.
//! # Sources
//! Alglave, Maranget, Tautschnig, "Herding cats", TOPLAS 2014.

use crate::outcome::{Limits, Outcome};
use crate::program::{Loc, Op, Operand, Place, Program, Value};
use std::collections::BTreeMap;

/// The memory model whose axioms apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axioms {
    /// Sequential consistency: program order and communication agree.
    Sc,
    /// x86-TSO: as SC, but later loads of a thread may overtake its stores.
    Tso,
}

/// Whether the halves of a read-modify-write are ordered (I2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halves {
    /// The read comes first.
    Ordered,
    /// Unordered, as in herd 7.57.
    Unordered,
}

/// Why [`executions`] gives no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declined {
    /// The program branches, waits, indexes or is too long.
    Program,
    /// The search made sixteen choices per execution that the limits allow, and did not finish.
    Choices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Fence,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    thread: usize,
    op: usize,
    kind: Kind,
    loc: Loc,
    locked: bool,
    /// For the write of a read-modify-write: its read, the preceding event.
    paired: bool,
}

/// Most events of a candidate.
const MOST: usize = 64;

/// Choices allowed per execution that the limits allow; most choices lead nowhere.
const CHOICES: u64 = 16;

/// A transitively closed relation (I1).
#[derive(Debug, Clone)]
struct Graph {
    after: [u64; MOST],
}

impl Graph {
    fn new() -> Self {
        Graph { after: [0; MOST] }
    }

    /// Adds an edge; `false` if it would close a cycle.
    fn add(&mut self, from: usize, to: usize) -> bool {
        if from == to || self.after[to] >> from & 1 == 1 {
            return false;
        }
        if self.after[from] >> to & 1 == 0 {
            let gained = self.after[to] | 1 << to;
            for (node, after) in self.after.iter_mut().enumerate() {
                if node == from || *after >> from & 1 == 1 {
                    *after |= gained;
                }
            }
        }
        true
    }
}

/// Counts the consistent executions of a straight-line program by final state.
///
/// # Errors
/// [`Declined`] if the program is not supported or the limits are reached.
pub fn executions(
    program: &Program,
    axioms: Axioms,
    halves: Halves,
    limits: Limits,
) -> Result<BTreeMap<Outcome, u64>, Declined> {
    let events = events(program).ok_or(Declined::Program)?;
    let mut candidate = Candidate {
        program,
        axioms,
        sources: vec![None; events.len()],
        events,
        found: BTreeMap::new(),
        left: limits.executions.saturating_mul(CHOICES),
    };
    let mut graphs = Graphs { local: Graph::new(), global: Graph::new() };
    if candidate.program_order(&mut graphs, halves) {
        candidate.choose_source(0, &graphs).ok_or(Declined::Choices)?;
    }
    Ok(candidate.found)
}

fn events(program: &Program) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    for (thread, code) in program.threads.iter().map(|t| &t.code).enumerate() {
        for (op, operation) in code.iter().enumerate() {
            let event = |kind, place: Place, locked, paired| {
                place.index.is_none().then_some(Event {
                    thread,
                    op,
                    kind,
                    loc: place.base,
                    locked,
                    paired,
                })
            };
            match *operation {
                Op::Load { from, .. } => events.push(event(Kind::Read, from, false, false)?),
                Op::Store { to, .. } => events.push(event(Kind::Write, to, false, false)?),
                Op::Rmw { at, locked, .. } => {
                    events.push(event(Kind::Read, at, locked, false)?);
                    events.push(event(Kind::Write, at, locked, true)?);
                }
                Op::Fence => events.push(event(Kind::Fence, Place::at(0), true, false)?),
                Op::Compute { .. } => {}
                _ => return None,
            }
        }
    }
    (events.len() <= MOST).then_some(events)
}

/// The relations that must stay acyclic: one per location, and one global.
#[derive(Debug, Clone)]
struct Graphs {
    local: Graph,
    global: Graph,
}

struct Candidate<'p> {
    program: &'p Program,
    axioms: Axioms,
    events: Vec<Event>,
    /// The write each read reads; `None`: the initial value.
    sources: Vec<Option<usize>>,
    found: BTreeMap<Outcome, u64>,
    /// Choices left.
    left: u64,
}

impl Candidate<'_> {
    fn program_order(&self, graphs: &mut Graphs, halves: Halves) -> bool {
        let mut consistent = true;
        for (b, late) in self.events.iter().enumerate() {
            for (a, early) in
                self.events[..b].iter().enumerate().filter(|(_, e)| e.thread == late.thread)
            {
                if early.op == late.op && halves == Halves::Unordered {
                    continue;
                }
                let memory = early.kind != Kind::Fence && late.kind != Kind::Fence;
                if memory && early.loc == late.loc {
                    consistent &= graphs.local.add(a, b);
                }
                let overtaken = early.kind == Kind::Write
                    && late.kind == Kind::Read
                    && !early.locked
                    && !late.locked;
                if self.axioms == Axioms::Sc || !overtaken {
                    consistent &= graphs.global.add(a, b);
                }
            }
        }
        consistent
    }

    /// Adds a communication edge to both relations. Under TSO a thread sees its own store before others do.
    fn communicate(&self, graphs: &mut Graphs, from: usize, to: usize, reads_from: bool) -> bool {
        let own = self.events[from].thread == self.events[to].thread;
        let global = !(reads_from && own && self.axioms == Axioms::Tso);
        graphs.local.add(from, to) && (!global || graphs.global.add(from, to))
    }

    /// Chooses the write that each read from event `at` on reads. `None`: too many choices.
    fn choose_source(&mut self, at: usize, graphs: &Graphs) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let Some(read) = (at..self.events.len()).find(|&e| self.events[e].kind == Kind::Read)
        else {
            let undecided = self.undecided();
            return self.choose_coherence(&undecided, graphs);
        };
        let loc = self.events[read].loc;
        for write in 0..self.events.len() {
            let event = self.events[write];
            let own_half = event.paired && write == read + 1;
            if event.kind != Kind::Write || event.loc != loc || own_half {
                continue;
            }
            let mut next = graphs.clone();
            if self.communicate(&mut next, write, read, true) {
                self.sources[read] = Some(write);
                self.choose_source(read + 1, &next)?;
            }
        }
        self.sources[read] = None;
        let mut next = graphs.clone();
        let mut writes = self.writes(loc).into_iter();
        if writes.all(|write| self.communicate(&mut next, read, write, false)) {
            self.choose_source(read + 1, &next)?;
        }
        Some(())
    }

    fn writes(&self, loc: Loc) -> Vec<usize> {
        let writes =
            self.events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write && e.loc == loc);
        writes.map(|(write, _)| write).collect()
    }

    /// Pairs of writes to one location.
    fn undecided(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (b, late) in self.events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write) {
            let earlier = self.events[..b].iter().enumerate();
            let same = earlier.filter(|(_, e)| e.kind == Kind::Write && e.loc == late.loc);
            pairs.extend(same.map(|(a, _)| (a, b)));
        }
        pairs
    }

    fn choose_coherence(&mut self, undecided: &[(usize, usize)], graphs: &Graphs) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let Some((&(a, b), rest)) = undecided.split_first() else {
            self.complete(graphs);
            return Some(());
        };
        for (early, late) in [(a, b), (b, a)] {
            let mut next = graphs.clone();
            let mut fits = self.communicate(&mut next, early, late, false);
            for read in (0..self.events.len()).filter(|&read| self.sources[read] == Some(early)) {
                fits = fits
                    && (read + 1 == late && self.events[late].paired
                        || self.overwritten(&mut next, read, late));
            }
            if fits {
                self.choose_coherence(rest, &next)?;
            }
        }
        Some(())
    }

    /// A read comes before every write that follows, in coherence, the write it read.
    fn overwritten(&self, graphs: &mut Graphs, read: usize, write: usize) -> bool {
        self.communicate(graphs, read, write, false)
    }

    /// Checks atomicity and counts the candidate.
    fn complete(&mut self, graphs: &Graphs) {
        let before = |a: usize, b: usize| graphs.local.after[a] >> b & 1 == 1;
        for (write, event) in self.events.iter().enumerate().filter(|(_, e)| e.paired && e.locked) {
            let read = write - 1;
            let source = self.sources[read];
            let between = |other: usize| {
                self.events[other].thread != event.thread
                    && source.is_none_or(|source| before(source, other))
                    && before(other, write)
            };
            if self.writes(event.loc).into_iter().any(between) {
                return;
            }
        }
        if let Some(outcome) = self.evaluate(graphs) {
            *self.found.entry(outcome).or_default() += 1;
        }
    }

    /// The final state: runs the threads on the values they read until a fixed point. `None` if the values depend on
    /// each other in a cycle.
    fn evaluate(&self, graphs: &Graphs) -> Option<Outcome> {
        let mut values: Vec<Option<Value>> = vec![None; self.events.len()];
        loop {
            let known = values.iter().flatten().count();
            let words = self.pass(graphs, &mut values);
            if words.iter().all(Option::is_some) && values_known(&self.events, &values) {
                let words = words.into_iter().flatten().collect();
                return Some(Outcome::from_words(words));
            }
            if values.iter().flatten().count() == known {
                return None;
            }
        }
    }

    fn pass(&self, graphs: &Graphs, values: &mut [Option<Value>]) -> Vec<Option<Value>> {
        let mut registers = Vec::new();
        let mut event = 0;
        for thread in &self.program.threads {
            let mut own: Vec<Option<Value>> =
                thread.registers.iter().map(|&value| Some(value)).collect();
            for op in &thread.code {
                event = self.execute(op, event, &mut own, values);
            }
            registers.extend(own);
        }
        let mut words = Vec::new();
        for (loc, location) in self.program.locations.iter().enumerate() {
            let writes = self.writes(loc as Loc);
            let last = |&write: &usize| {
                writes.iter().all(|&w| w == write || graphs.local.after[w] >> write & 1 == 1)
            };
            let last = writes.iter().copied().find(last);
            words.push(last.map_or(Some(location.init), |write| values[write]));
        }
        words.extend(registers);
        words
    }

    /// Runs one operation whose first event is `event`; returns the next event.
    fn execute(
        &self,
        op: &Op,
        event: usize,
        own: &mut [Option<Value>],
        values: &mut [Option<Value>],
    ) -> usize {
        let operand = |own: &[Option<Value>], operand: Operand| match operand {
            Operand::Imm(value) => Some(value),
            Operand::Reg(reg) => own[usize::from(reg.0)],
        };
        let location = |loc: Loc| &self.program.locations[usize::from(loc)];
        match *op {
            Op::Load { to, from } => {
                values[event] = self.sources[event]
                    .map_or(Some(location(from.base).init), |write| values[write]);
                own[usize::from(to.0)] = values[event];
                event + 1
            }
            Op::Store { to, value } => {
                values[event] = operand(own, value).map(|value| location(to.base).cut(value));
                event + 1
            }
            Op::Rmw { at, how, by, old, .. } => {
                let by = operand(own, by);
                let seen =
                    self.sources[event].map_or(Some(location(at.base).init), |write| values[write]);
                values[event] = seen;
                // The value that an exchange writes does not depend on the value it reads.
                let left = if how == crate::program::Alu::Right { Some(0) } else { seen };
                values[event + 1] =
                    left.zip(by).map(|(left, by)| location(at.base).cut(how.apply(left, by)));
                if let Some(old) = old {
                    own[usize::from(old.0)] = seen;
                }
                event + 2
            }
            Op::Compute { to, left, how, right } => {
                let result =
                    operand(own, left).zip(operand(own, right)).map(|(a, b)| how.apply(a, b));
                own[usize::from(to.0)] = result;
                event
            }
            Op::Fence => event + 1,
            _ => event,
        }
    }
}

fn values_known(events: &[Event], values: &[Option<Value>]) -> bool {
    events.iter().zip(values).all(|(event, value)| event.kind == Kind::Fence || value.is_some())
}
