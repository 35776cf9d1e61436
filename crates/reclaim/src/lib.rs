//! Reclamation of memory that threads read without locks: hazard pointers and epochs, whose readers pay no fence.
//!
//! # Contract
//! A writer unlinks an object and retires it; it is freed when no reader can use it any more. Readers pay a store and a
//! light fence ([`uncontended_fence`]), the rare reclaimer pays a heavy one for all of them.
//!
//! | | [`hazard`] | [`epoch`] |
//! |---|---|---|
//! | a reader names | each object that it reads | the time at which it began to read |
//! | cost of a reader | a store and a second load for each object | the same once, for any number of objects |
//! | a reader that sleeps | keeps one object | keeps all objects that were retired since |
//! | garbage | bounded ([`hazard::Domain::bound`]) | unbounded; the reader is named ([`epoch::Collector::stalled`]) |
//!
//! # Evidence
//! tests/model_hazards.rs and tests/model_epochs.rs explore this code under C11 and x86-TSO, with light and heavy
//! fences as they are; tests/mutants holds bugs that they find.
//! # Sources
//! Michael, "Hazard Pointers", TPDS 2004; Fraser, "Practical lock-freedom", 2004 (epochs); Goldblatt, WG21 P1202.

pub mod epoch;
mod garbage;
pub mod hazard;
mod latch;
mod owned;
mod registry;
mod retired;
mod running;
mod thread;

pub use garbage::{Collected, Garbage, Limits};
pub use thread::{Life, Reader};
pub use uncontended_atomic::AtomicPtr;
pub use uncontended_fence::Refused;
