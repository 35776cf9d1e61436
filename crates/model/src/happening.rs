//! The actors that take steps, what happens in them, and what they touch.

use crate::program::{Loc, Value};

/// The actor that takes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    /// A thread runs its next operation.
    Thread(u8),
    /// The oldest store of the thread reaches memory.
    Drain(u8),
    /// The interrupt that `by` waits for falls on `on`.
    Interrupt {
        /// The thread that waits for it.
        by: u8,
        /// The thread that takes it.
        on: u8,
    },
    /// Time passes.
    Tick,
}

/// Something that happened within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Happening {
    /// A load, or the first half of a read-modify-write.
    Read {
        /// The reader.
        thread: u8,
        /// What was read.
        loc: Loc,
        /// The value.
        value: Value,
        /// It came from the thread's own buffer.
        forwarded: bool,
    },
    /// A store entered the thread's buffer.
    Buffered {
        /// The writer.
        thread: u8,
        /// Where it will go.
        loc: Loc,
        /// The value.
        value: Value,
    },
    /// A store reached memory.
    Wrote {
        /// Whose store.
        thread: u8,
        /// Where.
        loc: Loc,
        /// The value.
        value: Value,
        /// Out of the thread's buffer.
        drained: bool,
    },
    /// The thread went past a full barrier.
    Fenced {
        /// Who.
        thread: u8,
    },
    /// The thread took the lock (its read and write are told as well).
    Locked {
        /// Who.
        thread: u8,
        /// The lock word.
        loc: Loc,
    },
    /// The thread went to sleep on the futex.
    Slept {
        /// Who.
        thread: u8,
        /// The futex.
        loc: Loc,
    },
    /// The thread found another value in the futex than it would have slept with.
    Passed {
        /// Who.
        thread: u8,
        /// The futex.
        loc: Loc,
    },
    /// The thread woke the sleepers of this mask.
    Woke {
        /// Who.
        thread: u8,
        /// The futex.
        loc: Loc,
        /// The sleeper.
        sleepers: u32,
    },
    /// The thread began to wait for interrupts on the threads of this mask.
    Asked {
        /// Who.
        thread: u8,
        /// The others.
        others: u32,
    },
    /// The interrupt that `by` waits for fell on `on`.
    Interrupted {
        /// The one that asked.
        by: u8,
        /// The one that took it.
        on: u8,
    },
    /// Time passed.
    Ticked,
    /// The thread named a location that does not exist.
    Faulted {
        /// Who.
        thread: u8,
    },
}

/// What a step would touch, for telling whether two steps commute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touch {
    /// Reads this location of memory.
    pub reads: Option<Loc>,
    /// Writes this location of memory.
    pub writes: Option<Loc>,
    /// Changes who sleeps on this futex.
    pub queue: Option<Loc>,
}

impl Touch {
    /// Whether the two touch something in common that one of them changes.
    pub fn conflicts(self, other: Touch) -> bool {
        let meets = |a: Option<Loc>, b: Option<Loc>| a.is_some() && a == b;
        meets(self.writes, other.writes)
            || meets(self.writes, other.reads)
            || meets(self.reads, other.writes)
            || meets(self.queue, other.queue)
    }
}
