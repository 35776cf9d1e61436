//! Was what several clients saw of one structure as if their operations had run one at a time?
//!
//! The table of contents. What is recorded: [`Operation`], by a [`Recorder`] or in a file of [`lines`]. What it is held
//! against: [`spec`], [`specs`]. How it is decided: [`check`]; a [`timeline`] puts calls and returns in order,
//! [`shortcuts`] decide without search where they can, [`search`] decides the rest.

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
