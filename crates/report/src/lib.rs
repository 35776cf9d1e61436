//! A run as data, and the forms in which people read it.
#![forbid(unsafe_code)]

pub mod aggregate;
mod called;
mod code;
mod cost;
mod deadlocks;
pub mod facts;
pub mod findings;
pub mod folded;
mod frames;
mod hangs;
mod helpers;
pub mod history;
pub mod html;
mod inversions;
pub mod json;
mod names;
mod only;
mod path;
pub mod perfetto;
mod pieces;
pub mod power;
pub mod rows;
pub mod run;
mod spans;
mod summary;
#[cfg(target_os = "linux")]
pub mod survey;
pub mod svg;
pub mod terminal;
pub mod terms;
pub mod tracefile;
pub mod track;
pub mod verdict;

/// Text made safe to print and cut to width.
#[deprecated(note = "use `uncontended_figures::text`")]
pub mod text {
    pub use uncontended_figures::text::*;
}

/// Figures as people read them.
#[deprecated(note = "use `uncontended_figures`")]
pub mod units {
    pub use uncontended_figures::{
        bytes, count, duration, duration_f, number, number as times, percent, short,
    };
}

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
