//! Final states of executions, and the limits of an exploration.

use crate::program::{Loc, Program, Reg, Value};
use crate::state::{State, Status};
use std::fmt;

/// The end of an execution: no actor can take a step, and every buffer is empty.
///
/// A thread that only waits for its stores to drain has not reached an end, so an unfinished drain is never reported as
/// a deadlock.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome {
    words: Vec<Value>,
    /// Threads that wait for a lock or a wakeup that never comes, as a mask.
    pub stuck: u32,
    /// Threads stopped because they accessed a location that does not exist, as a mask.
    pub faulted: u32,
}

impl Outcome {
    /// The outcome of a state in which no actor can take a step; `None` if a bound stopped a thread.
    pub fn of(state: &State) -> Option<Outcome> {
        let mut outcome = Outcome { words: Vec::new(), stuck: 0, faulted: 0 };
        for (thread, control) in state.threads.iter().enumerate() {
            match control.status {
                Status::Cut => return None,
                Status::Ended => {}
                Status::Faulted => outcome.faulted |= 1 << thread,
                _ => outcome.stuck |= 1 << thread,
            }
        }
        outcome.words.clone_from(&state.words);
        Some(outcome)
    }

    /// An end at which every thread has finished, from the words of memory and then the registers of thread 0, 1, …
    pub fn from_words(words: Vec<Value>) -> Outcome {
        Outcome { words, stuck: 0, faulted: 0 }
    }

    /// The final value of a location.
    pub fn memory(&self, loc: Loc) -> Value {
        self.words[usize::from(loc)]
    }

    /// The final value of a register.
    pub fn register(&self, program: &Program, thread: u8, reg: Reg) -> Value {
        let before =
            program.threads[..usize::from(thread)].iter().map(|t| t.registers.len()).sum::<usize>();
        self.words[program.locations.len() + before + usize::from(reg.0)]
    }

    /// Whether a thread waits forever.
    pub fn deadlock(&self) -> bool {
        self.stuck != 0
    }
}

/// How far an exploration may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most backward jumps per thread in one execution, for engines that enumerate executions.
    pub loops: u16,
    /// Most states visited, for engines that visit states.
    pub states: usize,
    /// Most executions enumerated, complete or not.
    pub executions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { loops: 8, states: 250_000, executions: 1_000_000 }
    }
}

/// The bound that kept an exploration from being exhaustive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A thread jumped back more than this many times.
    Loops(u16),
    /// A thread ran too many private operations in a row without touching memory.
    Private,
    /// There are more states than this.
    States(usize),
    /// There are more executions than this.
    Executions(u64),
    /// Every state was visited, but executions are not counted when time is bounded.
    Uncounted,
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Loops(n) => write!(out, "loops were followed for {n} rounds"),
            Bound::Private => write!(out, "a thread loops without touching memory"),
            Bound::States(n) => write!(out, "{n} states were visited"),
            Bound::Executions(n) => write!(out, "{n} executions were enumerated"),
            Bound::Uncounted => write!(out, "executions are not counted where time is bounded"),
        }
    }
}
