//! Deciding from runs: what is asked, how runs are made, and how they become a verdict. All of it is data; no command
//! line.
//!
//! What is asked: [`value`], [`metric`] ([`path`]), [`question`]. How runs are made: [`words`], [`scan`], [`runner`],
//! [`around`], [`measure`]; or read: [`lines`]. How they become a verdict: [`record`], [`trial`] (of [`rates`], of
//! [`pairs`] by their [`ratio`], with their [`spread`] and under a [`guard`], [`dealing`] labels), [`verdict`]. A trial
//! with its log and its budget: [`session`], whose [`progress`] is told. All of it at once, from flags or from TOML:
//! [`plan`], [`suite`].
#![forbid(unsafe_code)]

pub mod around;
pub mod dealing;
mod failure;
pub mod guard;
pub mod lines;
pub mod measure;
pub mod metric;
pub mod pairs;
pub mod path;
pub mod plan;
pub mod progress;
pub mod question;
pub mod rates;
pub mod ratio;
pub mod record;
pub mod runner;
pub mod scan;
pub mod session;
pub mod spread;
pub mod suite;
pub mod trial;
pub mod value;
pub mod verdict;
pub mod words;

pub use failure::Failure;
pub use question::Question;
pub use session::Session;
pub use trial::Trial;
pub use verdict::Verdict;

use std::hash::{BuildHasher as _, Hasher as _};

/// The seed that the user gave, or a fresh one.
#[must_use]
pub fn seed(given: Option<u64>) -> u64 {
    // The standard library keys its hash tables from the system's random numbers.
    given.unwrap_or_else(|| std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// Lets Ctrl-C end the running command and leave the verdict so far.
///
/// # Errors
/// Where signals cannot be caught.
pub fn catch_interrupts() -> Result<(), Failure> {
    uncontended_sys::interrupts::install()
        .map_err(|error| Failure::new(format!("cannot catch signals: {error}"), ""))
}

/// Whether the user has asked for the end.
#[must_use]
pub fn interrupted() -> bool {
    uncontended_sys::interrupts::received().is_some()
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
