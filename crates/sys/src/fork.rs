//! Forks of the process, and the kernel's number of a thread.

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
