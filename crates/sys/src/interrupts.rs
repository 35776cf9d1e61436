//! Ending a measurement when the user asks for it: the running command is killed, and the verdict so far survives.
//!
//! # Contract
//! After [`install`] the first SIGINT, SIGTERM or SIGHUP is recorded and kills the process group set by [`follow`]; a
//! later one kills that group, the one set by [`guard`], and then this process, as if there were no handler. One within
//! [`TOGETHER_NS`] is the first one again: timeout(1) sends a signal to its command, and then to all of its own group.
//! If a signal arrives between the start of a command and [`follow`], that command runs to its end. A signal that our
//! caller ignores stays ignored.
//! # State
//! The handler writes `RECEIVED` and `FIRST_NS` once; the thread that runs commands writes `GROUP` and `BACKGROUND`.
//! The handler reads all, in that thread or concurrently with it. Relaxed loads and stores of single words are enough,
//! since neither carries other memory.
//! # Invariants
//! I1: the handler calls only async-signal-safe functions (`kill`, `clock_gettime`, `signal`, `raise`) and uses only
//!     the words above.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`.

use crate::clock;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static GROUP: AtomicI32 = AtomicI32::new(0);
static BACKGROUND: AtomicI32 = AtomicI32::new(0);
static FIRST_NS: AtomicU64 = AtomicU64::new(0);

/// Signals that arrive this close together are one request.
const TOGETHER_NS: u64 = 500_000_000;

extern "C" fn handler(signal: i32) {
    let group = GROUP.load(Ordering::Relaxed);
    if group > 0 {
        // SAFETY: `kill` is async-signal-safe (I1); the group is that of a child that is not reaped yet.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let now_ns = clock::monotonic_ns();
    let kept = FIRST_NS.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
    let is_again = now_ns.saturating_sub(kept.map_or_else(|first| first, |_| now_ns)) > TOGETHER_NS;
    if RECEIVED.swap(signal, Ordering::Relaxed) != 0 && is_again {
        let background = BACKGROUND.load(Ordering::Relaxed);
        if background > 0 {
            // SAFETY: `kill` is async-signal-safe (I1); the group is that of a child that is not reaped yet.
            unsafe { libc::kill(-background, libc::SIGKILL) };
        }
        die_by(signal);
    }
}

/// Installs the handlers. Call it once, before the first command runs.
///
/// # Errors
/// Those of `sigaction`.
pub fn install() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: zeroed (L5): no flags, so calls are interrupted.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a null new action makes this a query into `action` (L2).
        if unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if action.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        action.sa_sigaction = handler as extern "C" fn(i32) as libc::sighandler_t;
        // SAFETY: the handler keeps I1, and `action` lives until the call returns.
        if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The signal that asked for the end, if there was one.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// Sets the process group that the next signal kills; 0 for none.
pub(crate) fn follow(group: i32) {
    GROUP.store(group, Ordering::Relaxed);
}

/// Sets the process group that is killed before a signal ends this process; 0 for none.
pub(crate) fn guard(group: i32) {
    BACKGROUND.store(group, Ordering::Relaxed);
}

/// Ends this process by `signal`, so that the calling shell sees the cause and stops too.
pub fn die_by(signal: i32) {
    // SAFETY: a number for a disposition (L1).
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: a number (L1); inside the handler the signal is delivered when the handler returns.
    unsafe { libc::raise(signal) };
}
