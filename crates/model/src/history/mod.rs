//! Linearizability of recorded histories: could the operations of several clients have run one at a time?
//!
//! Map of the module. Input: [`Operation`]s, from a [`Recorder`] or a file of [`lines`]. Specifications: [`spec`],
//! [`specs`]. Decision: [`check`]; a [`timeline`] orders calls and returns, [`shortcuts`] decide without search where
//! they can, and [`search`] decides the rest.

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
