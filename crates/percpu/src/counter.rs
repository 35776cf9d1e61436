//! A counter that threads on different CPUs do not contend for.
//!
//! # Contract
//! An addition goes to the cell of the thread's CPU, in a section; without one, to a shard, by an atomic addition. No
//! addition is lost, whatever interrupts it. [`Counter::sum`] adds up the cells one after the other: it contains every
//! addition that happened before the call, none that happens after it, and any of those in between. So of additions
//! alone it never goes back in one thread. It wraps at 2^64, and additions of negated numbers subtract.
//!
//! An addition may be made in a signal handler, but the first of a counter allocates its cells.
//! # Invariants
//! I1: the cells of a structure that lives are those of `section.rs`, I1.

use crate::section::{self, End};
use crate::shape::Shape;
use crate::slots::Slots;
use uncontended_atomic::AtomicU64;
use uncontended_atomic::Ordering::Relaxed;

/// A counter of 64 bits.
///
/// ```
/// static REQUESTS: uncontended_percpu::Counter = uncontended_percpu::Counter::new();
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| (0..1000).for_each(|_| REQUESTS.increment()));
///     }
/// });
/// REQUESTS.add(5);
/// assert_eq!(REQUESTS.sum(), 4005);
/// ```
#[derive(Debug, Default)]
pub struct Counter {
    cells: Slots<AtomicU64>,
}

impl Counter {
    /// Zero.
    #[cfg(not(unc_model))]
    pub const fn new() -> Counter {
        Counter { cells: Slots::new() }
    }

    /// Zero.
    #[cfg(unc_model)]
    pub fn new() -> Counter {
        Counter { cells: Slots::new() }
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        // SAFETY: I1.
        let end = self.cells.own().map(|cells| unsafe { section::increment(cells) });
        if end != Some(End::Committed) {
            self.add_elsewhere(1);
        }
    }

    /// Adds `n`, modulo 2^64.
    #[inline]
    pub fn add(&self, n: u64) {
        // SAFETY: I1.
        let end = self.cells.own().map(|cells| unsafe { section::add(cells, n) });
        if end != Some(End::Committed) {
            self.add_elsewhere(n);
        }
    }

    /// The additions of threads without a cell.
    #[cold]
    fn add_elsewhere(&self, n: u64) {
        let cells = self.cells.cells();
        // Any shard is right: atomic additions do not exclude each other.
        let shard = Shape::here().shards().next().unwrap_or(0);
        cells[shard].fetch_add(n, Relaxed);
    }

    /// The sum of all additions, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.cells.made().iter().fold(0, |sum, cell| sum.wrapping_add(cell.load(Relaxed)))
    }
}
