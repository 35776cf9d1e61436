//! What serves the heavy fences of this process, and why.
//!
//! # State
//! A decision per scope, one word: undecided, barriers work, or the error number that refused them. The first that asks
//! registers the process; all later ones follow.

use std::fmt;
use uncontended_atomic::Scope;

/// What serves heavy fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Expedited membarrier: light fences are free.
    Expedited,
    /// A full fence on both sides.
    FullFences(Refused),
}

/// Membarrier is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Why.
    pub reason: Reason,
    /// The kernel's error number; 0 where nobody asked the kernel.
    pub errno: i32,
}

/// Why membarrier is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The kernel lacks the system call, or is too old for the expedited commands, or a filter pretends so.
    Unknown,
    /// A filter (seccomp) forbids it.
    Forbidden,
    /// Another error.
    Failed,
    /// This is an interpreter without the call (Miri).
    Interpreted,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Unknown => f.write_str("the kernel does not know expedited membarriers"),
            Reason::Forbidden => f.write_str("a filter forbids membarrier"),
            Reason::Failed => write!(f, "membarrier fails with error {}", self.errno),
            Reason::Interpreted => f.write_str("an interpreter without membarrier"),
        }
    }
}

impl std::error::Error for Refused {}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Expedited => f.write_str("expedited membarrier"),
            Backend::FullFences(refused) => write!(f, "full fences: {refused}"),
        }
    }
}

/// What serves the heavy fences among the threads of this process. Decides it if nothing has yet.
pub fn backend() -> Backend {
    match decide(Scope::Private) {
        Ok(()) => Backend::Expedited,
        Err(refused) => Backend::FullFences(refused),
    }
}

#[cfg(not(any(miri, unc_model)))]
pub(crate) use real::{barrier, decide, register, works};
#[cfg(unc_model)]
pub use stand_in::refuse_barriers;
#[cfg(any(miri, unc_model))]
pub(crate) use stand_in::{barrier, decide, decide as register, works};

#[cfg(not(any(miri, unc_model)))]
mod real {
    use super::{Reason, Refused};
    use std::io;
    use uncontended_atomic::{AtomicU32, Ordering::Relaxed, Scope};
    use uncontended_sys::membarrier::Reach;

    const UNDECIDED: u32 = 0;
    const WORKS: u32 = 1;
    /// This plus an error number.
    const REFUSED: u32 = 2;

    static PRIVATE: AtomicU32 = AtomicU32::new(UNDECIDED);
    static SHARED: AtomicU32 = AtomicU32::new(UNDECIDED);

    fn decision(scope: Scope) -> (&'static AtomicU32, Reach) {
        match scope {
            Scope::Private => (&PRIVATE, Reach::Private),
            Scope::Shared => (&SHARED, Reach::Global),
        }
    }

    /// Relaxed: whoever finds `WORKS` has it from a thread that had registered the process; the kernel's own order
    /// does the rest, and a stale answer only costs a full fence (I1).
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
            // The first to ask decides for all: light fences must never be weaker than some heavy one believes (I1).
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

    /// Asks the kernel whatever was decided: by whoever forked, perhaps, for another process.
    pub(crate) fn register(scope: Scope) -> Result<(), Refused> {
        decide(scope)?;
        decision(scope).1.register().map_err(said)
    }

    pub(crate) fn barrier(scope: Scope) -> Result<(), Refused> {
        decide(scope)?;
        let (_, reach) = decision(scope);
        // A forked process whose registration stayed behind gets the error that a filter gives.
        reach.barrier().or_else(|_| reach.register().and_then(|()| reach.barrier())).map_err(said)
    }

    fn said(error: io::Error) -> Refused {
        refused(error.raw_os_error().unwrap_or(0))
    }

    fn refused(errno: i32) -> Refused {
        // `membarrier(2)` gives EINVAL for commands it does not know, and EPERM for want of registration; filters
        // answer EPERM or EACCES, or ENOSYS to pretend that the call is not there.
        let reason = match io::Error::from_raw_os_error(errno).kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput => Reason::Unknown,
            io::ErrorKind::PermissionDenied => Reason::Forbidden,
            _ => Reason::Failed,
        };
        Refused { reason, errno }
    }
}

/// Where the checker explores: barriers work until a test has them refused.
#[cfg(unc_model)]
mod stand_in {
    use super::{Reason, Refused};
    use std::cell::Cell;
    use uncontended_atomic::Scope;

    thread_local! {
        // Explored threads share the thread-locals of the one that explores.
        static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Refuses barriers from now on, in what this thread explores.
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

/// In Miri there is no kernel to ask: both halves are full fences.
#[cfg(all(miri, not(unc_model)))]
mod stand_in {
    use super::{Reason, Refused};
    use uncontended_atomic::Scope;

    pub(crate) fn works(_: Scope) -> bool {
        false
    }

    pub(crate) fn decide(_: Scope) -> Result<(), Refused> {
        Err(Refused { reason: Reason::Interpreted, errno: 0 })
    }

    pub(crate) fn barrier(_: Scope) -> Result<(), Refused> {
        // SeqCst: keeps what is written before it before what is read after it, as a light fence does in Miri.
        uncontended_atomic::fence(uncontended_atomic::Ordering::SeqCst);
        Ok(())
    }
}
