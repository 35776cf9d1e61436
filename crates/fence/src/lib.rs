//! Asymmetric fences: free for the side that passes often, paid for by the side that seldom does.
//!
//! # Contract
//! A light fence in one thread and a heavy fence in another are ordered like two SeqCst fences: if the light one comes
//! first, what was written before it is seen after the heavy one; if the heavy one comes first, the other way round.
//! Light fences are not ordered among each other. The meaning is that of P1202.
//!
//! | | light | heavy |
//! |---|---|---|
//! | [`light`], [`heavy`] | a compiler fence; a full fence where membarrier is refused | membarrier, or a full fence |
//! | [`bare`] | always a compiler fence, so that not even a flag is read | membarrier, or an error |
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
//! Per [`Scope`], what was decided when the first fence needed it (`decision`): barriers work, or why not. It never
//! changes.
//!
//! # Invariants
//! I1: a light fence is no more than a compiler fence only after the process was registered; until then, and for ever
//!     where it was refused, it is a SeqCst fence.
//! I2: `heavy` answers `Ok` only after a barrier on all threads in reach, or, where I1 keeps every light fence a SeqCst
//!     one, after a SeqCst fence. A barrier refused *after* that decision (a filter installed late, or on one thread)
//!     is an error each time it happens, and a light fence that is passing then is covered by nothing.
//!
//! Why a barrier serves: an expedited membarrier is a full fence on every CPU that runs a thread in reach, at an
//! instruction boundary, before the call returns; a thread that runs nowhere has passed one when it was switched out.
//! So each light fence, a point between two instructions that the compiler moves no access across, lies wholly before
//! or after it.
//!
//! # Evidence
//! tests/model.rs: store buffering under C11 and TSO; tests/refused.rs: filters before and after registration.
//! # Sources
//! membarrier(2); D. Goldblatt, WG21 P1202; Linux `kernel/sched/membarrier.c`, the comment at its top.

mod backend;
pub mod bare;

#[cfg(unc_model)]
#[doc(hidden)]
pub use backend::refuse_barriers;
pub use backend::{Backend, Reason, Refused, backend};
pub use uncontended_atomic::Scope;
use uncontended_atomic::{Ordering::SeqCst, compiler_fence, fence};

/// The light half, for the threads of this process: a compiler fence where [`heavy`] is a membarrier.
#[inline]
pub fn light() {
    if backend::works(Scope::Private) {
        bare::light();
    } else {
        // SeqCst: keeps what is written before it before what is read after it, where nobody else's barrier does (I1).
        compiler_fence(SeqCst);
        fence(SeqCst);
    }
}

/// The heavy half, for the threads of this process: a membarrier, or a full fence where that was refused from the
/// start.
///
/// # Errors
/// Membarrier worked once and is refused now (I2): nothing is known about other threads.
pub fn heavy() -> Result<(), Refused> {
    match backend() {
        Backend::Expedited => bare::heavy(Scope::Private),
        Backend::FullFences(_) => {
            // SeqCst: keeps what is written before it before what is read after it, as every light fence does here
            // (I1).
            fence(SeqCst);
            Ok(())
        }
    }
}
