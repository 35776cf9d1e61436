//! Where threads wait for each other, a few tens of nanoseconds apart.
//!
//! # Contract
//! [`Meeting::wait`] returns once so many threads have called it. It spins, since a thread that sleeps wakes too late to
//! race; after a while it lets others run in between, for machines with more threads than CPUs.
//! # Edges
//! meet: every `wait` counts its arrival -> every `wait` sees the last one. Carries all that each did before it came.

use uncontended_atomic::{AtomicU64, Ordering};

/// Looks before the thread lets others run.
const PATIENCE: u32 = 10_000;

/// A meeting point of a fixed number of threads, again and again.
#[derive(Debug)]
pub(crate) struct Meeting {
    threads: u64,
    /// All that ever came.
    arrived: AtomicU64,
}

impl Meeting {
    pub(crate) fn new(threads: usize) -> Meeting {
        Meeting { threads: threads as u64, arrived: AtomicU64::new(0) }
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
            if looks.is_multiple_of(PATIENCE) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
