//! Every execution of a small concurrent program, under a stated memory model.
//!
//! The table of contents. What is run: [`program`]. How it runs: [`memory`] (what loads and stores mean), [`state`],
//! [`step`]. Two engines over that: [`search`] (every state once; minimal counterexamples) and [`dpor`] (every class of
//! executions once; counts); a third, [`axioms`], declares what the others run. All end in [`outcome`]s. How people
//! write it: [`litmus`], [`classics`]. How they see it: [`diagram`]. Programs to measure and to test with:
//! [`families`], [`random`].
//!
//! Recorded histories of operations, instead of programs: [`history`].
//!
//! To check the code of a library itself, instead of a program as a value: [`real`].
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Floor 0: below the door.
#![deny(unsafe_code)] // Allowed in five files of `real`: `context`, `runtime`, `heap`, `arc`, `jobs`.

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
pub mod real;
pub mod search;
pub mod state;
pub mod step;

/// The book's page compiles and holds.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/checking_your_own_code.md")]
mod book {}
