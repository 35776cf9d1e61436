//! A spinning barrier: threads leave it within a few tens of nanoseconds of each other.
//!
//! # Contract
//! [`Barrier::wait`] returns once all threads have called it. It spins, because a thread that sleeps wakes too late to
//! race. After a while it yields between checks, and at once if there are more threads than CPUs.
//! # Edges
//! meet: every `wait` counts its arrival -> every `wait` sees the last one. Carries everything that each thread did
//! before it arrived.

use uncontended_atomic::{AtomicU64, Ordering};

/// Checks before a thread yields, if every thread has a CPU: tens of microseconds.
const CHECKS_BEFORE_YIELD: u32 = 1_000;

/// A reusable barrier for a fixed number of threads.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: u64,
    /// Checks before a thread yields.
    checks_before_yield: u32,
    /// Arrivals so far, over all uses.
    arrived: AtomicU64,
}

impl Barrier {
    /// A barrier for `threads` threads on `cpus` CPUs.
    pub(crate) fn new(threads: usize, cpus: usize) -> Barrier {
        let checks_before_yield = if threads > cpus { 1 } else { CHECKS_BEFORE_YIELD };
        Barrier { threads: threads as u64, checks_before_yield, arrived: AtomicU64::new(0) }
    }

    /// Waits for the other threads.
    pub(crate) fn wait(&self) {
        // EDGE meet (acq-rel): release for threads that see this arrival; acquire for the thread that arrives last.
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (before / self.threads + 1) * self.threads;
        let mut checks = 0_u32;
        // EDGE meet (acquire): the others arrived, and this thread sees what they did before.
        while self.arrived.load(Ordering::Acquire) < all {
            checks = checks.wrapping_add(1);
            if checks.is_multiple_of(self.checks_before_yield) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
