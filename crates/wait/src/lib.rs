//! Waiting that costs the others nothing: sleepers that pay for the publishers they wait for.
//!
//! # Contract
//! - [`Sleepers`], the foundation: threads sleep until a condition of any kind holds, and whoever makes conditions hold
//!   calls `wake`, which is a load and a branch while nobody sleeps.
//! - [`EventCount`]: a number of events, and threads that wait for it to change. [`single`] producer, whose increment
//!   is not an atomic read-modify-write, or [`many`].
//! - A [`Parker`]: a token for one thread. [`idle`]: what a loop does that polls instead.
//! - With the feature `async`, tasks wait for the same things alongside threads.
//! - A [`role`] of which there is one holder among several processes, who can be found to have died.
//! - A [`Deadline`] is absolute, so that a wait begun again is not a longer one.

mod deadline;
pub mod event_count;
mod flagged;
pub mod idle;
mod parker;
pub mod role;
mod sleepers;
mod spin;
#[cfg(feature = "async")]
mod tasks;
mod width;

pub use deadline::{Deadline, TimedOut};
pub use event_count::{ClaimError, Closed, EventCount, Producer, WaitError, many, single};
pub use flagged::LONGEST_SHARED_SLEEP;
pub use parker::{Parker, Unparker};
pub use sleepers::Sleepers;
pub use uncontended_atomic::Scope;
pub use uncontended_fence::{Backend, Reason, Refused, backend};
pub use width::Width;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
