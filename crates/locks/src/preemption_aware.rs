//! A mutex that spins while its holder seems to run, and sleeps once some thread has seen that it lost its CPU.
//!
//! The word has the CPU on which the holder took the lock. A waiter that runs there knows that the holder does not, and
//! says so to all: those that spin sleep, and leave their CPUs to it.
//!
//! # Weak spot
//! A holder that was moved to another CPU seems to have lost it: then a waiter sleeps too early. One that lost its CPU
//! to a thread that does not want the lock is not noticed: waiters spin for ten microseconds then. Unfair, as
//! [`Futex`](crate::Futex). Where the CPU cannot be read without a system call, it is a futex that spins longer.
//!
//! # State
//! `word`: HELD; ASLEEP: some thread may sleep; LOST: the holder was seen to have no CPU; and above them the CPU of the
//! holder, plus one, or 0.
//!
//! # Invariants
//! I1: the thread that sets HELD holds the lock until the word is 0.
//! I2: a thread sleeps only while the word has HELD and ASLEEP; the holder that clears ASLEEP wakes one.
//! I3: a thread that has slept may have taken a wakeup, and does not know whether others sleep: it takes the lock with
//!     ASLEEP, or wakes another one when it gives up.
//!
//! # Edges
//! aware: `unlock` -> `take`. What the holder did.
//!
//! # Evidence
//! tests/model.rs, where any waiter may run on the holder's CPU; tests/mutants/queues.toml.
//! # Sources
//! FlexGuard (Laforet, Kashyap, Iorgulescu, Lawall and Lozi, SOSP 2025), where an eBPF program, which takes privileges,
//! tells of each switch. Linux 6.18 has no extension of time slices by rseq (it refuses `prctl(79)`, and its feature
//! size, `AT_RSEQ_FEATURE_SIZE`, is 28, without that field): the stamp of the CPU stands in for it.

use crate::pause::{HINT_NS, has_passed};
use crate::{Deadline, RawLock, Timed, TimedOut};
use std::time::Duration;
use uncontended_atomic::Ordering::{Acquire, Relaxed, Release};
use uncontended_atomic::{AtomicU32, Named, Scope, futex_wait, futex_wake, spin_for_ns};

const HELD: u32 = 1;
const ASLEEP: u32 = 2;
const LOST: u32 = 4;
const CPU_SHIFT: u32 = 3;

/// How long a waiter spins for a holder that seems to run: about what a sleep and a wakeup cost.
const SPIN: Duration = Duration::from_micros(10);
/// Looks between two readings of the clock and the CPU.
const LOOKS: u32 = 8;

/// The number of this thread's CPU, plus one, where the word has its own; 0 if it cannot be read cheaply.
fn cpu() -> u32 {
    #[cfg(all(target_os = "linux", not(unc_model)))]
    let cpu = uncontended_sys::affinity::current().map_or(0, |cpu| cpu + 1);
    #[cfg(not(all(target_os = "linux", not(unc_model))))]
    let cpu = 0;
    cpu << CPU_SHIFT
}

/// Whether this thread runs on the holder's CPU. Under the checker, any may.
#[cfg_attr(unc_model, track_caller)]
fn has_cpu_of_holder(word: u32) -> bool {
    #[cfg(unc_model)]
    return word & HELD != 0 && uncontended_atomic::choose(2) == 1;
    #[cfg(not(unc_model))]
    return word & HELD != 0 && word >> CPU_SHIFT != 0 && word >> CPU_SHIFT == cpu() >> CPU_SHIFT;
}

/// A mutex that spins while its holder seems to run, for at most ten microseconds, then sleeps. Four bytes.
#[derive(Debug)]
pub struct PreemptionAware(AtomicU32);

impl PreemptionAware {
    /// A lock that is free.
    #[cfg(not(unc_model))]
    pub const fn new() -> PreemptionAware {
        PreemptionAware(AtomicU32::new(0))
    }

    /// Whether a waiter has seen that the holder lost its CPU.
    pub fn is_lost(&self) -> bool {
        self.0.load(Relaxed) & LOST != 0
    }

    /// Whether some thread may sleep; others may change that at once.
    pub fn has_waiters(&self) -> bool {
        self.0.load(Relaxed) & ASLEEP != 0
    }

    #[cfg_attr(unc_model, track_caller)]
    fn take(&self, flags: u32) -> bool {
        // EDGE aware (acquire): what the last holder did. I1
        self.0.compare_exchange(0, HELD | flags | cpu(), Acquire, Relaxed).is_ok()
    }

    /// Spins until the lock is free, the holder has lost its CPU, or it has taken too long. Returns the word, with LOST
    /// if this thread runs on the holder's CPU.
    #[cfg_attr(unc_model, track_caller)]
    fn spin(&self) -> u32 {
        let end = Deadline::after(SPIN);
        loop {
            let word = self.0.load(Relaxed);
            if has_cpu_of_holder(word) {
                return word | LOST;
            }
            if word == 0 || word & LOST != 0 || cfg!(unc_model) || end.has_passed() {
                return word;
            }
            for _ in 0..LOOKS {
                spin_for_ns(HINT_NS);
                if self.0.load(Relaxed) != word {
                    break;
                }
            }
        }
    }

    #[cold]
    #[cfg_attr(unc_model, track_caller)]
    fn wait(&self, deadline: Deadline) -> Result<(), TimedOut> {
        let mut slept = 0;
        loop {
            let seen = self.spin();
            if seen == 0 {
                if self.take(slept) {
                    return Ok(()); // I3
                }
                continue;
            }
            if has_passed(deadline) {
                if slept != 0 {
                    futex_wake(&self.0, 1, Scope::Private); // I3
                }
                return Err(TimedOut);
            }
            let word = self.0.load(Relaxed);
            let asleep = word | ASLEEP | (seen & LOST);
            // The same holder, as far as this thread can see: LOST is a hint.
            if word & HELD == 0 || word >> CPU_SHIFT != seen >> CPU_SHIFT {
                continue;
            }
            if word == asleep || self.0.compare_exchange(word, asleep, Relaxed, Relaxed).is_ok() {
                let until = (deadline != Deadline::NEVER).then_some(deadline.as_ns());
                futex_wait(&self.0, asleep, until, Scope::Private); // I2
                slept = ASLEEP;
            }
        }
    }
}

impl Default for PreemptionAware {
    fn default() -> PreemptionAware {
        PreemptionAware(AtomicU32::new(0).named("aware"))
    }
}

// SAFETY: one thread at a time replaces 0 (I1), and sees what the last holder did (edge aware).
unsafe impl RawLock for PreemptionAware {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock(&self) {
        if !self.try_lock() {
            let _ = self.wait(Deadline::NEVER); // It never passes.
        }
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn try_lock(&self) -> bool {
        self.take(0)
    }

    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    unsafe fn unlock(&self) {
        // EDGE aware (release): what this holder did.
        if self.0.swap(0, Release) & ASLEEP != 0 {
            futex_wake(&self.0, 1, Scope::Private); // I2
        }
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

impl Timed for PreemptionAware {
    #[inline]
    #[cfg_attr(unc_model, track_caller)]
    fn lock_deadline(&self, deadline: Deadline) -> Result<(), TimedOut> {
        if self.try_lock() { Ok(()) } else { self.wait(deadline) }
    }
}
