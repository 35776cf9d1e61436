//! Counters with a single writer.
//!
//! # Invariants
//! I1: only its own thread writes a cell (layout), so plain loads and stores count exactly.

use uncontended_atomic::{AtomicU64, Ordering::Relaxed};

/// Adds one; the counter has a single writer (I1).
#[inline(always)]
pub fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

pub(crate) fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
}
