//! Deciding from runs: what is asked, how runs are made, and how they become a verdict.
//!
//! What is asked: [`value`], [`path`], [`metric`], [`hypothesis`]. How runs are made: [`words`], [`scan`], [`runner`], or read:
//! [`lines`].
//! How they become a verdict: [`record`], [`trial`], [`rates`], [`pairs`], [`ratio`], [`guard`], [`dealing`],
//! [`verdict`]. How people see it: [`flags`],
//! [`progress`], [`output`],
//! [`page`]. Several at once: [`suite`].

pub(crate) mod dealing;
pub(crate) mod flags;
pub(crate) mod guard;
#[cfg(test)]
mod hostile;
pub(crate) mod hypothesis;
pub(crate) mod lines;
pub(crate) mod metric;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod pairs;
pub(crate) mod path;
pub(crate) mod progress;
pub(crate) mod rates;
pub(crate) mod ratio;
pub(crate) mod record;
pub(crate) mod runner;
pub(crate) mod scan;
pub(crate) mod session;
pub(crate) mod suite;
pub(crate) mod trial;
#[cfg(test)]
mod truth;
pub(crate) mod value;
pub(crate) mod verdict;
pub(crate) mod words;

use crate::failure::Failure;
use std::hash::{BuildHasher as _, Hasher as _};

/// The seed that the user gave, or a fresh one.
pub(crate) fn seed(given: Option<u64>) -> u64 {
    // The standard library keys its hash tables from the system's random numbers.
    given.unwrap_or_else(|| std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// Lets Ctrl-C end the running command and leave us the verdict so far.
pub(crate) fn catch_interrupts() -> Result<(), Failure> {
    uncontended_sys::interrupts::install()
        .map_err(|error| Failure::new(format!("cannot catch signals: {error}"), ""))
}

/// Whether the user has asked for the end.
pub(crate) fn interrupted() -> bool {
    uncontended_sys::interrupts::received().is_some()
}
