//! The enumeration counts exactly as many complete executions as there are classes, in programs with locks, futexes,
//! membarriers and interrupts. The reference is an independent count that follows every interleaving, step by step, and
//! records which class it is a linearisation of; states with equal history are followed once.

mod common;

use common::{Kind, program};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uncontended_model::classics::named;
use uncontended_model::dpor::executions;
use uncontended_model::litmus::parse;
use uncontended_model::memory::{Model, Sc, Tso};
use uncontended_model::outcome::{Limits, Outcome};
use uncontended_model::program::{Loc, Program};
use uncontended_model::state::State;
use uncontended_model::step::{Actor, Happening, Stepper};
use uncontended_testkit::{Random, repetitions};

/// A store, by its thread and its number there; initial values belong to no thread.
type Store = (u8, u16);

/// The invariants of a class: what does not depend on the order of independent steps.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Class {
    /// Steps taken by each thread.
    steps: Vec<u16>,
    /// Stores made by each thread, and those still in the buffer.
    stores: Vec<u16>,
    waiting: Vec<Vec<(Loc, u16)>>,
    /// The stores of each location in the order in which they reached memory.
    memory: Vec<Vec<Store>>,
    /// The reads of each thread's loads.
    reads: Vec<Vec<(Loc, Store)>>,
    /// The threads that slept, passed and woke at each futex, in order.
    queues: Vec<Vec<u8>>,
    /// The threads that asked for an interrupt, on which thread, and how far the two were.
    interrupts: BTreeSet<(u8, u16, u8, u16)>,
}

impl Class {
    fn new(program: &Program) -> Class {
        let (threads, locations) = (program.threads.len(), program.locations.len());
        Class {
            steps: vec![0; threads],
            stores: vec![0; threads],
            waiting: vec![Vec::new(); threads],
            memory: vec![Vec::new(); locations],
            reads: vec![Vec::new(); threads],
            queues: vec![Vec::new(); locations],
            interrupts: BTreeSet::new(),
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Read { thread, loc, forwarded, .. } => {
                let at = usize::from(thread);
                let own = self.waiting[at].iter().rev().find(|(waits, _)| *waits == loc);
                let newest = || self.memory[usize::from(loc)].last().copied();
                let seen = match own.filter(|_| forwarded) {
                    Some(&(_, number)) => (thread, number),
                    None => newest().unwrap_or((u8::MAX, 0)),
                };
                self.reads[at].push((loc, seen));
            }
            Happening::Buffered { thread, loc, .. } => {
                let at = usize::from(thread);
                self.waiting[at].push((loc, self.stores[at]));
                self.stores[at] += 1;
            }
            Happening::Wrote { thread, loc, drained, .. } => {
                let at = usize::from(thread);
                let number = if drained {
                    self.waiting[at].remove(0).1
                } else {
                    self.stores[at] += 1;
                    self.stores[at] - 1
                };
                self.memory[usize::from(loc)].push((thread, number));
            }
            Happening::Slept { thread, loc }
            | Happening::Passed { thread, loc }
            | Happening::Woke { thread, loc, .. } => self.queues[usize::from(loc)].push(thread),
            Happening::Interrupted { by, on } => {
                let steps = |thread: u8| self.steps[usize::from(thread)];
                self.interrupts.insert((by, steps(by), on, steps(on)));
            }
            Happening::Fenced { .. }
            | Happening::Locked { .. }
            | Happening::Asked { .. }
            | Happening::Ticked
            | Happening::Faulted { .. } => {}
        }
    }
}

/// How many classes end in each way; `None` if there are too many intermediate states.
fn classes<M: Model>(program: &Program, model: M) -> Option<BTreeMap<Outcome, u64>> {
    let stepper = Stepper::new(program, model.clone());
    let (mut happened, mut enabled) = (Vec::new(), Vec::new());
    let start = stepper.start(&mut happened);
    let mut class = Class::new(program);
    happened.iter().for_each(|&happening| class.happen(happening));
    let mut open: Vec<(State, Class)> = vec![(start, class)];
    let mut seen: HashSet<_> = open.iter().cloned().collect();
    let mut ends = BTreeMap::new();
    while let Some((state, class)) = open.pop() {
        if seen.len() > 60_000 {
            return None;
        }
        stepper.enabled(&state, &mut enabled);
        for &actor in &enabled {
            let (mut state, mut class) = (state.clone(), class.clone());
            stepper.apply(&mut state, actor, &mut happened);
            happened.iter().for_each(|&happening| class.happen(happening));
            if let Actor::Thread(thread) = actor {
                class.steps[usize::from(thread)] += 1;
            }
            if seen.insert((state.clone(), class.clone())) {
                open.push((state, class));
            }
        }
        if enabled.is_empty() {
            let outcome = Outcome::of(&state).expect("no bound stops a thread");
            *ends.entry(outcome).or_insert(0) += 1;
        }
    }
    Some(ends)
}

fn agree<M: Model>(what: &str, program: &Program, model: M) -> bool {
    let Some(counted) = classes(program, model.clone()) else { return false };
    let found = executions(program, model.clone(), Limits::default()).expect("few actors");
    assert_eq!(found.bound, None);
    assert_eq!(found.outcomes, counted, "{what} under {}: {program:?}", model.name());
    true
}

#[test]
fn classics_that_wait_have_as_many_executions_as_classes() {
    for name in [
        "SB+membarrier+po",
        "EVENTCOUNT+interrupt",
        "EVENTCOUNT+membarrier",
        "FSSF+heavy",
        "LOST-WAKEUP",
        "FUTEX",
    ] {
        let program = parse(named(name).unwrap().text).unwrap().program;
        assert!(agree(name, &program, Sc) && agree(name, &program, Tso::default()), "{name}");
    }
}

#[test]
fn random_programs_that_wait_have_as_many_executions_as_classes() {
    let programs = repetitions("random programs", 300, 20_000);
    let mut counted = 0;
    for seed in 0..programs {
        let program = program(&mut Random(seed), Kind::Waiting);
        let what = format!("seed {seed}");
        counted += usize::from(agree(&what, &program, Sc));
        counted += usize::from(agree(&what, &program, Tso::default()));
    }
    println!("{counted} of {} counted", 2 * programs);
    assert!(counted as u64 * 10 > 19 * programs, "most are small enough to be counted: {counted}");
}
