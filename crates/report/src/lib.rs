//! What a run showed, as data, and the forms in which people read it.
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod facts;
pub mod findings;
pub mod folded;
pub mod history;
pub mod html;
pub mod json;
pub mod perfetto;
pub mod rows;
pub mod run;
pub mod svg;
pub mod terminal;
pub mod text;
pub mod tracefile;
pub mod units;
pub mod verdict;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
