//! Sampling without replacement, with no allocation after construction.
//!
//! # Contract
//! [`Sampler::sample`] returns `n` distinct members of `0..population`; every subset, and every order of it, is equally
//! likely. The three methods below are public, each with its own memory and cost:
//! * [`FisherYates`]: a permutation that is never restored; `population` words; n draws and swaps. The order that an
//!   earlier sample left does not matter, since a uniform choice of positions is uniform whatever their content.
//! * [`Floyd`]: n draws, O(n) memory, whatever the population.
//! * [`SparseSet`]: draws again if the member is present; two arrays of `population`; the baseline of the measurements.
//! # Evidence
//! tests/truth_sampling.rs (subsets and orders, judged by this crate's own tests), tests/truth_sampling_allocations.rs;
//! compare/src/how_fast_is_sampling.rs.
//! # Sources
//! Briggs and Torczon 1993 (sparse sets); Bentley and Floyd 1987; Fisher and Yates by way of Durstenfeld 1964.

mod fisher_yates;
mod floyd;
mod sparse_set;

pub use fisher_yates::FisherYates;
pub(crate) use fisher_yates::shuffle_front;
pub use floyd::Floyd;
pub use sparse_set::SparseSet;

use crate::rng::Rng;

/// Largest population whose permutation is kept (4 MiB); beyond, memory is proportional to the sample.
const KEPT: u32 = 1 << 20;

/// Samples from one population, with the method that suits its size and the sample's.
#[derive(Clone, Debug)]
pub struct Sampler {
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Permutation(FisherYates),
    Table(Floyd),
}

impl Sampler {
    /// Allocates for samples of up to `largest` of `0..population`.
    ///
    /// # Panics
    /// If `largest` exceeds `population`.
    #[must_use]
    pub fn new(population: u32, largest: u32) -> Sampler {
        assert!(largest <= population, "a sample of {largest} out of {population}");
        // A table costs four words per member of the sample.
        let way = if population <= KEPT || largest > population / 4 {
            Way::Permutation(FisherYates::new(population))
        } else {
            Way::Table(Floyd::new(population, largest))
        };
        Sampler { way }
    }

    /// `n` distinct members of the population, in random order.
    ///
    /// ```
    /// use uncontended_stats::{Rng, sampling::Sampler};
    /// let (mut sampler, mut rng) = (Sampler::new(10_000, 2500), Rng::new(42));
    /// let sample = sampler.sample(3, &mut rng);
    /// assert!(sample.len() == 3 && sample.iter().all(|&member| member < 10_000));
    /// ```
    ///
    /// # Panics
    /// If `n` exceeds the `largest` of the construction.
    #[inline]
    pub fn sample(&mut self, n: u32, rng: &mut Rng) -> &[u32] {
        match &mut self.way {
            Way::Permutation(permutation) => permutation.sample(n, rng),
            Way::Table(table) => {
                table.sample(n, rng);
                table.shuffled(rng)
            }
        }
    }
}
