//! The pair without a fallback: a light fence that never costs an instruction, and a heavy one that reports failure.
//!
//! For callers with another way when [`heavy`] fails: a sleeper that then uses bounded sleeps, a reclaimer that then
//! keeps its garbage. The light fence reads no flag, so where barriers are refused the two order *nothing*. In a
//! program that is built without membarrier ([`Reason::Portable`](crate::Reason::Portable)) both are full fences.

use crate::backend;
use crate::reason::Refused;
use uncontended_atomic::Scope;

/// The light half: the compiler moves no access across it.
#[inline(always)]
#[cfg_attr(unc_model, track_caller)]
pub fn light() {
    #[cfg(unc_model)]
    uncontended_atomic::light_fence();
    // SeqCst: without membarrier (in Miri, and where the program is built so) both halves are fences that order stores
    // before loads.
    #[cfg(all(any(miri, unc_portable, not(target_os = "linux")), not(unc_model)))]
    uncontended_atomic::fence(uncontended_atomic::Ordering::SeqCst);
    // SeqCst: a compiler fence that orders stores before loads; the heavy half orders the processor.
    #[cfg(not(any(miri, unc_model, unc_portable, not(target_os = "linux"))))]
    uncontended_atomic::compiler_fence(uncontended_atomic::Ordering::SeqCst);
}

/// The heavy half: a barrier on all running threads in `scope`. Of other processes, it reaches only those that are
/// registered ([`register`]).
///
/// # Errors
/// Barriers are refused, from the start or now: the call orders nothing.
#[cfg_attr(unc_model, track_caller)]
pub fn heavy(scope: Scope) -> Result<(), Refused> {
    backend::barrier(scope)
}

/// Registers this process, so that heavy fences in `scope` reach it. A process must call this before its first light
/// fence that pairs with another process's heavy fence; within one process it is not needed.
///
/// # Errors
/// Registration is refused: other processes' heavy fences do not order this process's light ones.
pub fn register(scope: Scope) -> Result<(), Refused> {
    backend::register(scope)
}
