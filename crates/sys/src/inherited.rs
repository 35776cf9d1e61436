//! The signal state and streams that this process was started with, before Rust's runtime changed them.
//!
//! # Contract
//! A program started by [`crate::process::spawn`] begins with the signal mask, the signal dispositions and the closed
//! standard streams that our own caller chose. Rust's runtime ignores SIGPIPE and opens `/dev/null` for closed standard
//! streams before `main`, so a function in `.init_array` records the original state before that.
//! # State
//! Written once by `note` before `main`, when there is one thread; read-only from then on.
//! # Evidence
//! `crates/cli/tests/run_identity.rs` compares `/proc/self/status` and the descriptors of a program with and without
//! `unc`.

use std::sync::atomic::{AtomicU8, Ordering};

/// One bit for each property at the start.
static NOTED: AtomicU8 = AtomicU8::new(0);
const PIPE_IGNORED: u8 = 1 << 3;
const CHILD_IGNORED: u8 = 1 << 4;

// Not under Miri, which has no signal dispositions.
#[cfg_attr(not(miri), used, unsafe(link_section = ".init_array"))]
#[cfg_attr(miri, expect(dead_code))]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let mut noted = 0;
    for stream in 0..3 {
        // SAFETY: numbers only (L1); a closed descriptor returns -1.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            noted |= 1 << stream;
        }
    }
    if ignored(libc::SIGPIPE) {
        noted |= PIPE_IGNORED;
    }
    if ignored(libc::SIGCHLD) {
        noted |= CHILD_IGNORED;
    }
    NOTED.store(noted, Ordering::Relaxed);
}

fn ignored(signal: i32) -> bool {
    // SAFETY: zeroed (L5).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action makes this a query into `action` (L2).
    let rc = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    rc == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Whether SIGPIPE was ignored when this process started.
pub fn pipe_ignored() -> bool {
    NOTED.load(Ordering::Relaxed) & PIPE_IGNORED != 0
}

/// Whether SIGCHLD was ignored when this process started.
pub fn child_ignored() -> bool {
    NOTED.load(Ordering::Relaxed) & CHILD_IGNORED != 0
}

/// Whether the standard stream 0, 1 or 2 was closed when this process started.
pub fn stream_closed(stream: u8) -> bool {
    stream < 3 && NOTED.load(Ordering::Relaxed) & (1 << stream) != 0
}
