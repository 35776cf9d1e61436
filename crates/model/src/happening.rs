//! Steps: the actors that take them, their effects, and the locations they touch.

use crate::program::{Loc, Value};

/// The actor of a step: a thread, its store buffer, an interrupt or the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    /// A thread runs its next operation.
    Thread(u8),
    /// The thread's oldest store reaches memory.
    Drain(u8),
    /// The interrupt that `by` waits for hits `on`.
    Interrupt {
        /// The waiting thread.
        by: u8,
        /// The interrupted thread.
        on: u8,
    },
    /// Time passes.
    Tick,
}

/// An effect of a step.
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
        /// The writer.
        thread: u8,
        /// Where.
        loc: Loc,
        /// The value.
        value: Value,
        /// The store came from the thread's buffer.
        drained: bool,
    },
    /// The thread passed a full barrier.
    Fenced {
        /// The thread.
        thread: u8,
    },
    /// The thread took the lock (its read and its write are listed too).
    Locked {
        /// The thread.
        thread: u8,
        /// The lock word.
        loc: Loc,
    },
    /// The thread went to sleep on the futex.
    Slept {
        /// The thread.
        thread: u8,
        /// The futex.
        loc: Loc,
    },
    /// A futex wait returned at once: the value was not the expected one.
    Passed {
        /// The thread.
        thread: u8,
        /// The futex.
        loc: Loc,
    },
    /// The thread woke the sleepers in this mask.
    Woke {
        /// The waker.
        thread: u8,
        /// The futex.
        loc: Loc,
        /// The threads woken, as a mask.
        sleepers: u32,
    },
    /// The thread began to wait for interrupts on the threads in this mask.
    Asked {
        /// The waiting thread.
        thread: u8,
        /// The threads to interrupt, as a mask.
        others: u32,
    },
    /// The interrupt that `by` waits for hit `on`.
    Interrupted {
        /// The waiting thread.
        by: u8,
        /// The interrupted thread.
        on: u8,
    },
    /// Time passed.
    Ticked,
    /// The thread accessed a location that does not exist.
    Faulted {
        /// The thread.
        thread: u8,
    },
}

/// The locations that a step would touch; decides whether two steps commute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touch {
    /// Reads this memory location.
    pub reads: Option<Loc>,
    /// Writes this memory location.
    pub writes: Option<Loc>,
    /// Changes the sleepers on this futex.
    pub queue: Option<Loc>,
}

impl Touch {
    /// Whether the two touch a location in common and one of them changes it.
    pub fn conflicts(self, other: Touch) -> bool {
        let meets = |a: Option<Loc>, b: Option<Loc>| a.is_some() && a == b;
        meets(self.writes, other.writes)
            || meets(self.writes, other.reads)
            || meets(self.reads, other.writes)
            || meets(self.queue, other.queue)
    }
}
