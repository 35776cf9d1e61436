//! Data per CPU, changed without locked instructions by restartable sequences.
//!
//! # Contract
//! A restartable sequence is a few instructions that end with one store. The kernel starts it again if the thread is
//! interrupted before that store, so threads that share a CPU need no locked instruction to share a word, and threads
//! on different CPUs use different words. glibc registers each thread for it; this crate uses that registration and
//! makes none of its own.
//!
//! | | |
//! |---|---|
//! | [`Counter`] | additions, and their sum |
//! | [`Word`] | a word per CPU, changed by compare-and-store |
//! | [`FreeList`] | bounded lists of nodes, last in, first out; each can be drained from any CPU |
//! | [`PerCpu`] | a value per CPU behind a lock, which any CPU can take |
//! | [`Revocable`] | a right to store that can be taken over, also from a thread that is preempted |
//! | [`Slots`] | cells that keep threads apart, for atomics of your own |
//!
//! Where there are no sequences (another processor, an older C library or kernel, a filter), the same structures use
//! shards and atomic operations; [`backend`] says which, and why. No structure waits for another thread, except as
//! [`Revocable`] says. Cells are for every CPU that the machine may have, plugged in or not; threads on CPUs beyond,
//! and threads that the C library could not register, use the shards.
//!
//! A library that contains this code must not be unloaded while threads run: the kernel reads the descriptor of a
//! thread's last sequence.
//!
//! # Evidence
//! tests/model.rs: each structure explored, with sections that are aborted at every step; tests/faults.rs: signals,
//! moved and stopped threads, forks, filters, also with sections that wait before their commit, aborted by thousands;
//! tests/api.rs, also under Miri.
//! # Sources
//! rseq(2); glibc manual, Restartable Sequences; P. Khuong on restartable sequences with and without them; tcmalloc and
//! librseq.

mod away;
mod backend;
mod counter;
mod list;
mod locked;
mod revocable;
mod section;
mod shape;
mod slots;
mod word;

pub use away::NotTaken;
pub use backend::{Backend, Why, backend};
pub use counter::Counter;
pub use list::{Drained, FreeList, Node};
pub use locked::{Guard, PerCpu};
pub use revocable::{Claim, Refused, Revocable, Revoked};
#[cfg(all(
    unc_pause,
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
#[doc(hidden)]
pub use section::aborts;
#[cfg(unc_model)]
#[doc(hidden)]
pub use section::{boot, migrate};
pub use slots::Slots;
pub use word::Word;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
