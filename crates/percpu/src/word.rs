//! A word per CPU, changed by compare-and-store.
//!
//! # Contract
//! [`Word::update`] replaces the word of the thread's CPU, or of its shard, by a function of it. No update is lost. It
//! orders nothing else: what a word points to must not depend on it.
//! # Invariants
//! I1: a CPU's word lives as long as the structure, and sections alone change it.

use crate::section::{self, End};
use crate::shape::Shape;
use crate::slots::Slots;
use uncontended_atomic::AtomicU64;
use uncontended_atomic::Ordering::Relaxed;

/// Words of 64 bits, 0 at first.
///
/// ```
/// static LONGEST: uncontended_percpu::Word = uncontended_percpu::Word::new();
/// let note = |ns: u64| LONGEST.update(|longest| (ns > longest).then_some(ns));
/// assert_eq!(note(30), Ok(0));
/// let _ = note(20); // On the same CPU it is not longer, and changes nothing.
/// assert_eq!(LONGEST.values().max(), Some(30));
/// ```
#[derive(Debug, Default)]
pub struct Word {
    cells: Slots<AtomicU64>,
}

impl Word {
    /// Zeros.
    #[cfg(not(unc_model))]
    pub const fn new() -> Word {
        Word { cells: Slots::new() }
    }

    /// Zeros.
    #[cfg(unc_model)]
    pub fn new() -> Word {
        Word { cells: Slots::new() }
    }

    /// Replaces the value by that of `change`, which may be called several times, and returns the old value.
    ///
    /// # Errors
    /// The value, if `change` returns none for it.
    #[inline]
    pub fn update(&self, mut change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let (cells, shape) = (self.cells.cells(), Shape::here());
        loop {
            let cpu = section::cpu();
            if cpu as usize >= shape.cpus {
                // A shard, which atomic operations alone change.
                let shard = shape.shards().next().unwrap_or(0);
                return cells[shard].fetch_update(Relaxed, Relaxed, &mut change);
            }
            let word = &cells[cpu as usize];
            let old = word.load(Relaxed);
            let new = change(old).ok_or(old)?;
            // SAFETY: I1.
            if unsafe { section::compare_and_store(word, cpu, old, new) } == End::Committed {
                return Ok(old);
            }
        }
    }

    /// The values of all CPUs and shards.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.cells.made().iter().map(|cell| cell.load(Relaxed))
    }
}
