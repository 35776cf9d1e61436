//! The signal state, streams and descriptors that this process was started with, before Rust's runtime changed them.
//!
//! # Contract
//! A program started by [`crate::process::spawn`] begins with the signal mask, the signal dispositions and the closed
//! standard streams that our own caller chose. Rust's runtime ignores SIGPIPE and opens `/dev/null` for closed standard
//! streams before `main`, so a function in `.init_array` records the original state before that.
//! [`close_inherited`] closes what no code of this process knows of.
//! # State
//! Written once by `note` before `main`, when there is one thread; read-only from then on.
//! # Invariants
//! I1: what this process opens is closed on exec, so a descriptor that is not was inherited, and has no owner here. The
//!     standard streams are everyone's.
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

/// Closes all descriptors that this process inherited, except the standard streams.
///
/// # Errors
/// `/proc` is not there.
pub fn close_inherited() -> std::io::Result<()> {
    let names =
        std::fs::read_dir("/proc/self/fd")?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let open: Vec<i32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|&fd| fd > libc::STDERR_FILENO) {
        // SAFETY: numbers only (L1).
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: a number (L1), of a descriptor without an owner (I1).
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}
