//! Receiving signals by waiting for them instead of with handlers.
//!
//! # Contract
//! [`Signals::block`] blocks the asynchronous delivery of signals; [`Signals::wait`] returns them one at a time with
//! their origin. The mask from before is kept for the programs that this process starts. A signal that our caller
//! ignores stays ignored: the kernel drops it and `wait` never returns it.

//! # Invariants
//! I1: between fork and exec, the child makes one system call, which changes nothing of its parent's.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

/// A signal and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The signal's number.
    pub signal: i32,
    /// True if a process sent it (kill, sigqueue, tgkill), false if the kernel did (a key on the terminal, a child's
    /// end).
    pub from_process: bool,
}

/// Signals blocked for [`Signals::wait`].
pub struct Signals {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Signals").finish_non_exhaustive()
    }
}

impl Signals {
    /// Blocks `signals` in this thread and in those it starts from now on. Resets SIGCHLD to its default disposition,
    /// so that children can be waited for. Call it before starting threads.
    ///
    /// # Errors
    /// Those of `pthread_sigmask` and `sigaction`.
    pub fn block(signals: &[i32]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: a pointer to `set` (L2).
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        for &signal in signals {
            // SAFETY: `set` is initialised (L6); an invalid number is rejected and changes nothing.
            unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
        }
        // SAFETY: pointers to both masks (L2), of which `set` is initialised (L6).
        let rc =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) };
        if rc != 0 {
            return Err(io::Error::from_raw_os_error(rc));
        }
        set_default(libc::SIGCHLD)?;
        // SAFETY: sigemptyset wrote all of `set` (L6).
        let set = unsafe { set.assume_init() };
        // SAFETY: pthread_sigmask succeeded (L6).
        let before = unsafe { before.assume_init() };
        Ok(Signals { set, before })
    }

    /// The mask from before [`Signals::block`].
    pub(crate) fn before(&self) -> &libc::sigset_t {
        &self.before
    }

    /// Makes a command start with that mask.
    pub fn unblock_in(&self, command: &mut Command) {
        let before = self.before;
        let unblock = move || {
            // SAFETY: an initialised mask; the old one is not requested (L2). It is async-signal-safe.
            match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure keeps I1.
        unsafe { command.pre_exec(unblock) };
    }

    /// The next of the blocked signals, or `None` after `timeout`.
    #[allow(deprecated, reason = "the field's type, which libc will widen on musl")]
    pub fn wait(&self, timeout: Duration) -> Option<Received> {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: pointers to all three (L2); `info` is only written.
        let signal = unsafe { libc::sigtimedwait(&self.set, info.as_mut_ptr(), &limit) };
        if signal < 0 {
            return None; // EAGAIN: timed out. EINTR: stopped and continued; the caller retries.
        }
        // SAFETY: a signal was received (L6).
        let info = unsafe { info.assume_init() };
        Some(Received { signal, from_process: info.si_code <= 0 })
    }
}

fn set_default(signal: i32) -> io::Result<()> {
    // SAFETY: a number for a disposition (L1).
    match unsafe { libc::signal(signal, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
