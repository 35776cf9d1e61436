//! The library for C and C++: event counts, and rings for one producer and one consumer.
//!
//! # Contract
//! `include/uncontended_lib.h` is generated from these functions (`cargo xtask header`), with the inlined part from
//! `inline.h`. Nothing here unwinds. Passing null where a pointer is required, or an invalid pointer, is undefined
//! behaviour; invalid *values* (a capacity of zero, a deadline in the past) are reported as a
//! [`Status`](status::Status).
//!
//! # Invariants
//! C1: a pointer to memory for values points to as many as the function's contract says, and nothing else accesses them
//!     during the call.
//!
//! # Evidence
//! tests/c_library.rs: a program in C and one in C++, built and run.

pub mod event_count;
pub mod spsc;
pub mod status;
