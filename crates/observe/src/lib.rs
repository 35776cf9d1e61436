//! The library that `unc` preloads into an unmodified program.
//!
//! # Contract
//! Every interposed function does what the C library's own does, with the same results, errors and cancellation, and
//! records what it saw. Without a record (`UNC_RECORD` unset or unusable) it only passes calls through.
//! # State
//! [`image`]: the record and this program image in it. [`local`]: what each thread keeps for itself. [`host`]: the C
//! library's own functions. [`uncontended_events`]: what an acquisition, a wait, a release mean, the same for every
//! kind of lock; one file a kind next to it. [`stack`]: stacks, by [`unwind`] and [`module`], without the loader's
//! lock. [`entry`]: the interposed symbols.
//! # Invariants
//! I1: no path allocates from the program's heap, takes a lock of the program's or the loader's, or panics; where the
//! program may have functions of its own in the C library's place, it asks the kernel itself ([`kernel`]).
//! I2: `errno` is as the C library's function left it.
//! I3: what is recorded about a critical section is recorded outside of it, except for timestamps and single words.
//! I4: a lock's own memory is not touched after its release.
//! M1: memory that [`kernel::private_memory`] gave is zero, aligned to a page, and belongs to its asker alone.
//! # What the program and the C library promise
//! P1: the arguments of an interposed function are fit for the C library's function of that name, to which they go
//! unchanged, in the same call.
//! P2: what they point to stays until the interposed function returns.
//! P3: what a function takes may be tried first: the C library's try functions take the same objects.
//! # Evidence
//! `crates/cli/tests/ground_truth.rs` with `tests/programs`.

mod annotated;
mod barrier;
mod bytes;
mod c11;
#[cfg(debug_assertions)]
mod checked;
mod condition;
mod entry;
mod futex;
mod here;
mod host;
mod image;
mod join;
mod kernel;
mod local;
mod lookup;
mod module;
mod mutex;
mod rwlock;
mod sandbox;
mod seccomp;
mod semaphore;
mod spin;
mod stack;
mod start;
mod unwind;
