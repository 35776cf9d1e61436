//! What happens at a lock and how it is recorded: the core of the observer, without calls into the C library.
//!
//! # Contract
//! [`site`] is what the observer knows about the calling thread. Everything else is computed here from atomics in the
//! record alone, so it can be unit-tested, explored by the model checker, and run under Miri. [`generations`]: which
//! lock an address is, in one process or ([`sharing`]) in several; [`summed`]: locks without entries of their own;
//! [`events`]: acquired, blocked, released; [`waiters`]: the waiters of a lock, and since when it could have been
//! taken; [`blame`]: the holds they waited for, and what those waited for (`chain`); [`shared`]: the same of
//! read-write locks; [`recent`]: of returns from condition variables; [`rounds`],
//! [`woken`]: which arrival or wakeup ended a wait; [`nested`]: the locks held when another was
//! taken; [`rows`]: a thread's rows, found by address; [`calls`]: its calls, found by where they return to;
//! [`stacks`]: the numbers of stacks; [`log`]: when each wait was; [`slept`]: whether its thread slept; [`spans`]:
//! what the program announces; [`maps`]: the kernel's list of a process's mappings. What the observer asks about the
//! process around it: [`slots`], a table of modules; [`segments`], [`notes`], [`symbols`], [`deadline`].
//! # Evidence
//! Unit tests next to each file, `tests/model.rs`, and `tests/programs` observed by `unc run`.

#![forbid(unsafe_code)]

pub mod blame;
pub mod calls;
pub mod cancelled;
mod chain;
mod counter;
pub mod deadline;
pub mod events;
mod free;
pub mod generations;
mod given_up;
mod holds;
mod list;
pub mod log;
pub mod maps;
pub mod nested;
pub mod notes;
pub mod passing;
pub mod recent;
mod releases;
pub mod rounds;
pub mod rows;
pub mod seen;
pub mod segments;
pub mod shared;
pub mod sharing;
pub mod site;
pub mod slept;
pub mod slots;
pub mod spans;
pub mod stacks;
pub mod summed;
pub mod symbols;
mod undivided;
pub mod waiters;
mod wakes;
pub mod wants;
pub mod woken;

/// The former name of [`waiters`].
#[deprecated(note = "use `waiters`")]
pub mod ledger {
    pub use crate::waiters::{Wait, count as waiters, list_of as of, opened};
}

/// The former name of [`generations`].
#[deprecated(note = "use `generations`")]
pub mod lives {
    pub use crate::generations::{created, destroyed, enter, is_dead, known};
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
