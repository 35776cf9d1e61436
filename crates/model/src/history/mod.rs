//! Linearizability of recorded histories: could the operations of several clients have run one at a time?
//!
//! Map of the module. Input: [`Operation`]s, from a [`Recorder`] or a file of [`lines`]. Specifications: [`spec`],
//! [`specs`]. Decision: [`check`]; a [`timeline`] orders calls and returns, [`shortcuts`] decide without search where
//! they can, and [`search`] decides the rest. [`check_on`] searches several keys in parallel. [`shrink()`] finds the
//! operations that matter. As a command: `unc linearize`.
//!
//! Decided without search, in linear time after a sort: all sets; queues, stacks and registers whose values are
//! distinct (registers without exchanges; histories with pending dequeues and pops may still need search). Empty
//! dequeues and pops are included. Search decides the rest, and the report says which of the two decided. Equal times
//! do not order operations, even those of one client; an operation that never returned may have taken effect at any
//! time or not at all; hitting a limit is neither yes nor no.
//!
//! # Evidence
//! tests/histories: every algorithm and every shrunk counterexample against plain enumeration of all orders, at least
//! 10,000 random histories of each structure (`UNC_DEPTH=full`: 20 times as many).

mod check;
pub mod lines;
mod mix;
mod operation;
mod picture;
mod recorder;
mod search;
mod shortcuts;
mod shrink;
mod spec;
pub mod specs;
mod timeline;

pub use check::{Bound, Limits, Progress, Refutation, Report, Verdict, check, check_on, search};
pub use operation::Operation;
pub use picture::{Bar, Picture};
pub use recorder::{Client, Recorder};
pub use shrink::{Core, shrink};
pub use spec::{Group, OperationOf, Shortcut, Spec};
pub use timeline::{Event, MOST_OPERATIONS, NEVER, Timeline};
