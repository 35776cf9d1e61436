//! The facade for atomics and for everything that threads wait on.
//!
//! # Contract
//! Floors 1 and above use atomics only through this crate, so the implementation is chosen in one place. There are
//! three:
//!
//! - std's own, under a name that a lint can distinguish from std's (clippy's `disallowed_types` forbids those
//!   elsewhere);
//! - under `--cfg unc_pause` the same, except that threads stop at random, for up to 50 ms, before any of their steps
//!   (`pause`), and run a test's signal handler before one of them;
//! - under `--cfg unc_model` the model checker's types, with which the same code is explored in every execution that
//!   C11 or x86-TSO allows.
//!
//! Where there are no futexes, sleepers wait in a table (`uncontended_sys::parking`): on other systems than Linux,
//! and under `--cfg unc_portable`, with which a program on Linux shows how such a build behaves.
//!
//! Whatever explored code may wait on has to be replaced with them, so it is here too: threads, mutexes and condition
//! variables, futexes. `UnsafeCell` is here because the checker looks for data races on it, [`Own`] because signal
//! handlers run between its steps, `Arc` because its counters order what its owners did. [`CachePadded`] is the same in
//! all three.
//!
//! Without the feature `std`, there are atomics, cells and hints alone, for targets that have `alloc` and atomics of 64
//! bits.
//!
//! The checker's types are larger than the originals, and their `new` is not `const`: memory laid out by hand (`trace`)
//! and statics cannot be explored.
//!
//! # Invariants
//! I1: an atomic of 64 bits is two of 32 bits, both aligned, with the same lifetime.
//! I2: an atomic here is std's atomic of the same value, and nothing more.
//!
//! # Evidence
//! tests/door.rs: scenarios run with real threads or explored.

#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(not(unc_model))]
extern crate alloc;

mod ahead;
#[cfg(not(unc_model))]
mod atomics;
#[cfg(not(unc_model))]
mod cell;
#[cfg(feature = "std")]
mod futex;
mod hint;
#[cfg(not(unc_model))]
mod named;
#[cfg(not(unc_model))]
mod own;
mod padded;
#[cfg(not(unc_model))]
mod pause;

#[cfg(not(unc_model))]
pub use self::atomics::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
};
#[cfg(not(unc_model))]
pub use self::cell::UnsafeCell;
#[cfg(feature = "std")]
pub use self::futex::{FutexWord, Scope, Wait, futex_wait, futex_wake};
#[cfg(not(unc_model))]
pub use self::named::Named;
#[cfg(not(unc_model))]
pub use self::own::Own;
#[cfg(unc_pause)]
pub use self::pause::{inject_pauses, interrupt_after, never_interrupted, pauses};
pub use self::{
    ahead::{prefetch_to_read, prefetch_to_write},
    hint::spin_for_ns,
    padded::CachePadded,
};
#[cfg(not(unc_model))]
pub use alloc::{boxed::Box, sync::Arc};
#[cfg(unc_model)]
pub use core::cell::Cell as Own;
#[cfg(not(unc_model))]
pub use core::{hint::spin_loop, sync::atomic::Ordering};
#[cfg(all(feature = "std", not(unc_model)))]
pub use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{JoinHandle, Thread, current, park, spawn, yield_now},
};
#[cfg(unc_model)]
pub use uncontended_model::real::{
    Arc, AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Box, Condvar, JoinHandle, Mutex, MutexGuard,
    Named, Ordering, Thread, UnsafeCell, choose, compiler_fence, current, fence, heavy_fence,
    light_fence, park, spawn, spin_loop, thread_number, yield_now,
};
