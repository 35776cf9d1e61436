//! One producer, several consumers who each see every value, or share; some of them after others.
//!
//! # Contract
//! The producer pushes values, or claims room for several and publishes them at once. Each stage of the [`Plan`] sees
//! every value, in order: a consumer all by itself, a group by one of its members each. A consumer reads a [`Batch`] in
//! place, by shared reference, and releases it. A stage that comes after others sees a value once each of those has
//! released it.
//!
//! The producer waits for the slowest: a ring of capacity n is full when some stage has not released the value n
//! before. Values stay in the ring until others take their place, or the last handle goes: each is dropped once, there.
//!
//! A consumer that goes (is dropped, by a panic too) is no longer waited for by the producer. But whoever comes after
//! it sees what it released, and then [`PopError::Closed`](crate::PopError): a promise that a value was released is
//! never broken. Of a group this holds once all members have gone, or at the first value that a member took with it
//! unreleased. When the producer goes, everybody sees what is there, then `Closed`. When all consumers have gone, the
//! producer is told `Closed` from then on.
//!
//! # State
//! `published`, written by the producer; of each stage `front`, and of each member of a group `held`. All are cursors.
//!
//! I1: slots of positions before `published` are written; only the producer writes slots, and only of positions from
//!     `published` to `gate + capacity`, where `gate` is some value that the least of what all living stages hold had.
//! I2: a consumer's `front` is the oldest position that it may still read.
//! I3: a group's `front` is the oldest position that nobody has claimed. A member that may still read a position has
//!     said so in its `held` before it moved `front` past that position; `held` is `END` while it may read none.
//! I4: each cursor has one writer at a time, but the `front` of a group, which its members move by compare-and-swap.
//! I5: a slot holds a value once one of its positions was written, published or not; `written` tells how many were.
//! I6: the slots live as long as the ring, which every side keeps.
//!
//! # Edges
//! broadcast-publish: the producer stores `published` -> a consumer loads it. Carries the values.
//! broadcast-release: a consumer stores its `front`, or a member its `held` -> the producer, and who comes after, load
//!     it. Carries the end of the last read.
//! broadcast-claim: a member moves its group's `front` -> the same load it. Carries the member's `held`.
//! broadcast-last: a member of a group goes -> the last one of it goes. Carries the group's `front`.
//!
//! # Evidence
//! Tests below and in `plan`; tests/model_broadcast.rs, tests/model_turns.rs; compare/: `r8_idle_workers`.
//!
//! # Sources
//! Thompson, Farley, Barker, Gee, Stewart: Disruptor, 2011 (positions, gating, stages). Hazard pointers, Michael 2004,
//! for the way of a group: say what you hold, then claim it.

mod batch;
mod blocking;
#[cfg(all(test, not(unc_model)))]
mod blocking_tests;
mod claim;
mod consumer;
mod plan;
mod producer;
mod ring;
#[cfg(all(test, not(unc_model)))]
mod tests;

pub use self::batch::{Batch, Iter};
pub use self::claim::Claim;
pub use self::consumer::{Consumer, Consumers};
pub use self::plan::{Plan, PlanError};
pub use self::producer::Producer;
pub use self::ring::Sides;
