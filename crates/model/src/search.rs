//! Exhaustive search: visits every reachable state once and finds the simplest execution first.
//!
//! # Contract
//! [`outcomes`] returns every end of the program. [`find`] decides whether some end satisfies a condition:
//! [`Verdict::Allowed`] with an execution that has the fewest preemptions and, among those, the fewest steps;
//! [`Verdict::Forbidden`] once every state was visited; [`Verdict::Unknown`] with the bound that was hit. Whole states
//! are compared, not fingerprints. Loops need no bound if they revisit states.
//! # State
//! I1: costs (preemptions, steps) leave the queue in ascending order, so the first end that satisfies is minimal. A
//! preemption is a step of a thread while the thread that ran before could have continued; drains, interrupts and ticks
//! do not count as a switch.
//! # Evidence
//! tests/engines.rs (agreement with [`crate::dpor`] on random programs), tests/verdicts.rs.

use crate::memory::Model;
use crate::outcome::{Bound, Limits, Outcome};
use crate::program::Program;
use crate::state::State;
use crate::step::{Actor, Happening, Stepper};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Every end of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The ends found.
    pub outcomes: BTreeSet<Outcome>,
    /// The number of states visited.
    pub states: usize,
    /// Why there may be more ends; `None` if these are all.
    pub bound: Option<Bound>,
}

/// One step of an execution, with what happened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The actor.
    pub actor: Actor,
    /// Its effects, in order.
    pub happened: Vec<Happening>,
}

/// One execution from the start to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The steps.
    pub steps: Vec<Step>,
    /// How often a thread had to stop for another although it could have continued.
    pub preemptions: u32,
    /// The end it reached.
    pub outcome: Outcome,
}

/// Whether the program can end in a state that satisfies the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, by this execution.
    Allowed(Trace),
    /// No; every state was visited.
    Forbidden {
        /// The number of states visited.
        states: usize,
    },
    /// Not found within the bound.
    Unknown(Bound),
}

/// Visits every reachable state of the program.
pub fn outcomes<M: Model>(program: &Program, model: M, limits: Limits) -> Ends {
    let stepper = Stepper::new(program, model);
    let mut happened = Vec::new();
    let mut enabled = Vec::new();
    let start = stepper.start(&mut happened);
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    let mut ends = Ends { outcomes: BTreeSet::new(), states: 0, bound: None };
    while let Some(state) = open.pop() {
        ends.states += 1;
        stepper.enabled(&state, &mut enabled);
        if enabled.is_empty() {
            match Outcome::of(&state) {
                Some(outcome) => drop(ends.outcomes.insert(outcome)),
                None => ends.bound = Some(Bound::Private),
            }
        }
        for &actor in &enabled {
            let mut next = state.clone();
            stepper.apply(&mut next, actor, &mut happened);
            if !seen.contains(&next) {
                if seen.len() >= limits.states {
                    ends.bound = Some(Bound::States(limits.states));
                    return ends;
                }
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    ends
}

/// An open state of the search, and how it was reached.
struct Node {
    state: State,
    running: Option<u8>,
    from: usize,
    actor: Actor,
}

/// Searches for an end that satisfies `goal`, cheapest first.
pub fn find<M: Model>(
    program: &Program,
    model: M,
    limits: Limits,
    goal: impl Fn(&Outcome) -> bool,
) -> Verdict {
    let stepper = Stepper::new(program, model).in_program_order();
    let mut happened = Vec::new();
    let mut enabled = Vec::new();
    let start = stepper.start(&mut happened);
    let mut nodes =
        vec![Node { state: start, running: None, from: usize::MAX, actor: Actor::Tick }];
    let mut queue: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::from([((0, 0), vec![0])]);
    let mut closed: HashSet<(State, Option<u8>)> = HashSet::new();
    let mut bound = None;
    while let Some(mut entry) = queue.first_entry() {
        let (preemptions, steps) = *entry.key();
        let Some(at) = entry.get_mut().pop() else {
            entry.remove();
            continue;
        };
        if !closed.insert((nodes[at].state.clone(), nodes[at].running)) {
            continue;
        }
        stepper.enabled(&nodes[at].state, &mut enabled);
        if enabled.is_empty() {
            match Outcome::of(&nodes[at].state) {
                Some(outcome) if goal(&outcome) => {
                    return Verdict::Allowed(replay(&stepper, &nodes, at, preemptions, outcome));
                }
                Some(_) => {}
                None => bound = Some(Bound::Private),
            }
        }
        if nodes.len() >= limits.states {
            return Verdict::Unknown(Bound::States(limits.states));
        }
        for &actor in &enabled {
            let mut state = nodes[at].state.clone();
            let before = nodes[at].running;
            let (running, preempts) = match actor {
                Actor::Thread(thread) => {
                    let could_continue =
                        before.is_some_and(|b| b != thread && stepper.can_run(&state, b));
                    (Some(thread), u32::from(could_continue))
                }
                _ => (before, 0),
            };
            stepper.apply(&mut state, actor, &mut happened);
            nodes.push(Node { state, running, from: at, actor });
            queue.entry((preemptions + preempts, steps + 1)).or_default().push(nodes.len() - 1);
        }
    }
    bound.map_or(Verdict::Forbidden { states: closed.len() }, Verdict::Unknown)
}

/// The execution that leads to node `at`.
fn replay<M: Model>(
    stepper: &Stepper<'_, M>,
    nodes: &[Node],
    mut at: usize,
    preemptions: u32,
    outcome: Outcome,
) -> Trace {
    let mut actors = Vec::new();
    while nodes[at].from != usize::MAX {
        actors.push(nodes[at].actor);
        at = nodes[at].from;
    }
    let mut happened = Vec::new();
    let mut state = stepper.start(&mut happened);
    let mut steps = Vec::new();
    for actor in actors.into_iter().rev() {
        stepper.apply(&mut state, actor, &mut happened);
        steps.push(Step { actor, happened: happened.clone() });
    }
    Trace { steps, preemptions, outcome }
}
