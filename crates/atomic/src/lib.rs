//! The one door to atomics, and to what threads wait on.
//!
//! # Contract
//! Floors 1 and above name atomics through this crate alone, so that one place decides what they are. They have three
//! faces:
//!
//! - std's own, under a name that a lint can tell from std's (clippy's `disallowed_types` keeps those out elsewhere);
//! - under `--cfg unc_pause` the same, but threads stop at random, for up to 50 ms, before any of their steps
//!   (`pause`);
//! - under `--cfg unc_model` the model checker's stand-ins, with which the same code is explored in every execution
//!   that C11 or x86-TSO allows.
//!
//! What explored code may wait on has to be swapped with them, and so is here too: threads, mutexes and
//! conditions, futexes. `UnsafeCell` is here because a data race on it is what the checker looks for, `Arc` because its
//! counters order what its owners did. [`CachePadded`] is the same under both.
//!
//! The stand-ins are larger than what they stand for, and their `new` is not `const`: memory laid out by hand (`trace`)
//! and statics are not for exploration.
//!
//! # Invariants
//! I1: an atomic of 64 bits is two of 32 that are aligned and live as long.
//! I2: an atomic here is std's atomic of the same value, and nothing else.
//!
//! # Evidence
//! tests/door.rs: scenarios by real threads or explored.

mod ahead;
#[cfg(not(unc_model))]
mod atomics;
#[cfg(not(unc_model))]
mod cell;
mod futex;
mod hint;
#[cfg(not(unc_model))]
mod named;
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
#[cfg(not(unc_model))]
pub use self::named::Named;
#[cfg(unc_pause)]
pub use self::pause::{inject_pauses, pauses};
pub use self::{
    ahead::{prefetch_to_read, prefetch_to_write},
    futex::{FutexWord, Scope, Wait, futex_wait, futex_wake},
    hint::spin_for_ns,
    padded::CachePadded,
};
#[cfg(not(unc_model))]
pub use std::{
    hint::spin_loop,
    sync::atomic::Ordering,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{JoinHandle, Thread, current, park, spawn, yield_now},
};
#[cfg(unc_model)]
pub use uncontended_model::real::{
    Arc, AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Condvar, JoinHandle, Mutex, MutexGuard, Named,
    Ordering, Thread, UnsafeCell, compiler_fence, current, fence, heavy_fence, light_fence, park,
    spawn, spin_loop, yield_now,
};
