//! Asymmetric fences: free for the side that runs often, paid for by the side that rarely runs.
//!
//! # Contract
//! A light fence in one thread and a heavy fence in another are ordered like two SeqCst fences. If the light one comes
//! first, the thread of the heavy one sees, after it, what was written before the light one; if the heavy one comes
//! first, the other way round. Light fences are not ordered among each other. The semantics are those of P1202.
//!
//! | | light | heavy |
//! |---|---|---|
//! | [`light`], [`heavy`] | a compiler fence; a full fence where membarrier is refused | membarrier, or a full fence |
//! | [`bare`] | always a compiler fence, so that not even a flag is read | membarrier, or an error |
//! | [`Fences`] | of the backend that the program chose | now, or as a [`Ticket`]: asked for now, complete later |
//! | all, built without membarrier | a full fence | a full fence |
//!
//! ```
//! use uncontended_atomic::{AtomicBool, Ordering::Relaxed};
//! let (mine, theirs) = (AtomicBool::new(false), AtomicBool::new(false));
//! // Often, in one thread:
//! mine.store(true, Relaxed);
//! uncontended_fence::light();
//! let i_saw = theirs.load(Relaxed);
//! // Seldom, in another:
//! theirs.store(true, Relaxed);
//! uncontended_fence::heavy().expect("membarrier is not forbidden to a running program");
//! let they_saw = mine.load(Relaxed);
//! assert!(i_saw || they_saw);
//! ```
//!
//! # State
//! Per [`Scope`], the decision made when the first fence needed it (`decision`): barriers work, or why not. It never
//! changes.
//!
//! # Invariants
//! I1: a light fence is reduced to a compiler fence only after the process is registered; before that, and for good
//!     where registration was refused, it is a SeqCst fence.
//! I2: `heavy` returns `Ok` only after a barrier on all threads in scope or, where I1 makes every light fence a SeqCst
//!     fence, after a SeqCst fence. A barrier refused *after* that decision (by a filter installed late, or on one
//!     thread) is an error each time, and then a concurrent light fence is not ordered by it.
//!
//! Why a barrier is enough: an expedited membarrier is a full fence on every CPU that runs a thread in scope, at an
//! instruction boundary, before the call returns; a thread that is not running passed one when it was switched out. A
//! light fence is a point between two instructions that the compiler moves no access across, so it lies wholly before
//! or after the barrier.
//!
//! # Evidence
//! tests/model.rs: store buffering under C11 and TSO; tests/model_tickets.rs: tickets and shared barriers;
//! tests/refused.rs: filters before and after registration.
//! # Sources
//! membarrier(2); D. Goldblatt, WG21 P1202; Linux `kernel/sched/membarrier.c`, the comment at its top.

mod backend;
mod backoff;
pub mod bare;
mod barriers;
mod fences;
mod mprotect;
mod quiescent;
mod reason;
pub mod stamps;
mod ticket;

pub use backend::backend;
#[cfg(unc_model)]
#[doc(hidden)]
pub use backend::refuse_barriers;
pub use fences::{Choice, Fences};
pub use quiescent::{Member, Quiescent};
pub use reason::{Backend, Cost, Latency, Light, Reason, Refused};
pub use ticket::Ticket;
pub use uncontended_atomic::Scope;

/// The light half, for the threads of this process: only a compiler fence where [`heavy`] is a membarrier.
#[inline]
#[cfg_attr(unc_model, track_caller)]
pub fn light() {
    Fences::process().light();
}

/// The heavy half, for the threads of this process: a membarrier, or a full fence where membarrier was refused from the
/// start. Threads that call it at the same time share barriers.
///
/// # Errors
/// Membarrier worked before and is refused now (I2): the call orders nothing.
#[cfg_attr(unc_model, track_caller)]
pub fn heavy() -> Result<(), Refused> {
    Fences::process().heavy()
}
