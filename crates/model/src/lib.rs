//! Every execution of a small concurrent program, under a stated memory model.
//!
//! Map of the crate. What runs: [`program`]. How it runs: [`memory`] (what loads and stores mean), [`state`], [`step`].
//! Two engines use these: [`search`] (visits every state once; minimal counterexamples) and [`dpor`] (runs one
//! execution of every class; counts). A third engine, [`axioms`], is declarative and shares no code with them. All
//! report [`outcome`]s. Input: [`litmus`], [`classics`]. Output: [`diagram`]. Programs for measurements and tests:
//! [`families`], [`random`].
//!
//! [`history`] checks recorded histories of operations.
//!
//! `real` (a feature, on by default) checks the code of a library itself, not a description of it.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below the door.
#![deny(unsafe_code)] // Allowed in six files of `real`: `context`, `runtime`, `heap`, `arc`, `jobs`, `scope`.

pub mod axioms;
pub mod classics;
pub mod diagram;
pub mod dpor;
pub mod families;
mod happening;
pub mod history;
pub mod litmus;
pub mod memory;
pub mod outcome;
pub mod program;
pub mod random;
#[cfg(feature = "real")]
pub mod real;
pub mod search;
pub mod state;
pub mod step;

/// The book's page compiles and holds.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/checking_your_own_code.md")]
mod book {}
