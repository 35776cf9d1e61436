//! A descriptor that tells of a child's end, so that one `poll` waits for it and for others.
//!
//! # Contract
//! [`of_child`] takes a child of this process that only its caller reaps. The descriptor becomes readable, or hangs up,
//! when the child has ended, and the child stays to be reaped. On Linux it is the kernel's own. On other systems, on
//! kernels before 5.3, and where a filter of system calls forbids it, a thread waits for the child and then closes the
//! other end of a pipe.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`.
//! # Sources
//! pidfd_open(2) (Linux 5.3), waitid(2).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// What tells of the end of the child `pid`.
///
/// # Errors
/// Those of `pipe` and of starting a thread.
pub(crate) fn of_child(pid: i32) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Some(pidfd) = pidfd(pid) {
        return Ok(pidfd);
    }
    by_thread(pid)
}

/// The kernel's descriptor of a process.
#[cfg(target_os = "linux")]
fn pidfd(pid: i32) -> Option<OwnedFd> {
    use std::os::fd::FromRawFd as _;
    // SAFETY: numbers only (L1).
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(answer).ok().filter(|&fd| fd >= 0)?;
    // SAFETY: a new descriptor (L4).
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A pipe that hangs up when the child has ended.
fn by_thread(pid: i32) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    std::thread::Builder::new().spawn(move || {
        wait(pid);
        drop(writer);
    })?;
    Ok(reader.into())
}

/// Waits until the child has ended, or was reaped after a failure.
fn wait(pid: i32) {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOWAIT;
    loop {
        // SAFETY: a pointer to `info` (L2).
        let rc =
            unsafe { libc::waitid(libc::P_PID, pid.unsigned_abs(), info.as_mut_ptr(), options) };
        if rc == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::by_thread;
    use crate::supervise::readable;
    use std::os::fd::AsFd as _;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_thread_tells_of_the_end_and_leaves_the_child_to_be_reaped() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let end = by_thread(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(!readable(end.as_fd(), Duration::from_millis(20)).unwrap(), "it reads");
        drop(child.stdin.take());
        while !readable(end.as_fd(), Duration::from_secs(1)).unwrap() {}
        assert!(child.try_wait().unwrap().unwrap().success());
    }
}
