//! The one door to atomics, and to what threads wait on.
//!
//! # Contract
//! Floors 1 and above name atomics through this crate alone, so that one place decides what they are: std's own, or, under
//! `--cfg unc_model`, the model checker's stand-ins, with which the same code is explored in every execution that C11 or
//! x86-TSO allows. What explored code may wait on has to be swapped with them, and so is here too: threads, mutexes and
//! conditions, futexes. `UnsafeCell` is here because a data race on it is what the checker looks for, `Arc` because its
//! counters order what its owners did. [`CachePadded`] and [`Backoff`] are the same under both.
//!
//! The stand-ins are larger than what they stand for, and their `new` is not `const`: memory laid out by hand (`trace`) and
//! statics are not for exploration.
//!
//! # Invariants
//! I1: an atomic of 64 bits is two of 32 that are aligned and live as long.
//!
//! # Evidence
//! tests/door.rs: scenarios by real threads or explored.

mod ahead;
mod backoff;
#[cfg(not(unc_model))]
mod cell;
mod futex;
mod mutant;
mod padded;

#[cfg(not(unc_model))]
pub use self::cell::UnsafeCell;
pub use self::{
    ahead::{prefetch_to_read, prefetch_to_write},
    backoff::Backoff,
    futex::{FutexWord, Scope, Wait, futex_wait, futex_wake},
    padded::CachePadded,
};
#[cfg(unc_model)]
#[doc(hidden)]
pub use mutant::seed_mutant;
#[doc(hidden)]
pub use mutant::{mutant, unless_mutant};
#[cfg(not(unc_model))]
pub use std::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
    },
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{JoinHandle, Thread, current, park, spawn, yield_now},
};
#[cfg(unc_model)]
pub use uncontended_model::real::{
    Arc, AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Condvar, JoinHandle, Mutex, MutexGuard, Ordering,
    Thread, UnsafeCell, compiler_fence, current, fence, heavy_fence, light_fence, park, spawn,
    spin_loop, yield_now,
};
