//! Event counts: a number that grows with every event, and threads that wait for it to change.
//!
//! # Contract
//! A notifier records what happened, then increments the count. A waiter reads the count, checks whether there is
//! anything for it, and if not waits until the count differs from what it read. No event is missed, and a thread that
//! sees an increment sees what happened before it. `add(n)` counts n events at once, so the count can be the cursor of
//! a log or a ring.
//!
//! Values are modulo 2^31 (`u32`) or 2^63 (`u64`): compare them for equality or by distance, never by size. A wait for
//! a change misses the change if exactly a multiple of 2^31 (2^63) events falls between the read and the sleep.
//!
//! | | incremented by | increment while no thread sleeps | a sleeper needs |
//! |---|---|---|---|
//! | [`single::portable`] | one thread | a store, a load, a branch | a heavy fence |
//! | `single::one_word` (x86-64) | one thread | an addition to memory without LOCK, a test, a branch | a heavy fence |
//! | [`many`] | any thread | a LOCKed addition, a branch | nothing |
//!
//! So all but `many` need membarriers from the crate `fence`; where those are refused, their sleepers use bounded
//! sleeps.
//!
//! # Invariants
//! V1: the final value is the number of events, modulo its width.
//! V2: once stores have arrived and wakeups are made, no thread sleeps without a time limit for a change of a value
//!     that has changed. (A thread that `add_and_wake_one` left asleep on purpose waits for the next event.)
//! V3: where barriers are refused, each sleeper checks again by itself within one bounded sleep.
//! V4: a wait reports a change only if there was one.
//! V5: every clear of the flag is followed by a wakeup of all.
//! V6: a thread that sees an event counted sees what happened before it.
//! V7: closing the count wakes all waiters, and so does losing the producer in any way.
//! V8: no wait times out early.
//!
//! # Evidence
//! tests/model_event_counts.rs: V1 to V7 explored; tests/event_counts.rs: all of them with real threads,
//! V8 and wraparound; tests/refused.rs: V3; tests/pause.rs, tests/faults.rs: under faults. compare/: `u1_publish`,
//! `u2_wake`.

mod count;
mod form;
mod one_word;
mod producer;
mod two_words;
#[cfg(target_arch = "x86_64")]
pub(crate) mod unlocked;

pub use count::EventCount;
pub use form::{Form, SingleProducer, Valued};
#[cfg(target_arch = "x86_64")]
pub use one_word::Unlocked;
pub use one_word::{Locked, OneWord};
pub use producer::Producer;
pub use two_words::TwoWords;

/// Event counts with one producer, represented by a [`Producer`].
///
/// The portable form is the default on x86-64 too. It keeps the count in the handle, and in a register where the handle
/// is a local, so an increment, or an addition of any number, never waits for a load of what it stored last. An
/// addition to memory does wait, unless the processor forwards the sum without going through memory. Besides, C11
/// covers each step of the portable form, and no increment ever overwrites a flag.
pub mod single {
    /// 31 bits, default form.
    pub type EventCount32 = portable::EventCount32;
    /// 63 bits, default form.
    pub type EventCount64 = portable::EventCount64;

    /// A version and sleepers in two words, on every processor.
    pub mod portable {
        /// 31 bits.
        pub type EventCount32 = crate::event_count::EventCount<crate::event_count::TwoWords<u32>>;
        /// 63 bits.
        pub type EventCount64 = crate::event_count::EventCount<crate::event_count::TwoWords<u64>>;
    }

    /// A version and a flag in one word, incremented by one x86 instruction.
    #[cfg(target_arch = "x86_64")]
    pub mod one_word {
        use crate::event_count::{EventCount, OneWord, Unlocked};

        /// 31 bits.
        pub type EventCount32 = EventCount<OneWord<u32, Unlocked>>;
        /// 63 bits.
        pub type EventCount64 = EventCount<OneWord<u64, Unlocked>>;
    }
}

/// Event counts that any thread may increment.
pub mod many {
    use super::{EventCount, Locked, OneWord};

    /// 31 bits.
    pub type EventCount32 = EventCount<OneWord<u32, Locked>>;
    /// 63 bits.
    pub type EventCount64 = EventCount<OneWord<u64, Locked>>;
}

use crate::deadline::TimedOut;
use crate::role::Holder;
use std::fmt;

/// The event count is closed, and its last value was not the one waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event count is closed")
    }
}

impl std::error::Error for Closed {}

/// Why a wait with a deadline failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitError {
    /// The deadline has passed.
    TimedOut,
    /// The event count is closed.
    Closed,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::TimedOut => TimedOut.fmt(f),
            WaitError::Closed => Closed.fmt(f),
        }
    }
}

impl std::error::Error for WaitError {}

impl From<TimedOut> for WaitError {
    fn from(_: TimedOut) -> WaitError {
        WaitError::TimedOut
    }
}

impl From<Closed> for WaitError {
    fn from(_: Closed) -> WaitError {
        WaitError::Closed
    }
}

/// Why a producer could not be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// There is one already.
    Taken,
    /// The last one closed the count.
    Closed,
    /// The process of the last one died; see [`EventCount::take_over`].
    Died {
        /// Its process ID.
        pid: u32,
    },
}

impl From<Holder> for ClaimError {
    fn from(holder: Holder) -> ClaimError {
        match holder {
            Holder::GaveUp => ClaimError::Closed,
            Holder::Died { pid } => ClaimError::Died { pid },
            Holder::Nobody | Holder::Here | Holder::Lives { .. } => ClaimError::Taken,
        }
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Taken => f.write_str("the event count already has a producer"),
            ClaimError::Closed => Closed.fmt(f),
            ClaimError::Died { pid } => write!(f, "process {pid} died as its producer"),
        }
    }
}

impl std::error::Error for ClaimError {}
