//! The library for C and C++: event counts, rings, lanes, broadcasts, and byte records, also between processes.
//!
//! # Contract
//! `include/uncontended_lib.h` is generated from these functions (`cargo xtask header`), with the inlined part from
//! `inline.h`. Nothing here unwinds. An invalid pointer is undefined behaviour; null, and invalid *values* (a capacity
//! of zero, a deadline in the past), are reported as a [`Status`](status::Status). Null for an event count, which is
//! memory of the caller's, is undefined behaviour.
//!
//! # Invariants
//! C1: a pointer to memory for values points to as many as the function's contract says, and nothing else accesses them
//!     during the call.
//!
//! # Evidence
//! tests/c_library.rs: programs in C and C++, built and run. Tests below, also under Miri: memory in place.

pub mod broadcast;
mod cells;
pub mod elements;
pub mod event_count;
pub mod lanes;
pub mod records;
pub mod shared_records;
pub mod spsc;
pub mod status;
#[cfg(test)]
mod tests;
