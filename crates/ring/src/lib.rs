//! Rings: bounded queues over a fixed array, each written by one side at a time, without a lock and without a copy.
//!
//! # Contract
//! - [`spsc`]: one producer, one consumer. Wait-free; no atomic read-modify-write anywhere.
//! - [`mpsc`]: many producers, one consumer. A push claims its slot by a compare-and-swap.
//! - [`broadcast`]: one producer; consumers who each see every value, or share, some of them after others.
//! - [`lossy`]: one producer that never waits; observers who are told what they lost.
//! - [`records`]: byte records of any length, written and read in place, from one producer or many to one consumer.
//!
//! A ring of capacity n takes n values, whatever n is; its slots are rounded up to a power of two. A push that fails
//! gives the value back. Sides are handles that cannot be cloned unless the ring allows many of them. When a side goes
//! (it is dropped, by a panic too), the other is told: what was pushed can still be popped, then comes `Closed`.
//!
//! Rings never sleep. After each change that somebody might wait for they ring a [`bell`]: [`Silent`] for those who
//! poll, [`Sleepers`](uncontended_wait::Sleepers) for those who sleep.
//!
//! # State
//! The pieces that all rings share: `position` (where in the stream, and whether its writer has gone), `slots` (the
//! array), `view` (how a side finds and fetches slots), `pace` (how a consumer keeps out of the way), [`bell`], `given`
//! (memory that several processes share), `error`.
//!
//! # Evidence
//! Unit tests, also under Miri and on AArch64. tests/model.rs and others: every execution of the very code that C11 or
//! x86-TSO allows; tests/mutants: the bugs that they find.

pub mod bell;
pub mod broadcast;
mod error;
#[cfg(not(unc_model))]
mod given;
pub mod lossy;
pub mod mpsc;
mod pace;
mod plain;
mod position;
pub mod records;
mod slots;
pub mod spsc;
mod view;

pub use bell::Silent;
pub use error::{CapacityError, ClaimError, PopError, PushError};
pub use plain::Plain;
pub use slots::MAX_CAPACITY;
