//! Litmus tests in herd's x86-64 format: parses them and reports results in herd's format.
//!
//! # Contract
//! [`parse()`] reads a file or refuses it with line, column and reason; the reason names what is not supported. Values
//! in conditions and states are printed as herd prints them.
//!
//! Extensions of herd's format: the instructions `lock or`, `lock and`, `membarrier`, `interrupt P1` (wait until that
//! thread has taken an interrupt), `futex_wait $v,(x)`, `futex_wake $n,(x)`, `mutex_lock (m)`, `mutex_unlock (m)` and
//! `delay $n` (ticks of a time-bounded model); the proposition `deadlock` in a condition.
//! # Evidence
//! tests/corpora.rs, tests/parser.rs (positions, mutated files), fuzz/fuzz_targets/litmus.rs.
//! # Sources
//! The herdtools7 manual: format of litmus files, and the lines that herd prints.

mod answer;
mod condition;
mod instruction;
mod parse;
mod registers;
mod source;

pub use answer::{Answer, Memory};
pub use condition::{Condition, Item, Prop, Quantifier};
pub use parse::parse;
pub use source::Refusal;

use crate::outcome::Outcome;
use crate::program::Program;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

/// A litmus test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its name, from the first line.
    pub name: String,
    /// The quoted line after the name, if there is one.
    pub doc: String,
    /// The program.
    pub program: Program,
    /// The instructions as written, by thread and operation, for diagrams and listings.
    pub text: Vec<Vec<String>>,
    /// The final condition.
    pub condition: Condition,
    /// The items that its states show: those of the condition and of `locations`, registers first, without repeats.
    pub shown: Vec<Item>,
}

/// How often the proposition of a test holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// In some executions but not in all.
    Sometimes,
    /// In no execution.
    Never,
    /// In every execution.
    Always,
}

impl fmt::Display for Observation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Observation::Sometimes => "Sometimes",
            Observation::Never => "Never",
            Observation::Always => "Always",
        })
    }
}

impl Observation {
    /// The observation, from whether the proposition held in some execution and failed in some.
    pub fn from_counts(positive: u64, negative: u64) -> Self {
        match (positive, negative) {
            (0, _) => Observation::Never,
            (_, 0) => Observation::Always,
            _ => Observation::Sometimes,
        }
    }
}

/// The result of running a test.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct States {
    /// Each state as herd prints it, with the number of executions that reach it and whether the proposition holds.
    pub by_line: BTreeMap<String, (u64, bool)>,
    /// Executions in which the proposition holds.
    pub positive: u64,
    /// Executions in which it does not.
    pub negative: u64,
}

impl Test {
    /// One final state in herd's notation: `0:rax=0; [x]=1;`.
    pub fn line(&self, outcome: &Outcome) -> String {
        let mut line = String::new();
        for item in &self.shown {
            let separator = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{separator}{item}={};", item.shown(&self.program, outcome));
        }
        for (mask, word) in [(outcome.stuck, "deadlock"), (outcome.faulted, "fault")] {
            if mask != 0 {
                let separator = if line.is_empty() { "" } else { " " };
                let _ = write!(line, "{separator}{word};");
            }
        }
        line
    }

    /// Whether the proposition holds at an end.
    pub fn holds(&self, outcome: &Outcome) -> bool {
        self.condition.prop.holds(&self.program, outcome)
    }

    /// The states of the given ends, each with the number of executions that reached it.
    pub fn states<'o>(&self, outcomes: impl IntoIterator<Item = (&'o Outcome, u64)>) -> States {
        let mut states = States::default();
        for (outcome, count) in outcomes {
            let holds = self.holds(outcome);
            *if holds { &mut states.positive } else { &mut states.negative } += count;
            states.by_line.entry(self.line(outcome)).or_insert((0, holds)).0 += count;
        }
        states
    }
}

impl States {
    /// How often the proposition holds.
    pub fn observation(&self) -> Observation {
        Observation::from_counts(self.positive, self.negative)
    }
}
