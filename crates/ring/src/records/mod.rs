//! Byte records of any length, written and read in place.
//!
//! # Contract
//! A producer claims room for a record, fills the [`Chunk`] in place, and commits it; dropped instead, it is aborted
//! and nobody sees it. The consumer reads each [`Record`] in place, in the order of the claims, and releases it; what
//! is not released is read again. [`spsc`] for one producer, [`mpsc`] for many.
//!
//! The capacity is in bytes, rounded up to a power of two. A record takes 8 bytes and its own, rounded up to 8, all in
//! one piece: if there is less than that to the end of the memory, that is skipped. So the longest record is a little
//! less than half of the capacity; a longer one is told at once ([`ClaimError::TooLong`](crate::ClaimError)). In memory
//! that several processes map: [`shared`].
//!
//! A chunk is not cleared: there may be bytes of earlier records in it.
//!
//! # Invariants
//! R1: a notifier lies in the ring, which each side keeps.
//! R2: a claimed range is its chunk's alone until that is committed or aborted; a record is its consumer's until it is
//!     released.
//! R3: the words of a ring are initialised, and there as long as a side is.

mod blocking;
#[cfg(all(test, not(unc_model)))]
mod blocking_tests;
mod chunk;
mod header;
pub mod mpsc;
mod record;
#[cfg(not(unc_model))]
pub mod shared;
#[cfg(all(test, not(unc_model)))]
mod shared_tests;
mod sides;
pub mod spsc;
#[cfg(all(test, not(unc_model)))]
mod tests;
mod words;

pub use self::chunk::Chunk;
pub use self::record::{Record, RecordError};
