//! `membarrier`: a full barrier on other threads, paid by the caller.
//!
//! # Contract
//! A [`Reach`] is first registered, then usable. Private expedited barriers reach the running threads of the caller's
//! process. Global ones reach the running threads of every process that has registered for them. The caller need not be
//! registered; a process that is not registered is *not* reached, and the caller cannot find out.
//! # Sources
//! `membarrier(2)`: the private expedited commands (Linux 4.14), the global expedited ones (4.16).

use std::io;

/// The system call's number, for code that calls it directly.
#[allow(clippy::unnecessary_cast, reason = "a word of 32 bits on some processors")]
pub const NUMBER: u64 = libc::SYS_membarrier as u64;

/// The command of [`Reach::Private`], likewise.
pub const EXPEDITED: u64 = 1 << 3;

const GLOBAL_EXPEDITED: u64 = 1 << 1;

/// The threads that a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Those of the caller's process.
    Private,
    /// Those of every registered process.
    Global,
}

impl Reach {
    fn command(self) -> u64 {
        match self {
            Reach::Private => EXPEDITED,
            Reach::Global => GLOBAL_EXPEDITED,
        }
    }

    /// Whether the kernel supports these barriers.
    ///
    /// # Errors
    /// Those of `membarrier`: the kernel lacks the call, or a filter forbids it.
    pub fn is_known(self) -> io::Result<bool> {
        Ok(command(0)? & self.command() != 0)
    }

    /// Registers the process. May be called again.
    ///
    /// # Errors
    /// Those of `membarrier`: the kernel lacks the command, or a filter forbids it.
    pub fn register(self) -> io::Result<()> {
        command(self.command() << 1).map(drop)
    }

    /// Runs a full barrier on every running thread in reach, and on this one.
    ///
    /// # Errors
    /// Those of `membarrier`: the process is not registered (for the private reach), or a kernel or a filter refuses
    /// the call.
    pub fn barrier(self) -> io::Result<()> {
        command(self.command()).map(drop)
    }
}

fn command(command: u64) -> io::Result<u64> {
    // Each argument is one register: a number of 64 bits would take two on a processor of 32 bits.
    let command = command as libc::c_ulong;
    // SAFETY: numbers only (L1).
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    u64::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn a_registered_process_may_call_it() {
        for reach in [Reach::Private, Reach::Global] {
            if let Err(error) = reach.register() {
                uncontended_testkit::skip!(
                    "a_registered_process_may_call_it",
                    "{reach:?}: {error}"
                );
                continue;
            }
            reach.register().unwrap();
            assert!(reach.is_known().unwrap());
            reach.barrier().unwrap();
        }
    }
}
