//! Blocking waits that cost the notifier next to nothing: the sleeper pays for the barrier.
//!
//! # Contract
//! - [`Sleepers`], the foundation: threads sleep until a condition of any kind holds. A publisher makes it hold and
//!   calls `wake`, which is a load and a branch while no thread sleeps.
//! - [`EventCount`]: a number of events, and threads that wait for it to change. It has a [`single`] producer, whose
//!   increment is not an atomic read-modify-write, or [`many`].
//! - [`Parker`]: a token for one thread. [`idle`]: strategies for loops that poll instead.
//! - With the feature `async`, tasks wait for the same things alongside threads.
//! - [`role`]: a role that one of several processes holds at a time; a holder that died is detected.
//! - [`Deadline`]: absolute, so a retried wait does not last longer.

mod deadline;
pub mod event_count;
mod flagged;
pub mod idle;
mod parker;
#[expect(unnameable_types, reason = "sealed")]
mod ready;
pub mod role;
mod sleepers;
mod spin;
#[cfg(feature = "async")]
mod tasks;
#[expect(unnameable_types, reason = "sealed")]
mod width;

pub use deadline::{Deadline, TimedOut};
pub use event_count::{ClaimError, Closed, EventCount, Producer, WaitError, many, single};
pub use flagged::LONGEST_SHARED_SLEEP;
pub use parker::{Parker, Unparker};
pub use ready::Ready;
pub use sleepers::Sleepers;
#[cfg(feature = "async")]
pub use tasks::Ticket;
pub use uncontended_atomic::Scope;
pub use uncontended_fence::{Backend, Reason, Refused, backend};
pub use width::Width;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
