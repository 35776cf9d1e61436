//! What happens at a lock, and what of it goes into the record: the core of the observer, without a call of the C
//! library.
//!
//! # Contract
//! [`site`] is what the observer tells of the calling thread; everything else is computed here, from atomics in the
//! record alone, so that it can be tested, explored by the model checker, and run under Miri. [`lives`]: which lock an
//! address is; [`events`]: acquired, blocked, released; [`ledger`]: who waits, and since when a lock could have been
//! had; [`stacks`]: the numbers of stacks; [`maps`]: what the kernel tells of a process's memory.
//! # Evidence
//! Unit tests next to each file, `tests/model.rs`, and the programs of `tests/programs` through the observer.

#![forbid(unsafe_code)]

pub mod events;
pub mod ledger;
pub mod lives;
pub mod maps;
pub mod site;
pub mod stacks;
