//! Closing descriptors for which the kernel takes long.
//!
//! # Contract
//! At the last close of a tracepoint the kernel waits until no CPU can still be in it, thirty milliseconds and more,
//! which the caller should not wait for. [`close`] leaves the last close to another process.
//! # Invariants
//! I1: the child of the fork only makes system calls: other threads may have held any lock.

use std::io::pipe;
use std::os::fd::{AsRawFd, RawFd};

/// Drops `owner`, of these descriptors, after another process has got them, too. That process ends by itself as soon as
/// the owner has closed them. It has no other descriptor, so it keeps no pipe of the program open.
pub(crate) fn close<T>(owner: T, descriptors: Vec<RawFd>) {
    let Ok((reader, writer)) = pipe() else { return drop(owner) };
    let mut kept = [descriptors, vec![reader.as_raw_fd()]].concat();
    kept.sort_unstable();
    // SAFETY: the child only makes system calls (I1).
    if unsafe { libc::fork() } == 0 {
        let gaps = std::iter::once(-1).chain(kept.iter().copied());
        let ends = kept.iter().map(|&fd| fd - 1).chain(std::iter::once(i32::MAX));
        for (before, last) in gaps.zip(ends).filter(|(before, last)| before < last) {
            // SAFETY: numbers (L1), of descriptors that the child does not use (I1).
            unsafe { libc::syscall(libc::SYS_close_range, before + 1, last, 0) };
        }
        let mut byte = 0u8;
        // SAFETY: room for a byte (L2). It returns when the other end is closed.
        unsafe { libc::read(reader.as_raw_fd(), (&raw mut byte).cast(), 1) };
        // SAFETY: runs no handlers (I1).
        unsafe { libc::_exit(0) };
    }
    drop(owner);
    drop(writer);
    // Without a child, the owner's close was the last one.
}
