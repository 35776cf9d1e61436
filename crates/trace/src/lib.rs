//! The record that the observer leaves in shared memory.
//!
//! [`layout`] draws it, [`histogram`] sorts times into buckets, [`setup`] begins a record, [`arena`] writes it and
//! [`reader`] reads it. The writer runs in the observed process; the reader trusts no byte. [`compose`] makes one from
//! what was seen from outside.

pub mod arena;
#[cfg(not(unc_model))]
pub mod compose;
#[cfg(not(unc_model))]
mod fingerprint;
pub mod histogram;
pub mod layout;
mod read_error;
pub mod reader;
mod records;
pub mod setup;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
