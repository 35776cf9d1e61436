//! A process in the background of measured ones, such as a server: started, watched, and stopped with its group.
//!
//! # Contract
//! A [`Background`] is the leader of its own process group. [`Background::stop`] asks the group to end (SIGTERM),
//! waits, and kills what is left of it (SIGKILL); dropping one kills it at once. If this process dies by a signal's
//! default action after [`crate::interrupts::install`], the group is killed first; on Linux the leader is also killed
//! when the thread that started it ends in any other way. A process that leaves the group escapes.
//! # Invariants
//! I1: the leader is reaped only here, and after its group was killed, so its pid stays its own until then.
//! I2: the closure between fork and exec makes one system call.
//! # Evidence
//! `crates/cli/tests/decide_server.rs`.
//! # Sources
//! kill(2), prctl(2) (`PR_SET_PDEATHSIG`).

use crate::supervise::{readable, signal_group};
use crate::{ended, interrupts};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long a wait for the end lasts before the clock is read again.
const STEP: Duration = Duration::from_millis(100);

/// A running process.
#[derive(Debug)]
pub struct Background {
    child: Child,
    end: OwnedFd,
    is_reaped: bool,
}

impl Background {
    /// Starts the command as the leader of a new process group. At most one at a time is guarded against signals.
    ///
    /// # Errors
    /// Those of starting a process, and of [`crate::supervise`].
    pub fn start(command: &mut Command) -> io::Result<Background> {
        command.process_group(0);
        #[cfg(target_os = "linux")]
        // SAFETY: the closure makes one system call (I2).
        unsafe {
            command.pre_exec(end_with_parent)
        };
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).expect("process IDs are positive ints");
        interrupts::guard(pid);
        match ended::of_child(pid) {
            Ok(end) => Ok(Background { child, end, is_reaped: false }),
            Err(error) => {
                signal_group(child.id(), libc::SIGKILL);
                interrupts::guard(0);
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Whether the leader has ended by itself.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn has_ended(&self) -> io::Result<bool> {
        readable(self.end.as_fd(), Duration::ZERO)
    }

    /// Ends the group: asks it, waits for the leader at most `grace`, and kills the rest. Returns how the leader
    /// ended, and whether it had to be killed.
    ///
    /// # Errors
    /// Those of `poll` and of waiting. The group is killed then.
    pub fn stop(mut self, grace: Duration) -> io::Result<(ExitStatus, bool)> {
        signal_group(self.child.id(), libc::SIGTERM);
        let asked = Instant::now();
        let mut has_ended = false;
        while !has_ended && asked.elapsed() < grace {
            has_ended = readable(self.end.as_fd(), STEP.min(grace))?;
        }
        self.reap().map(|status| (status, !has_ended))
    }

    /// Kills the group, then reaps the leader (I1).
    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.is_reaped = true;
        signal_group(self.child.id(), libc::SIGKILL);
        interrupts::guard(0);
        self.child.wait()
    }
}

/// Makes the kernel kill this process when the thread that started it ends.
#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    // SAFETY: numbers only (L1).
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    Ok(())
}

impl Drop for Background {
    fn drop(&mut self) {
        if !self.is_reaped {
            // A process that cannot be waited for is no longer ours.
            let _ = self.reap();
        }
    }
}
