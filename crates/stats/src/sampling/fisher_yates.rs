//! A partial shuffle.
//!
//! # Invariants
//! F1: `members` is a permutation of `0..population`, always.
//! # Why it is never reset
//! The choice of positions is uniform and independent of their content, so any permutation will do.

use crate::rng::Rng;

/// Samples by shuffling the front of a permutation that it keeps.
#[derive(Clone, Debug)]
pub struct FisherYates {
    members: Vec<u32>,
}

impl FisherYates {
    /// The population `0..population`.
    #[must_use]
    pub fn new(population: u32) -> FisherYates {
        FisherYates { members: (0..population).collect() }
    }

    /// `n` distinct members in random order.
    ///
    /// # Panics
    /// If `n` is more than the population.
    #[inline]
    pub fn sample(&mut self, n: u32, rng: &mut Rng) -> &[u32] {
        shuffle_front(&mut self.members, n as usize, rng);
        &self.members[..n as usize]
    }
}

/// Moves a uniformly random choice of `n` items, in random order, to the front.
///
/// # Panics
/// If there are fewer than `n` items, or more than 2^32 - 1.
pub(crate) fn shuffle_front<T>(items: &mut [T], n: usize, rng: &mut Rng) {
    let left = u32::try_from(items.len()).expect("fewer than 2^32 items");
    assert!(n <= items.len(), "a sample of {n} out of {left}");
    let mut rest = items;
    let mut i = 0;
    while i + 1 < n {
        let left = left - i as u32;
        let (first, second) = rng.below_two(left, left - 1);
        rest.swap(0, first as usize);
        rest.swap(1, 1 + second as usize);
        rest = &mut rest[2..];
        i += 2;
    }
    if i < n {
        rest.swap(0, rng.below_u32(left - i as u32) as usize);
    }
}
