//! The library for C and C++: event counts, and rings for one producer and one consumer.
//!
//! # Contract
//! `include/uncontended_lib.h` is generated from these functions (`cargo xtask header`), with what has to be inlined
//! from `inline.h`. Nothing here unwinds. Null where something is needed, or memory that is none of ours, is undefined;
//! wrong *values* (a capacity of zero, a deadline in the past) are an [`Status`](status::Status).
//!
//! # Invariants
//! C1: a pointer to memory for values points to as many as the function's contract says, and nobody else uses them.
//!
//! # Evidence
//! tests/c_library.rs: a program in C and one in C++, built and run.

pub mod event_count;
pub mod spsc;
pub mod status;
