//! The one door to atomics.
//!
//! # Contract
//! Floors 1 and above name atomics through this crate alone, so that one place decides what they are: std's own, or, under
//! `--cfg unc_model`, the model checker's stand-ins, with which the same code is explored in every execution that C11 or
//! x86-TSO allows. `UnsafeCell` is here too, because a data race on it is what the checker looks for.
//!
//! The stand-ins are larger than what they stand for, and their `new` is not `const`: memory laid out by hand (`trace`) and
//! statics are not for exploration.
//!
//! # Evidence
//! tests/door.rs: one scenario, by real threads or explored.
#![cfg_attr(not(unc_model), no_std)]

#[cfg(not(unc_model))]
mod cell;

#[cfg(not(unc_model))]
pub use cell::UnsafeCell;
#[cfg(not(unc_model))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    },
};
#[cfg(unc_model)]
pub use uncontended_model::real::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, UnsafeCell, fence, spin_loop,
};
