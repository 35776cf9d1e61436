//! A sparse set: adding, testing and clearing in constant time, without ever initialising all of it.
//!
//! # Invariants
//! S1: `x` is in the set exactly if `sparse[x] < len` and `dense[sparse[x]] == x`. The content beyond `len` is
//!     irrelevant, so clearing is one store.

use crate::rng::Rng;

/// Samples by drawing until a new member comes.
#[derive(Clone, Debug)]
pub struct SparseSet {
    dense: Vec<u32>,
    sparse: Vec<u32>,
    len: u32,
}

impl SparseSet {
    /// An empty set over `0..population`.
    #[must_use]
    pub fn new(population: u32) -> SparseSet {
        let zeros = vec![0; population as usize];
        SparseSet { dense: zeros.clone(), sparse: zeros, len: 0 }
    }

    /// Whether `member` is in the last sample.
    #[must_use]
    pub fn contains(&self, member: u32) -> bool {
        self.sparse
            .get(member as usize)
            .is_some_and(|&at| at < self.len && self.dense[at as usize] == member)
    }

    /// `n` distinct members in random order.
    ///
    /// # Panics
    /// If `n` is more than the population.
    pub fn sample(&mut self, n: u32, rng: &mut Rng) -> &[u32] {
        let population = self.dense.len() as u32;
        assert!(n <= population, "a sample of {n} out of {population}");
        self.len = 0;
        while self.len < n {
            let member = rng.below_u32(population);
            if !self.contains(member) {
                self.dense[self.len as usize] = member;
                self.sparse[member as usize] = self.len;
                self.len += 1;
                debug_assert!(self.contains(member), "S1");
            }
        }
        &self.dense[..n as usize]
    }
}
