//! The library that `unc` preloads into an unmodified program.
//!
//! # Contract
//! Every interposed function does what the C library's function does, with the same results, errors and cancellation,
//! and records what it sees. Without a record (`UNC_RECORD` unset or unusable) it only passes calls through.
//! # State
//! [`image`]: the record and this program image in it. [`local`]: the data of each thread. [`host`]: the C library's
//! own functions. [`uncontended_events`]: what an acquisition, a wait and a release mean, the same for every kind of
//! lock; here, one file per kind. [`stack`]: stacks, by [`unwind`] and [`module`], without the loader's lock.
//! [`entry`]: the interposed symbols.
//! # Layers
//! A file uses files of the lines above, or to its left on its own line (`xtask tidy` refuses circles):
//! - [`kernel`], [`frame`], [`lookup`], [`deadline`], [`rules`], [`sandbox`], `joined`, `bytes`, `checked`;
//! - [`host`], [`image`], [`caller`], [`module`], [`sharing`], [`unwind`], [`stack`], `routine`, `slept`, `tables`,
//!   `execute`, [`look`], [`room`];
//! - [`local`], [`here`];
//! - [`mutex`], [`rwlock`], [`spin`], [`condition`], [`barrier`], [`semaphore`], [`create`], [`seccomp`], [`limit`],
//!   [`mapped`], [`futex`], [`join`], [`c11`], [`annotated`], [`span`];
//! - `exit`;
//! - [`entry`], `start`.
//! # Invariants
//! I1: no path allocates from the program's heap, takes a lock of the program or the loader, or panics. Where the
//!     program may replace the C library's functions with its own, the observer calls the kernel directly ([`kernel`]).
//! I2: `errno` is as the C library's function left it.
//! I3: what is recorded about a critical section is recorded outside it, except for timestamps and single words.
//! I4: a lock's own memory is not accessed after its release.
//! M1: memory from [`kernel::private_memory`] is zero, page-aligned, and owned by the caller alone.
//! # What the program and the C library promise
//! P1: the arguments of an interposed function are valid for the C library's function of that name, which receives them
//!     unchanged in the same call.
//! P2: what they point to stays until the interposed function returns.
//! P3: an object that may be locked or waited for may be tried first: the C library's try functions take the same
//!     objects. Mutexes for which trying changes what locking does are not tried ([`look`]).
//! # Evidence
//! `crates/cli/tests/ground_truth.rs` with `tests/programs`.

mod annotated;
mod barrier;
mod bytes;
mod c11;
mod caller;
mod cancelled;
#[cfg(debug_assertions)]
mod checked;
mod condition;
mod create;
mod deadline;
mod entry;
mod errno;
mod execute;
mod exit;
mod frame;
mod futex;
mod here;
mod host;
mod image;
mod join;
mod joined;
mod kernel;
mod limit;
mod local;
mod look;
mod lookup;
mod mapped;
mod module;
mod mutex;
mod namespace;
mod pieces;
mod room;
mod routine;
mod rules;
mod rwlock;
mod sandbox;
mod seccomp;
mod semaphore;
mod sharing;
mod slept;
mod span;
mod spin;
mod stack;
mod start;
mod tables;
mod unwind;
