//! Memory models: what a load sees, and what a store does.
//!
//! # Contract
//! A [`Model`] defines plain loads and stores. [`crate::step`] defines everything else (read-modify-writes, fences,
//! interrupts, futexes) on top of that, once for all models.
//! # State
//! Under [`Tso`] a thread's stores wait in its own unbounded FIFO buffer. A load sees the newest waiting store of its
//! own thread to its location, otherwise memory. Because the buffer is unbounded, no verdict depends on its capacity.
//! # Sources
//! Sewell et al., "x86-TSO: a rigorous and usable programmer's model", 2010; the bound on waiting: Morrison and Afek,
//! "Temporally bounding TSO for fence-free asymmetric synchronization", 2015.

use crate::program::{Loc, Value};
use crate::state::{Entry, State};

/// The result of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The value.
    pub value: Value,
    /// It came from the thread's own buffer.
    pub forwarded: bool,
}

/// A memory model.
pub trait Model: Clone + Sync {
    /// The model's name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Performs a plain store of `thread`. Returns whether the store waits in the thread's buffer.
    fn store(&self, state: &mut State, thread: u8, loc: Loc, value: Value) -> bool;

    /// The result of a plain load of `thread`.
    fn load(&self, state: &State, thread: u8, loc: Loc) -> Seen;

    /// Whether a store touches only the thread's own buffer, so that no other thread can observe when it ran.
    fn stores_are_private(&self) -> bool;

    /// The most ticks that a store may wait, if the model bounds them.
    fn delta(&self) -> Option<u8> {
        None
    }
}

/// Sequential consistency: one memory, one operation at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sc;

impl Model for Sc {
    fn name(&self) -> &'static str {
        "sc"
    }

    fn store(&self, state: &mut State, _thread: u8, loc: Loc, value: Value) -> bool {
        state.words[usize::from(loc)] = value;
        false
    }

    fn load(&self, state: &State, _thread: u8, loc: Loc) -> Seen {
        Seen { value: state.memory(loc), forwarded: false }
    }

    fn stores_are_private(&self) -> bool {
        false
    }
}

/// Total store order, as on x86.
///
/// With `delta`, time passes in ticks, and no tick passes while a store has waited `delta` ticks. This is an assumption
/// about a machine, not a promise of x86: a core without a timer tick may hold a store for longer. The store of a split
/// read-modify-write counts as waiting from the moment of its load, so the bound covers the whole instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tso {
    /// The most ticks a store may wait; `None`: no bound.
    pub delta: Option<u8>,
}

impl Model for Tso {
    fn name(&self) -> &'static str {
        "tso"
    }

    fn store(&self, state: &mut State, thread: u8, loc: Loc, value: Value) -> bool {
        state.buffer_store(Entry { thread, age: 0, loc, value });
        true
    }

    fn load(&self, state: &State, thread: u8, loc: Loc) -> Seen {
        match state.newest(thread, loc) {
            Some(value) => Seen { value, forwarded: true },
            None => Seen { value: state.memory(loc), forwarded: false },
        }
    }

    fn stores_are_private(&self) -> bool {
        // With a bound, the tick at which a store enters the buffer matters.
        self.delta.is_none()
    }

    fn delta(&self) -> Option<u8> {
        self.delta
    }
}
