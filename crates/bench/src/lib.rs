//! Benchmarks with controlled placement, interleaved blocks, sequential stopping and warnings about their own
//! measurement.
//!
//! A [`Bench`] has subjects, which run one [`Block`] of work, and places ([`Place`]) to run them at. Every round runs a
//! block of each subject in random order, the baseline twice (the A/A control). Each ratio to the baseline of the same
//! round goes into a sequential interval (`stats::Paired`), and the rounds end once all intervals are narrow or the
//! time is spent. The [`Report`] says which, with CPU time, context switches, steal, and warnings. [`Options`] are the
//! flags that every benchmark takes.

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
#[allow(deprecated)]
pub use place::Seats;
pub use place::{Cpu, Pinning, Place};
pub use report::{Estimate, Facts, Latency, Measurement, Report, Role, Row, Stopped, Table};
pub use table::{markdown, matrix, text};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
