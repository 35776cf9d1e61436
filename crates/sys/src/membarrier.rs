//! `membarrier`: a full barrier on other threads, paid by the caller.
//!
//! # Contract
//! A [`Reach`] is first registered, then usable. Private expedited barriers reach the running threads of the caller's
//! process. Global ones reach the running threads of every process that has registered for them. The caller need not be
//! registered; a process that is not registered is *not* reached, and the caller cannot find out.
//! [`register_restarts`] and [`restart`] are for restartable sequences: that barrier also aborts those that run.
//! # Sources
//! `membarrier(2)`: the global command (Linux 4.3), the private expedited ones (4.14), the global expedited and
//! sync-core ones (4.16), those of restartable sequences (5.10). The global one fails with nohz_full.

use std::io;

/// The system call's number, for code that calls it directly.
#[allow(clippy::unnecessary_cast, reason = "a word of 32 bits on some processors")]
pub const NUMBER: u64 = libc::SYS_membarrier as u64;

/// The command of [`Reach::Private`], likewise.
pub const EXPEDITED: u64 = 1 << 3;

const GLOBAL: u64 = 1 << 0;
const GLOBAL_EXPEDITED: u64 = 1 << 1;
const PRIVATE_SYNC_CORE: u64 = 1 << 5;
const EXPEDITED_RESTARTS: u64 = 1 << 7;
/// The third argument names a CPU.
const ONE_CPU: libc::c_long = 1;

/// The threads that a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Those of the caller's process.
    Private,
    /// Those of every registered process.
    Global,
    /// Those of the caller's process; each also discards the instructions that it has fetched.
    PrivateCores,
    /// All threads of the system, without interrupts: it waits until each CPU has switched threads. No registration.
    Everywhere,
}

impl Reach {
    fn command(self) -> u64 {
        match self {
            Reach::Private => EXPEDITED,
            Reach::Global => GLOBAL_EXPEDITED,
            Reach::PrivateCores => PRIVATE_SYNC_CORE,
            Reach::Everywhere => GLOBAL,
        }
    }

    /// Whether the kernel supports these barriers.
    ///
    /// # Errors
    /// Those of `membarrier`: the kernel lacks the call, or a filter forbids it.
    pub fn is_known(self) -> io::Result<bool> {
        Ok(command(0, None)? & self.command() != 0)
    }

    /// Registers the process. May be called again.
    ///
    /// # Errors
    /// Those of `membarrier`: the kernel lacks the command, or a filter forbids it.
    pub fn register(self) -> io::Result<()> {
        match self {
            Reach::Everywhere => Ok(()),
            _ => command(self.command() << 1, None).map(drop),
        }
    }

    /// Runs a full barrier on every running thread in reach, and on this one.
    ///
    /// # Errors
    /// Those of `membarrier`: the process is not registered (for the private reach), or a kernel or a filter refuses
    /// the call.
    pub fn barrier(self) -> io::Result<()> {
        command(self.command(), None).map(drop)
    }
}

/// Registers the process for [`restart`]. May be called again.
///
/// # Errors
/// Those of `membarrier`: the kernel lacks the command, or a filter forbids it.
pub fn register_restarts() -> io::Result<()> {
    command(EXPEDITED_RESTARTS << 1, None).map(drop)
}

/// Runs a full barrier on every running thread of the process, or on the one that runs on `cpu`, and on this one, and
/// aborts the restartable sequence that the thread is in: it starts again after the barrier. On a CPU that is
/// offline no thread runs.
///
/// # Errors
/// Those of `membarrier`: the process is not registered, or a kernel or a filter refuses the call.
pub fn restart(cpu: Option<u32>) -> io::Result<()> {
    command(EXPEDITED_RESTARTS, cpu).map(drop)
}

fn command(command: u64, cpu: Option<u32>) -> io::Result<u64> {
    // Each argument is one register: a number of 64 bits would take two on a processor of 32 bits.
    let command = command as libc::c_ulong;
    let (flags, cpu) = cpu.map_or((0, 0), |cpu| (ONE_CPU, cpu as libc::c_long));
    // SAFETY: numbers only (L1).
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) };
    u64::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::{Reach, register_restarts, restart};

    #[test]
    fn a_registered_process_may_call_it() {
        let all = [Reach::Private, Reach::Global, Reach::PrivateCores, Reach::Everywhere];
        for reach in all {
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

    #[test]
    fn a_registered_process_may_restart_sequences() {
        if let Err(error) = register_restarts() {
            return uncontended_testkit::skip!("a_registered_process_may_restart", "{error}");
        }
        restart(None).unwrap();
        restart(Some(0)).unwrap();
        restart(Some(1 << 20)).unwrap_or_else(|error| {
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "no such CPU");
        });
    }
}
