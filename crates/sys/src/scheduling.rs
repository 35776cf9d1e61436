//! The scheduling class of a thread.
//!
//! # Sources
//! sched(7), sched_setscheduler(2).

use std::io;

/// A scheduling class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// That of ordinary threads.
    Other,
    /// Ordinary threads that preempt no other on waking.
    Batch,
    /// Real-time threads that take turns, at the lowest real-time priority.
    RoundRobin,
    /// Real-time threads that run until they wait, at the lowest real-time priority.
    Fifo,
}

/// Puts the calling thread into a class. Children that it forks are of the ordinary class again.
///
/// # Errors
/// `EPERM` without the permission for real-time classes.
pub fn set(policy: Policy) -> io::Result<()> {
    let (policy, priority) = match policy {
        Policy::Other => (libc::SCHED_OTHER, 0),
        Policy::Batch => (libc::SCHED_BATCH, 0),
        Policy::RoundRobin => (libc::SCHED_RR, 1),
        Policy::Fifo => (libc::SCHED_FIFO, 1),
    };
    // SAFETY: plain numbers (L5).
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: a pointer to parameters (L2).
    let rc =
        unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &parameters) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
