//! Litmus programs on the real machine: pinned threads, millions of runs, a histogram of final states.
//!
//! `compile` turns a program into machine code, with the instructions of `assembler`; `layout` says where its words lie
//! in `words`; `plan` varies how a round is run; [`mod@run`] runs it and counts with `tally`. [`Refusal`] says why a
//! program cannot run.
//!
//! The crate compiles everywhere; on any architecture other than x86-64 it refuses every program.

mod assembler;
mod barrier;
mod compile;
mod layout;
mod plan;
mod refusal;
mod run;
mod tally;
mod words;

pub use layout::LOCATIONS;
pub use refusal::Refusal;
pub use run::{Histogram, Setup, run};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
