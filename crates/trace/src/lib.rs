//! The record that the observer leaves in shared memory.
//!
//! [`layout`] draws it, [`histogram`] says how times fall into buckets, [`setup`] begins it, [`arena`] is the writer's
//! side, [`reader`] the other. The writer lives in a stranger's process; the reader trusts no byte.

pub mod arena;
pub mod histogram;
pub mod layout;
pub mod reader;
pub mod setup;
