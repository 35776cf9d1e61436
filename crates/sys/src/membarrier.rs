//! `membarrier`: a full barrier on other threads, paid by the caller.
//!
//! # Contract
//! A [`Reach`] is first registered, then usable. Private expedited barriers reach the running threads of the caller's
//! process. Global ones reach the running threads of every process that has registered for them; the caller need not
//! be registered, and a process that is not registered is *not* reached, which the caller is not told.
//! # Sources
//! `membarrier(2)`: the private expedited commands (Linux 4.14), the global expedited ones (4.16).

use std::io;

/// The system call's number, for code that calls it directly.
pub const NUMBER: u64 = libc::SYS_membarrier as u64;

/// The command behind [`Reach::Private`], likewise.
pub const EXPEDITED: u64 = 1 << 3;

const GLOBAL_EXPEDITED: u64 = 1 << 1;

/// Whose threads a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The caller's process.
    Private,
    /// Every process that has registered.
    Global,
}

impl Reach {
    fn command(self) -> u64 {
        match self {
            Reach::Private => EXPEDITED,
            Reach::Global => GLOBAL_EXPEDITED,
        }
    }

    /// Whether the kernel knows these barriers.
    ///
    /// # Errors
    /// What `membarrier` reports: a kernel without the call, or a filter that forbids it.
    pub fn is_known(self) -> io::Result<bool> {
        Ok(command(0)? & self.command() != 0)
    }

    /// Registers the process. May be called again.
    ///
    /// # Errors
    /// What `membarrier` reports: a kernel without the command, or a filter that forbids it.
    pub fn register(self) -> io::Result<()> {
        command(self.command() << 1).map(drop)
    }

    /// A full barrier on every running thread within reach, and here.
    ///
    /// # Errors
    /// What `membarrier` reports: a process that is not registered (for the private reach), a kernel or a filter that
    /// refuses.
    pub fn barrier(self) -> io::Result<()> {
        command(self.command()).map(drop)
    }
}

fn command(command: u64) -> io::Result<u64> {
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
