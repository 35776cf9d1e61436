//! The pair without a net: a light fence that never costs an instruction, and a heavy one that says when it can't pay.
//!
//! For those who have another way when [`heavy`] fails: a sleeper that then sleeps for bounded times, a reclaimer that
//! then keeps its garbage. The light fence reads no flag, so where barriers are refused the two order *nothing*.

use crate::backend::{self, Refused};
use uncontended_atomic::Scope;

/// The light half: the compiler moves no access across it.
#[inline(always)]
#[cfg_attr(unc_model, track_caller)]
pub fn light() {
    #[cfg(unc_model)]
    uncontended_atomic::light_fence();
    // SeqCst: Miri has no membarrier, so there both halves are fences that keep stores before loads.
    #[cfg(all(miri, not(unc_model)))]
    uncontended_atomic::fence(uncontended_atomic::Ordering::SeqCst);
    // SeqCst: a compiler fence that keeps stores before loads; the processor is the heavy half's business.
    #[cfg(all(not(miri), not(unc_model)))]
    uncontended_atomic::compiler_fence(uncontended_atomic::Ordering::SeqCst);
}

/// The heavy half: a barrier on all running threads in `scope`, of other processes only those that are registered
/// ([`register`]).
///
/// # Errors
/// Barriers are refused, from the start or now: nothing is known about other threads.
#[cfg_attr(unc_model, track_caller)]
pub fn heavy(scope: Scope) -> Result<(), Refused> {
    backend::barrier(scope)
}

/// Makes this process one that heavy fences in `scope` reach. Before a process passes its first light fence against
/// another process's heavy ones, it must have called this; within one process nobody need.
///
/// # Errors
/// Registration is refused: this process's light fences are nothing to the heavy ones of others.
pub fn register(scope: Scope) -> Result<(), Refused> {
    backend::register(scope)
}
