//! Comparisons that can be believed: where threads run, what is interleaved with what, when it is enough, and what is
//! wrong with the measurement.
//!
//! A [`Bench`] has subjects, code that runs one [`Block`] of work, and places ([`Place`]) to run them at. Every round
//! runs a block of each subject in random order, the baseline twice (the A/A control); each ratio to the baseline of
//! the same round goes into a sequential interval (`stats::Paired`), and the rounds end once all are narrow or the time
//! is spent. The [`Report`] says which, with CPU time, switches, steal, and what to doubt. [`Options`] are the flags
//! that every benchmark takes.

#![forbid(unsafe_code)]

mod bench;
mod block;
mod guard;
mod instruments;
mod json;
mod machine;
mod options;
mod place;
mod report;
mod run;
mod table;
mod tally;
mod warnings;

pub use bench::{Bench, Ratio};
pub use block::Block;
pub use instruments::{Host, Instruments, Machine, Usage};
pub use json::text as json;
pub use options::Options;
pub use place::{Cpu, Place, Seats};
pub use report::{Estimate, Facts, Latency, Measurement, Report, Role, Row, Stopped, Table};
pub use table::{markdown, matrix, text};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
