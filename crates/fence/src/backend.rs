//! The implementation of this process's heavy fences, and the reason for it.
//!
//! # State
//! One decision per scope, in one word: undecided, barriers work, or the error number of the refusal. The first thread
//! that needs it registers the process; all later ones follow its decision.

use crate::reason::Backend;
use uncontended_atomic::Scope;

/// The implementation for the threads of this process. The first call decides it.
pub fn backend() -> Backend {
    match decide(Scope::Private) {
        Ok(()) => Backend::Expedited,
        Err(refused) => Backend::FullFences(refused),
    }
}

#[cfg(not(any(miri, unc_model, unc_portable, not(target_os = "linux"))))]
pub(crate) use real::{barrier, decide, register, works};
#[cfg(unc_model)]
pub use stand_in::refuse_barriers;
#[cfg(any(miri, unc_model, unc_portable, not(target_os = "linux")))]
pub(crate) use stand_in::{barrier, decide, decide as register, works};

#[cfg(not(any(miri, unc_model, unc_portable, not(target_os = "linux"))))]
mod real {
    use crate::reason::{Reason, Refused};
    use std::io;
    use uncontended_atomic::{AtomicU32, Ordering::Relaxed, Scope};
    use uncontended_sys::membarrier::Reach;

    const UNDECIDED: u32 = 0;
    const WORKS: u32 = 1;
    /// An error number is added to this.
    const REFUSED: u32 = 2;

    static PRIVATE: AtomicU32 = AtomicU32::new(UNDECIDED);
    static SHARED: AtomicU32 = AtomicU32::new(UNDECIDED);

    fn decision(scope: Scope) -> (&'static AtomicU32, Reach) {
        match scope {
            Scope::Private => (&PRIVATE, Reach::Private),
            Scope::Shared => (&SHARED, Reach::Global),
        }
    }

    /// Relaxed: a thread that finds `WORKS` has it from one that registered the process. The kernel's own order does
    /// the rest, and a stale value only costs a full fence (I1).
    #[inline(always)]
    pub(crate) fn works(scope: Scope) -> bool {
        decision(scope).0.load(Relaxed) == WORKS
    }

    pub(crate) fn decide(scope: Scope) -> Result<(), Refused> {
        let (decided, reach) = decision(scope);
        if decided.load(Relaxed) == UNDECIDED {
            let answer = match reach.register() {
                Ok(()) => WORKS,
                Err(error) => REFUSED + error.raw_os_error().unwrap_or(0).unsigned_abs(),
            };
            // The first thread decides for all: light fences must never be weaker than a heavy one assumes (I1).
            let _ = decided.compare_exchange(UNDECIDED, answer, Relaxed, Relaxed);
        }
        match decided.load(Relaxed) {
            WORKS => Ok(()),
            error => {
                debug_assert!(error >= REFUSED, "I1: decided for good");
                Err(refused((error - REFUSED).cast_signed()))
            }
        }
    }

    /// Asks the kernel whatever was decided: the decision may come from before a fork.
    pub(crate) fn register(scope: Scope) -> Result<(), Refused> {
        decide(scope)?;
        decision(scope).1.register().map_err(refusal)
    }

    pub(crate) fn barrier(scope: Scope) -> Result<(), Refused> {
        decide(scope)?;
        let (_, reach) = decision(scope);
        // In a forked process without the registration, the error is the one that a filter gives.
        reach
            .barrier()
            .or_else(|_| reach.register().and_then(|()| reach.barrier()))
            .map_err(refusal)
    }

    fn refusal(error: io::Error) -> Refused {
        refused(error.raw_os_error().unwrap_or(0))
    }

    fn refused(errno: i32) -> Refused {
        // `membarrier(2)` returns EINVAL for unknown commands and EPERM without registration; filters return EPERM or
        // EACCES, or ENOSYS to pretend that the call does not exist.
        let reason = match io::Error::from_raw_os_error(errno).kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput => Reason::Unknown,
            io::ErrorKind::PermissionDenied => Reason::Forbidden,
            _ => Reason::Failed,
        };
        Refused { reason, errno }
    }
}

/// Under the checker, barriers work until a test refuses them.
#[cfg(unc_model)]
mod stand_in {
    use crate::reason::{Reason, Refused};
    use std::cell::Cell;
    use uncontended_atomic::Scope;

    thread_local! {
        // Explored threads share the thread-locals of the exploring thread.
        static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Refuses barriers from now on, in this thread's explorations.
    pub fn refuse_barriers() {
        IS_REFUSED.set(true);
    }

    pub(crate) fn works(_: Scope) -> bool {
        !IS_REFUSED.get()
    }

    pub(crate) fn decide(scope: Scope) -> Result<(), Refused> {
        if works(scope) { Ok(()) } else { Err(Refused { reason: Reason::Forbidden, errno: 1 }) }
    }

    #[track_caller]
    pub(crate) fn barrier(scope: Scope) -> Result<(), Refused> {
        decide(scope)?;
        uncontended_atomic::heavy_fence();
        Ok(())
    }
}

/// There is no kernel to ask: both halves are full fences, as the program is built.
#[cfg(all(any(miri, unc_portable, not(target_os = "linux")), not(unc_model)))]
mod stand_in {
    use crate::reason::{Reason, Refused};
    use uncontended_atomic::Scope;

    pub(crate) fn works(_: Scope) -> bool {
        false
    }

    pub(crate) fn decide(_: Scope) -> Result<(), Refused> {
        let reason = if cfg!(miri) { Reason::Interpreted } else { Reason::Portable };
        Err(Refused { reason, errno: 0 })
    }

    pub(crate) fn barrier(_: Scope) -> Result<(), Refused> {
        // SeqCst: orders earlier stores before later loads, as a light fence does in such a build.
        uncontended_atomic::fence(uncontended_atomic::Ordering::SeqCst);
        Ok(())
    }
}
