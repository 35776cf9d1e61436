//! Locking out the sections of a CPU, from another one.
//!
//! # Contract
//! A thread that wants a CPU's cell replaces the value of its word by one with which every section leaves, by an atomic
//! exchange; then it restarts the sections of that CPU. A section that had read the word before may have committed in
//! the meantime, over the new value: then the word is not the caller's, and nothing was taken. Else no section of that
//! CPU will change it, and the cell is the caller's until it stores another value.
//!
//! # State
//! The process of the thread that is trying, by its generation, per structure, or 0: a child of a fork is not kept out
//! by its parent's threads.
//! # Edges
//! trying: the guard's drop -> `try_begin`, `is_held`. Carries that the last try has ended, and what it did.
//!
//! # Invariants
//! I1: one thread of a process at a time tries, so a value that locks sections out is its own if it stored one.
//! # Evidence
//! tests/model.rs: a list and a lock taken while sections run, by one thread and by two; tests/forks.rs.

use crate::section;
use std::fmt;
use uncontended_atomic::AtomicU32;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_sys::fork::generation;

/// Why a cell was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTaken {
    /// Another thread was faster, by a few instructions: try again at once.
    Raced,
    /// Another thread has it: until it drops its guard, or for good if it leaked that, or vanished in a fork.
    InUse,
    /// The kernel refuses to restart sections, which it did not when the process began: the error number.
    Refused(i32),
    /// There is no cell with this number.
    NoSuchCell,
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTaken::Raced => f.write_str("another thread was faster; try again"),
            NotTaken::InUse => f.write_str("another thread has the cell, until it drops its guard"),
            NotTaken::Refused(errno) => {
                write!(
                    f,
                    "the kernel refuses to restart sections (error {errno}), as a seccomp filter may have it"
                )
            }
            NotTaken::NoSuchCell => f.write_str("there is no cell with this number"),
        }
    }
}

impl std::error::Error for NotTaken {}

/// The generation of the process whose thread is trying to take a cell, or 0.
#[derive(Debug, Default)]
pub(crate) struct Trying(AtomicU32);

/// A try.
#[derive(Debug)]
pub(crate) struct Try<'t>(&'t AtomicU32);

impl Trying {
    #[cfg(not(unc_model))]
    pub(crate) const fn new() -> Trying {
        Trying(AtomicU32::new(0))
    }

    #[cfg(unc_model)]
    pub(crate) fn new() -> Trying {
        Trying::default()
    }

    /// Locks out the sections of a CPU. `replace` replaces the word and returns what was taken; `is_replaced` tells
    /// whether it still has the new value; `undo` puts the old one back, if it has.
    pub(crate) fn lock_out<T: Copy>(
        &self,
        cpu: u32,
        replace: impl FnOnce() -> Option<T>,
        is_replaced: impl FnOnce() -> bool,
        undo: impl FnOnce(T),
    ) -> Result<T, NotTaken> {
        let _try = self.try_begin().ok_or(NotTaken::Raced)?;
        let taken = replace().ok_or(NotTaken::InUse)?;
        if let Err(errno) = section::restart(Some(cpu)) {
            undo(taken);
            return Err(NotTaken::Refused(errno));
        }
        // A section that was restarted leaves at this value; one that committed before has overwritten it.
        if is_replaced() { Ok(taken) } else { Err(NotTaken::Raced) }
    }

    /// Whether a thread of this process tries.
    pub(crate) fn is_held(&self) -> bool {
        // EDGE trying (acquire)
        self.0.load(Acquire) == generation()
    }

    /// None while another thread of this process tries.
    pub(crate) fn try_begin(&self) -> Option<Try<'_>> {
        let (holder, own) = (self.0.load(Relaxed), generation());
        // EDGE trying (acquire)
        let begins =
            holder != own && self.0.compare_exchange(holder, own, Acquire, Relaxed).is_ok();
        begins.then(|| Try(&self.0))
    }
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        // EDGE trying (release)
        self.0.store(0, Release);
    }
}
