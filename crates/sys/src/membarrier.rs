//! `membarrier`: a full barrier on every thread of the process, paid by the caller.
//!
//! # Sources
//! `membarrier(2)`, the private expedited commands (Linux 4.14).

use std::io;

/// The system call's number, for code that calls it directly.
pub const NUMBER: u64 = libc::SYS_membarrier as u64;

/// The command behind [`expedited`].
pub const EXPEDITED: u64 = 1 << 3;

/// Allows the process to call [`expedited`]. May be called again.
///
/// # Errors
/// What `membarrier` reports: a kernel without the command, or a filter that forbids it.
pub fn register_expedited() -> io::Result<()> {
    command(EXPEDITED << 1)
}

/// Interrupts every other running thread of the process, which is a full barrier there, and is a full barrier here.
///
/// # Errors
/// A process that is not registered ([`register_expedited`]).
pub fn expedited() -> io::Result<()> {
    command(EXPEDITED)
}

fn command(command: u64) -> io::Result<()> {
    // SAFETY: `membarrier` takes no pointer.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_registered_process_may_call_it() {
        if let Err(error) = super::register_expedited() {
            println!("SKIPPED a_registered_process_may_call_it: {error}");
            return;
        }
        super::register_expedited().unwrap();
        super::expedited().unwrap();
    }
}
