//! The one door to atomics.
//!
//! # Contract
//! Floors 1 and above name atomics through this crate alone, so that one place decides what they are: std's own, or the
//! model checker's stand-ins.
#![no_std]

pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, fence,
};
