//! Deciding from runs: what is asked, how runs are made, and how they become a verdict. All of it is data; there is no
//! command line here.
//!
//! - What is asked: [`question`], with [`metric`], [`path`] and [`value`].
//! - How runs are made: [`runner`], [`around`], [`measure`], [`words`], [`scan`], [`revisions`]; or read instead:
//!   [`lines`].
//! - How runs become a [`verdict`]: a [`trial`] of [`rates`], of [`pairs`] (by [`ratio`], with [`spread`] and
//!   [`guard`]), of two [`sessions`] or by [`resampling`] labels. Without a question: a [`recording`].
//! - A trial with its log ([`record`], which has the machine's [`fingerprint`]), its budget and its [`progress`] line:
//!   [`session`].
//! - How many runs it will take: [`power`], also from a [`pilot`].
//! - All of this from flags or from TOML: [`plan`], [`suite`].
#![forbid(unsafe_code)]

pub mod around;
pub mod circumstances;
mod costs;
mod easier;
mod failure;
pub mod fingerprint;
pub mod guard;
pub mod lines;
mod logfile;
pub mod measure;
pub mod metric;
pub mod origin;
pub mod pairs;
pub mod path;
mod permuting;
pub mod pilot;
pub mod plan;
pub mod power;
pub mod progress;
pub mod question;
pub mod rates;
pub mod ratio;
pub mod record;
pub mod recording;
pub mod resampling;
pub mod revisions;
pub mod runner;
pub mod scan;
pub mod server;
pub mod session;
pub mod sessions;
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

/// The given seed, or a fresh one.
#[must_use]
pub fn seed(given: Option<u64>) -> u64 {
    // The standard library keys its hash tables from the system's random numbers.
    given.unwrap_or_else(|| std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// Makes Ctrl-C end the running command and keep the verdict so far.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn catch_interrupts() -> Result<(), Failure> {
    uncontended_sys::interrupts::install()
        .map_err(|error| Failure::new(format!("cannot catch signals: {error}"), ""))
}

/// Whether the user has pressed Ctrl-C.
#[must_use]
pub fn interrupted() -> bool {
    uncontended_sys::interrupts::received().is_some()
}

/// The old name of [`resampling`].
#[deprecated(note = "renamed to `resampling`")]
pub mod dealing {
    pub use crate::resampling::{ResampleTrial as DealTrial, finding};
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
