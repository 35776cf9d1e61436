//! One producer, and consumers that each see every value or share them; some may follow others.
//!
//! # Contract
//! The producer pushes values, or claims room for several and publishes them together. Each stage of the [`Plan`] sees
//! every value in order. A stage is a single consumer, or a group whose members share the values. A consumer reads a
//! [`Batch`] in place, by shared reference, and releases it; **a batch that is not released is read again, and holds up
//! the producer.** Where values are cheap to clone, `pop`, `iter` and `for value in batch` release by themselves. A
//! stage that follows others sees a value once all of them have released it.
//!
//! The producer waits for the slowest stage: a ring of capacity n is full while a stage has not released the value n
//! positions back. A consumer that has not been taken from [`Consumers`] is one that it waits for; drop `Consumers`
//! once all are taken. Values stay in the ring until they are overwritten or the last handle is dropped; each is
//! dropped once, there.
//!
//! The producer no longer waits for a consumer that was dropped (by a panic, too). But a stage that follows it sees
//! only what it released, then [`PopError::Closed`](crate::PopError): no value passes a stage unreleased. For a group
//! this applies once all members have gone, or at the first value that a dropped member left unreleased. After the
//! producer is dropped, all consumers see what is there, then `Closed`. After the last consumer is dropped, the
//! producer gets `Closed`.
//!
//! # State
//! Cursors: `published`, written by the producer; `front` of each stage; `held` of each member of a group.
//!
//! I1: slots before `published` are written. Only the producer writes slots, and only at positions from `published` to
//!     `gate + capacity`, where `gate` is a past or present minimum of the positions that living stages hold.
//! I2: a consumer's `front` is the oldest position that it may still read.
//! I3: a group's `front` is the oldest unclaimed position. A member stores each position that it may read in its `held`
//!     before it moves `front` past that position; `held` is `END` while it may read none.
//! I4: each cursor has one writer at a time, except the `front` of a group, which its members move by compare-and-swap.
//! I5: a slot holds a value once one of its positions was written, published or not; `written` counts these positions.
//! I6: the slots live as long as the ring, which every side keeps.
//!
//! # Edges
//! broadcast-publish: the producer stores `published` -> a consumer loads it. Carries the values.
//! broadcast-release: a consumer stores its `front`, or a member its `held` -> the producer and later stages load it.
//!     Carries the end of the last read.
//! broadcast-claim: a member moves its group's `front` -> the producer and later stages load it. Carries the member's
//!     `held`.
//! broadcast-last: a member of a group is dropped -> the group's last member is dropped. Carries the group's `front`.
//!
//! # Evidence
//! Tests below and in `plan`; tests/model_broadcast.rs, tests/model_turns.rs; compare/: `r8_idle_workers`.
//!
//! # Sources
//! Thompson, Farley, Barker, Gee, Stewart: Disruptor, 2011 (positions, gating, stages). Hazard pointers, Michael 2004:
//! a member of a group announces what it holds, then claims it.

mod batch;
#[cfg(feature = "std")]
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

pub use self::batch::{Batch, Cloned, Iter};
#[cfg(feature = "std")]
pub use self::blocking::{BlockingConsumer, BlockingProducer};
pub use self::claim::Claim;
pub use self::consumer::{Consumer, Consumers};
pub use self::plan::{MAX_MEMBERS, Plan, PlanError};
pub use self::producer::Producer;
pub use self::ring::Sides;
