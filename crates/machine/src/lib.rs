//! Litmus programs on the real machine: pinned threads, millions of runs, a histogram of final states.
//!
//! The table of contents. A program becomes machine code in `compile`, with the instructions of `assembler`; `layout`
//! says where its words lie in `words`; `plan` varies how a round is run, and [`mod@run`] runs it and counts with
//! `tally`.
//! Why a program is not run: [`Refusal`].
//!
//! The crate compiles everywhere; on another architecture than x86-64 every program is refused.

mod assembler;
mod compile;
mod layout;
mod meeting;
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
