//! Byte records of any length, written and read in place.
//!
//! # Contract
//! A producer claims room for a record, fills the [`Chunk`] in place, and commits it. A chunk that is dropped instead
//! is aborted, and the consumer never sees it. The consumer reads each [`Record`] in place, in the order of the claims,
//! and releases it; a record that is not released is read again. [`spsc`] has one producer, [`mpsc`] many; [`shared`]
//! is for memory that several processes map.
//!
//! The capacity is in bytes, rounded up to a power of two. A record takes 8 bytes plus its length, rounded up to a
//! multiple of 8, in one piece: if it does not fit before the end of the memory, the rest there is skipped. So the
//! longest record is a little less than half of the capacity; a claim for a longer one fails with
//! [`ClaimError::TooLong`](crate::ClaimError).
//!
//! A chunk is not cleared: it may contain bytes of earlier records.
//!
//! # Invariants
//! R1: the notifiers lie in the ring, which each side keeps.
//! R2: a claimed range belongs to its chunk alone until the chunk is committed or aborted; a record belongs to its
//!     consumer until it is released.
//! R3: the words of a ring are initialised, and live as long as a side.

#[cfg(feature = "std")]
mod blocking;
#[cfg(all(test, not(unc_model)))]
mod blocking_tests;
mod chunk;
#[cfg_attr(unc_model, expect(unnameable_types, reason = "tests need its methods alone"))]
#[cfg_attr(not(unc_model), allow(unreachable_pub, reason = "the checker's tests reach it"))]
mod door;
mod header;
#[cfg(all(feature = "std", not(unc_model)))]
mod io;
#[cfg(all(test, not(unc_model)))]
mod io_tests;
pub mod mpsc;
mod record;
#[cfg(all(feature = "std", not(unc_model)))]
pub mod shared;
#[cfg(all(test, not(unc_model)))]
mod shared_tests;
#[expect(unnameable_types, reason = "sealed")]
mod sides;
pub mod spsc;
#[cfg(all(test, not(unc_model)))]
mod tests;
#[expect(unnameable_types, reason = "a sealed trait names it")]
mod words;

pub use self::chunk::Chunk;
#[cfg(all(feature = "std", not(unc_model)))]
pub use self::io::Bytes;
pub use self::record::{Record, RecordError};
