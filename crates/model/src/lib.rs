//! Every execution of a small concurrent program, under a stated memory model.
//!
//! The table of contents: [`program`] says what is run.

pub mod program;
