//! Sequential statistics: you may look after every observation.
//!
//! Start with [`Question`]: is a rate at least R? All tests of rates share one engine, [`Prior`]: an e-process against
//! a rate, and the confidence sequence that is its inversion. Everything certified here errs only on the safe side, and
//! is bit-identical on every machine.
#![forbid(unsafe_code)]

mod ball;
pub mod bursts;
pub mod change;
pub mod credible;
mod deviance;
mod drive;
mod eprocess;
pub mod histogram;
mod judge;
mod ln;
mod mass;
pub mod modes;
pub mod paired;
pub mod permutation;
pub mod power;
pub mod quantile;
pub mod quantile_ratio;
mod rate;
mod rng;
pub mod robbins;
pub mod sampling;
mod stirling;
pub mod tails;

pub use drive::{Limits, Stopped, drive};
pub use eprocess::{Price, Prior};
pub use judge::{Evidence, Judge, Method, Question, Report, Verdict};
pub use paired::{Claim, Margin, Paired, Relation};
pub use permutation::{Permutation, Sides, Significance, Statistic};
pub use power::Power;
pub use quantile::QuantileSequence;
pub use quantile_ratio::QuantileRatio;
pub use rate::{Counts, Invalid, MAX_TRIALS, MaxError, Rate};
pub use rng::Rng;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
