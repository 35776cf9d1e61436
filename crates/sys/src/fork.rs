//! Forks of the process, and the kernel's number of a thread.
//!
//! # State
//! `GENERATION`: 0 until forks are counted.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The number of this process among those that it was forked from, each of which has another; not 0. A process number
/// is not enough: process 1 of a namespace may be the child of process 1 of another one. Forks count from the first
/// call on, those of [`in_child`] alone.
#[inline]
pub fn generation() -> u32 {
    match GENERATION.load(Relaxed) {
        0 => count(),
        generation => generation,
    }
}

/// Two threads that do this at once install two handlers: a child then counts two, which is as good. A lock here might
/// be one that a child waits for.
#[cold]
fn count() -> u32 {
    extern "C" fn one_more() {
        GENERATION.store(GENERATION.load(Relaxed).wrapping_add(1).max(1), Relaxed);
    }
    in_child(one_more);
    GENERATION.compare_exchange(0, 1, Relaxed, Relaxed).map_or_else(|first| first, |_| 1)
}

/// Has `handler` run in the only thread of each child that this process, or a child of it, forks from now on: by the C
/// library's `fork`, not by a bare system call. It may do what a signal handler may. There are no forks to watch where
/// the system is not a Unix, nor in Miri.
///
/// # Panics
/// If there is no memory to note the handler.
pub fn in_child(handler: extern "C" fn()) {
    #[cfg(all(unix, not(miri)))]
    {
        // SAFETY: the handler has the type that the call requires (L9).
        let refused = unsafe { libc::pthread_atfork(None, None, Some(bare(handler))) };
        assert_eq!(refused, 0, "no memory for a handler of forks");
    }
    let _ = handler;
}

/// The handler in the type that `libc` has for it.
#[cfg(all(unix, not(miri)))]
fn bare(handler: extern "C" fn()) -> unsafe extern "C" fn() {
    handler
}

/// The kernel's number of the calling thread; 0 where the kernel is not Linux.
pub fn thread_id() -> u32 {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: the call receives nothing (L1).
        let tid = unsafe { libc::gettid() };
        tid.cast_unsigned()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    0
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    const SKIPPED: i32 = 77;

    /// The exit status of a child that runs `body`.
    fn child(body: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child makes system calls, registers a handler, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it ends the child at once (L1).
            unsafe { libc::_exit(body()) };
        }
        let mut status = 0;
        // SAFETY: waits for the child above, and writes its status (L2).
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WEXITSTATUS(status)
    }

    fn unshared(what: i32) -> bool {
        // SAFETY: the call receives a number (L1).
        unsafe { libc::unshare(what) == 0 }
    }

    #[test]
    fn a_child_with_its_parents_process_number_has_another_generation() {
        let status = child(|| {
            if !unshared(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) {
                return SKIPPED;
            }
            child(|| {
                let (parent, before) = (std::process::id(), generation());
                if !unshared(libc::CLONE_NEWPID) {
                    return SKIPPED;
                }
                child(|| {
                    let has_same_number = (parent, std::process::id()) == (1, 1);
                    i32::from(!has_same_number || generation() == before)
                })
            })
        });
        match status {
            SKIPPED => uncontended_testkit::skip!("generation", "namespaces are refused"),
            status => assert_eq!(status, 0),
        }
    }
}
