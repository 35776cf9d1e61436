//! Event counts: a number that grows with every event, and threads that wait for it to change.
//!
//! # Contract
//! Whoever makes something happen writes it down, then increments the count. Whoever waits reads the count, looks
//! whether anything is there for it, and if not waits until the count is no longer what it read. Then nothing is
//! missed, and what happened before an increment is seen by whoever sees it counted. `add(n)` counts n events at once,
//! so that the count can be the cursor of a log or a ring.
//!
//! Values are modulo 2^31 (`u32`) or 2^63 (`u64`): compare them for equality or by distance, never by size. Waiting for
//! a change misses a multiple of 2^31 (2^63) events that fall between reading and sleeping.
//!
//! | | increments | increment while nobody sleeps | needs of a sleeper |
//! |---|---|---|---|
//! | [`single::portable`] | one thread | a store, a load, a branch | a heavy fence |
//! | `single::one_word` (x86-64) | one thread | an addition to memory without LOCK, a test, a branch | a heavy fence |
//! | [`many`] | any thread | a LOCKed addition, a branch | nothing |
//!
//! All but `many` therefore ask the crate `fence` for membarriers; where those are refused, their sleepers sleep for
//! bounded times.
//!
//! # Invariants
//! V1: the final value is the number of events, modulo its width.
//! V2: nobody sleeps without a time limit for a value to change that has changed, once stores have arrived and wake-ups
//!     are made. (Who was left asleep by `add_and_wake_one`, on purpose, waits for the next.)
//! V3: where barriers are refused, whoever sleeps comes back by itself within one nap.
//! V4: "changed" is said only if it did.
//! V5: every clear of the flag is followed by a wake-up of all.
//! V6: what happened before an event is seen by whoever sees it counted.
//! V7: a close, and a producer's end by whatever way, wakes all who wait.
//! V8: no deadline is early.
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

/// Event counts with one producer, which a [`Producer`] stands for.
///
/// The portable form is the default on x86-64 too. It keeps the count in the handle, in a register where the handle is
/// a local, so that an increment, and an addition of any number, never waits for a load of what it stored last. An
/// addition to memory does, but where the processor hands its sum on without going through memory. Besides, C11 covers
/// each step of the portable form, and no increment ever stores a flag away.
pub mod single {
    /// 31 bits, in the default form.
    pub type EventCount32 = portable::EventCount32;
    /// 63 bits, in the default form.
    pub type EventCount64 = portable::EventCount64;

    /// A version and sleepers in two words, on every processor.
    pub mod portable {
        /// 31 bits.
        pub type EventCount32 = crate::event_count::EventCount<crate::event_count::TwoWords<u32>>;
        /// 63 bits.
        pub type EventCount64 = crate::event_count::EventCount<crate::event_count::TwoWords<u64>>;
    }

    /// A version and a flag in one word, by an x86 instruction.
    #[cfg(target_arch = "x86_64")]
    pub mod one_word {
        use crate::event_count::{EventCount, OneWord, Unlocked};

        /// 31 bits.
        pub type EventCount32 = EventCount<OneWord<u32, Unlocked>>;
        /// 63 bits.
        pub type EventCount64 = EventCount<OneWord<u64, Unlocked>>;
    }
}

/// Event counts that any thread increments.
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

/// No more events come, and the last one was not what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event count is closed")
    }
}

impl std::error::Error for Closed {}

/// Why a wait with a deadline ended without what it waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitError {
    /// The deadline has passed.
    TimedOut,
    /// No more events come.
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

/// Why an event count has no producer to give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// There is one.
    Taken,
    /// There was one, and it has closed the count.
    Closed,
    /// There was one, and its process died: see [`EventCount::take_over`].
    Died {
        /// That process's number.
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
            ClaimError::Taken => f.write_str("the event count has a producer"),
            ClaimError::Closed => Closed.fmt(f),
            ClaimError::Died { pid } => write!(f, "process {pid} died as its producer"),
        }
    }
}

impl std::error::Error for ClaimError {}
