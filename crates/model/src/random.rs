//! Pseudo-random choices for schedules and random programs. The same seed gives the same choices.
//!
//! # Sources
//! Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.

/// A SplitMix64 generator; the field is the seed.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, with a bias below `end` / 2^64.
    ///
    /// # Panics
    /// If `end` is zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A random element of `items`.
    ///
    /// # Panics
    /// If `items` is empty.
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_paper_and_a_shuffle_loses_nothing() {
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        let mut items: Vec<u8> = (0..20).collect();
        random.shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<u8>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<u8>>());
    }
}
