//! Answers a litmus test under one memory model with the engine that fits.

use super::{Observation, States, Test};
use crate::axioms::{self, Axioms, Declined, Halves};
use crate::dpor::{self, Unsupported};
use crate::memory::{Model, Sc, Tso};
use crate::outcome::{Bound, Limits, Outcome};
use crate::program::Op;
use crate::search::{self, Verdict};
use std::fmt;

/// The memory models, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Sequential consistency.
    Sc,
    /// x86-TSO.
    Tso,
    /// x86-TSO on a machine on which no store waits for more than this many ticks.
    TsoWithin(u8),
}

impl Memory {
    /// The model's name on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Sc => Sc.name(),
            Memory::Tso | Memory::TsoWithin(_) => Tso::default().name(),
        }
    }

    /// The assumption about the machine beyond x86-TSO: the most ticks that a store waits.
    pub fn delta(self) -> Option<u8> {
        match self {
            Memory::TsoWithin(delta) => Some(delta),
            Memory::Sc | Memory::Tso => None,
        }
    }
}

/// The name and the assumption.
impl fmt::Display for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self.delta() {
            None => out.write_str(name),
            Some(delta) => {
                write!(out, "{name}, assuming that no store waits for more than {delta} ticks")
            }
        }
    }
}

/// The result of a test under a memory model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The final states, with the number of executions that reach each.
    pub states: States,
    /// The states as herd 7.57 counts them, if that differs: herd leaves the halves of a read-modify-write unordered
    /// ([`Halves::Unordered`]) and so counts executions that no machine can show.
    pub as_herd: Option<States>,
    /// Complete executions, one per class.
    pub complete: u64,
    /// Explorations abandoned as redundant.
    pub blocked: u64,
    /// Why the counts are only lower bounds; the states are still complete if `exhaustive`.
    pub bound: Option<Bound>,
    /// Whether every reachable final state is among `states`.
    pub exhaustive: bool,
}

impl Answer {
    /// How often the proposition holds; `None` if the exploration was cut short and its results leave that open.
    pub fn observation(&self) -> Option<Observation> {
        let observation = self.states.observation();
        (self.exhaustive || observation == Observation::Sometimes).then_some(observation)
    }

    /// States, counts and observation in herd's notation.
    pub fn spelled(&self) -> &States {
        self.as_herd.as_ref().unwrap_or(&self.states)
    }
}

impl Test {
    /// Enumerates the executions of the test.
    ///
    /// # Errors
    /// [`Unsupported`] if the program is too large to enumerate.
    pub fn answer(&self, memory: Memory, limits: Limits) -> Result<Answer, Unsupported> {
        match memory {
            Memory::Sc => self.answer_under(Sc, Axioms::Sc, limits),
            Memory::Tso => self.answer_under(Tso::default(), Axioms::Tso, limits),
            Memory::TsoWithin(delta) => {
                Ok(self.answer_uncounted(Tso { delta: Some(delta) }, limits))
            }
        }
    }

    /// The states alone, with one execution per end.
    fn answer_uncounted(&self, model: Tso, limits: Limits) -> Answer {
        let ends = search::outcomes(&self.program, model, limits);
        Answer {
            states: self.states(ends.outcomes.iter().map(|outcome| (outcome, 1))),
            as_herd: None,
            complete: 0,
            blocked: 0,
            bound: Some(ends.bound.unwrap_or(Bound::Uncounted)),
            exhaustive: ends.bound.is_none(),
        }
    }

    fn answer_under<M: Model>(
        &self,
        model: M,
        axioms: Axioms,
        limits: Limits,
    ) -> Result<Answer, Unsupported> {
        let found = dpor::executions(&self.program, model.clone(), limits)?;
        let mut states =
            self.states(found.outcomes.iter().map(|(outcome, count)| (outcome, *count)));
        let mut exhaustive = found.bound.is_none();
        if !exhaustive {
            // With loops executions cannot be counted, but there may still be few states.
            let ends = search::outcomes(&self.program, model, limits);
            exhaustive = ends.bound.is_none();
            states.learn(self.states(ends.outcomes.iter().map(|outcome| (outcome, 1))));
        }
        let splits = self
            .program
            .threads
            .iter()
            .flat_map(|t| &t.code)
            .any(|op| matches!(op, Op::Rmw { .. }));
        let mut bound = found.bound;
        let mut as_herd = None;
        if splits && bound.is_none() {
            match axioms::executions(&self.program, axioms, Halves::Unordered, limits) {
                Ok(outcomes) => {
                    let counts = outcomes.iter().map(|(outcome, count)| (outcome, *count));
                    as_herd = Some(self.states(counts)).filter(|theirs| *theirs != states);
                }
                Err(Declined::Choices) => bound = Some(Bound::Executions(limits.executions)),
                Err(Declined::Program) => {}
            }
        }
        let (complete, blocked) = (found.complete, found.blocked);
        Ok(Answer { states, as_herd, complete, blocked, bound, exhaustive })
    }

    /// Searches for an execution that satisfies `exists` or violates `forall`.
    pub fn witness(&self, memory: Memory, limits: Limits) -> Verdict {
        let wanted = self.condition.quantifier != super::Quantifier::Forall;
        let goal = |outcome: &Outcome| self.holds(outcome) == wanted;
        match memory {
            Memory::Sc => search::find(&self.program, Sc, limits, goal),
            Memory::Tso => search::find(&self.program, Tso::default(), limits, goal),
            Memory::TsoWithin(delta) => {
                search::find(&self.program, Tso { delta: Some(delta) }, limits, goal)
            }
        }
    }
}

impl States {
    /// Adds states that another engine reached and this one did not, each with one execution, which is a lower bound.
    fn learn(&mut self, more: States) {
        for (line, (_, holds)) in more.by_line {
            if let std::collections::btree_map::Entry::Vacant(entry) = self.by_line.entry(line) {
                entry.insert((1, holds));
                *if holds { &mut self.positive } else { &mut self.negative } += 1;
            }
        }
    }
}
