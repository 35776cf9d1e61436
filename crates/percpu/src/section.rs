//! The sections: what a thread does to its CPU's cell, all or nothing, without a locked instruction.
//!
//! # Contract
//! A section reads the number of the CPU, reads and compares, and ends with one store, the commit. If the thread is
//! preempted, migrated or interrupted by a signal before the commit, or if another thread calls [`restart`], none of it
//! has happened and it starts again. So of the threads that use a CPU's cell, one at a time is in a section.
//!
//! There are three implementations with the same functions: instructions (`x86_64.rs`), the checker's (`machine.rs`),
//! and none (`absent.rs`), where [`decide`] says why.
//!
//! # Invariants
//! I1: a caller has the pointer to cells from a structure that was made after [`decide`] said how many there are, and
//!     that lives; there is one for each CPU below that number.

#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, unc_model, unc_portable))
))]
#[path = "section/x86_64.rs"]
mod implementation;

#[cfg(unc_model)]
#[path = "section/machine.rs"]
mod implementation;

#[cfg(not(any(
    unc_model,
    all(
        target_os = "linux",
        target_arch = "x86_64",
        target_pointer_width = "64",
        not(any(miri, unc_portable))
    )
)))]
#[path = "section/absent.rs"]
mod implementation;

#[cfg(all(
    unc_pause,
    target_os = "linux",
    target_arch = "x86_64",
    not(any(miri, unc_model, unc_portable))
))]
pub use implementation::aborts;
#[cfg(unc_model)]
pub(crate) use implementation::with_decision;
pub(crate) use implementation::{
    add, compare_and_store, cpu, decide, increment, pop, push, restart, store_if,
};
#[cfg(unc_model)]
pub use implementation::{boot, migrate};

use uncontended_atomic::{AtomicPtr, AtomicUsize};

/// The first word of a node of a list per CPU, and how many nodes there are from here to the end.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Link {
    pub(crate) next: AtomicPtr<Link>,
    pub(crate) depth: AtomicUsize,
}

/// The head of a list that is locked: no address of a node.
pub(crate) const LOCKED: *mut Link = std::ptr::without_provenance_mut(1);

/// How a section ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "where there are no sections, one ends elsewhere")]
pub(crate) enum End {
    /// It was committed.
    Committed,
    /// A word does not have the value that it must have.
    Differs,
    /// The thread is on another CPU, on one without a cell, or not registered.
    Elsewhere,
    /// The list is full.
    Full,
}

/// What `pop` finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "where there are no sections, nothing is found here")]
pub(crate) enum Popped {
    /// The node, which is the caller's now.
    Node(std::ptr::NonNull<Link>),
    /// The list is empty.
    Empty,
    /// The list is locked, or the thread has none here.
    Elsewhere,
}
