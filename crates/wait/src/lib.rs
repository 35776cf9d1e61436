//! Waiting that costs the others nothing: sleepers that pay for the publishers they wait for.
//!
//! # Contract
//! [`Sleepers`] is the foundation: threads sleep until a condition of any kind holds, and whoever makes conditions hold
//! calls `wake`, which is a load and a branch while nobody sleeps. A [`Deadline`] is absolute.

mod deadline;
mod patience;
mod sleepers;

pub use deadline::{Deadline, TimedOut};
pub use sleepers::Sleepers;
