//! Which keys a thread may have rows for: a search for one of the others need not touch its table, which in a program
//! with many locks is larger than the caches near to a CPU.
//!
//! # Contract
//! [`Seen::may_have`] is true of every key that was [added](Seen::add), and of few others as long as there are fewer
//! keys than an eighth of the [`BITS`].
//! # Invariants
//! I1: only its own thread reaches it. A handler that interrupts `add`, and adds as well, never returns to it.
//! # Evidence
//! `tests/rows.rs`.

use crate::rows::hash;
use uncontended_atomic::Own;

/// Bits, one of which a key sets.
pub const BITS: usize = 1 << 16;

/// The keys that were added.
#[derive(Debug)]
pub struct Seen {
    words: [Own<u64>; BITS / 64],
}

impl Seen {
    /// None: all is zero.
    pub const fn new() -> Self {
        Seen { words: [const { Own::new(0) }; BITS / 64] }
    }

    #[inline(always)]
    fn place(&self, key: u64) -> (&Own<u64>, u64) {
        let hash = hash(key) >> (u64::BITS - BITS.ilog2());
        (&self.words[hash as usize / 64 % (BITS / 64)], 1 << (hash % 64))
    }

    /// Adds a key.
    pub fn add(&self, key: u64) {
        let (word, bit) = self.place(key);
        word.set(word.get() | bit);
    }

    /// Whether the key may have been added.
    #[inline(always)]
    pub fn may_have(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        word.get() & bit != 0
    }
}

impl Default for Seen {
    fn default() -> Self {
        Seen::new()
    }
}
