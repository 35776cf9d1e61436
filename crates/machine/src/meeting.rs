//! Where threads wait for each other, a few tens of nanoseconds apart.
//!
//! # Contract
//! [`Meeting::wait`] returns once so many threads have called it. It spins, since a thread that sleeps wakes too late
//! to race; after a while it lets others run in between,
//! at once where there are more threads than CPUs.
//! # Edges
//! meet: every `wait` counts its arrival -> every `wait` sees the last one. Carries all that each did before it came.

use uncontended_atomic::{AtomicU64, Ordering};

/// Looks before a thread lets others run, where all have a CPU: tens of microseconds.
const PATIENCE: u32 = 1_000;

/// A meeting point of a fixed number of threads, again and again.
#[derive(Debug)]
pub(crate) struct Meeting {
    threads: u64,
    /// Looks before a thread lets others run.
    patience: u32,
    /// All that ever came.
    arrived: AtomicU64,
}

impl Meeting {
    /// For so many threads on so many CPUs.
    pub(crate) fn new(threads: usize, cpus: usize) -> Meeting {
        let patience = if threads > cpus { 1 } else { PATIENCE };
        Meeting { threads: threads as u64, patience, arrived: AtomicU64::new(0) }
    }

    /// Waits for the others.
    pub(crate) fn wait(&self) {
        // EDGE meet (acq-rel): release for those who see this arrival; acquire for the one who comes last.
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (before / self.threads + 1) * self.threads;
        let mut looks = 0_u32;
        // EDGE meet (acquire): the others came, and what they did before is seen.
        while self.arrived.load(Ordering::Acquire) < all {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(self.patience) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
