//! One litmus test under one memory model, answered by the engine that fits.

use super::{Observation, States, Test};
use crate::axioms::{self, Axioms, Declined, Halves};
use crate::dpor::{self, Unsupported};
use crate::memory::{Model, Sc, Tso};
use crate::outcome::{Bound, Limits, Outcome};
use crate::program::Op;
use crate::search::{self, Verdict};
use std::fmt;

/// The memory models by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Sequential consistency.
    Sc,
    /// x86-TSO.
    Tso,
    /// x86-TSO on a machine where no store waits for more than so many ticks.
    TsoWithin(u8),
}

impl Memory {
    /// Its name on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Sc => Sc.name(),
            Memory::Tso | Memory::TsoWithin(_) => Tso::default().name(),
        }
    }

    /// What is assumed about the machine beyond x86-TSO: the most ticks that a store waits.
    pub fn delta(self) -> Option<u8> {
        match self {
            Memory::TsoWithin(delta) => Some(delta),
            Memory::Sc | Memory::Tso => None,
        }
    }
}

/// Its name and its assumption.
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

/// What a test shows under a memory model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The final states with the number of executions that reach each.
    pub states: States,
    /// The same as herd 7.57 counts, where that differs: it leaves the halves of a read-modify-write unordered
    /// ([`Halves::Unordered`]) and so counts executions that no machine can show.
    pub as_herd: Option<States>,
    /// Complete executions, one of each class.
    pub complete: u64,
    /// Explorations given up as redundant.
    pub blocked: u64,
    /// Why the counts are only what there is at least; the states still are all if `exhaustive`.
    pub bound: Option<Bound>,
    /// Whether every reachable final state is among `states`.
    pub exhaustive: bool,
}

impl Answer {
    /// How often the proposition holds; `None` if the exploration was cut short and what it found leaves that open.
    pub fn observation(&self) -> Option<Observation> {
        let observation = self.states.observation();
        (self.exhaustive || observation == Observation::Sometimes).then_some(observation)
    }

    /// States, counts and observation as the published checker spells them.
    pub fn spelled(&self) -> &States {
        self.as_herd.as_ref().unwrap_or(&self.states)
    }
}

impl Test {
    /// Enumerates the executions of the test.
    ///
    /// # Errors
    /// [`Unsupported`] if the program is too large to be enumerated.
    pub fn answer(&self, memory: Memory, limits: Limits) -> Result<Answer, Unsupported> {
        match memory {
            Memory::Sc => self.answer_under(Sc, Axioms::Sc, limits),
            Memory::Tso => self.answer_under(Tso::default(), Axioms::Tso, limits),
            Memory::TsoWithin(delta) => {
                Ok(self.answer_uncounted(Tso { delta: Some(delta) }, limits))
            }
        }
    }

    /// The states alone, with one execution for each end.
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
            // Loops: executions cannot be counted, but states may still be few.
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

    /// Looks for an execution that shows what is asked: one that satisfies `exists`, or one that violates `forall`.
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
    /// Adds states that another engine reached and this one did not, with one execution each: there are that many at
    /// least.
    fn learn(&mut self, more: States) {
        for (line, (_, holds)) in more.by_line {
            if let std::collections::btree_map::Entry::Vacant(entry) = self.by_line.entry(line) {
                entry.insert((1, holds));
                *if holds { &mut self.positive } else { &mut self.negative } += 1;
            }
        }
    }
}
