//! A small random number generator. The user seeds it, and logs the seed.
//!
//! # Contract
//! The same seed gives the same numbers on every machine and in every version of this crate. Bounded integers are
//! unbiased. Not for secrets.
//! # Evidence
//! The tests below check the reference outputs; tests/truth_sampling.rs judges uniformity.
//! # Sources
//! xoshiro256++ and SplitMix64: Blackman and Vigna, arXiv 1805.01407. Bounded integers: Lemire, arXiv 1805.10941.

use crate::ln::ln;

/// xoshiro256++.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose sequence is determined by `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Rng { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// An integer in `[0, bound)`, each equally likely; 0 for a bound of 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut wide = u128::from(self.next_u64()) * u128::from(bound);
        if (wide as u64) < bound {
            let unfair = bound.wrapping_neg() % bound;
            while (wide as u64) < unfair {
                wide = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// As [`Rng::below`] for a smaller bound, with half the bits.
    #[inline]
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        scale(self.next_u64() >> 32, bound).unwrap_or_else(|| self.below_u32_again(bound))
    }

    /// Two independent numbers below two bounds, from one draw.
    #[inline]
    pub(crate) fn below_two(&mut self, first: u32, second: u32) -> (u32, u32) {
        let bits = self.next_u64();
        (
            scale(bits >> 32, first).unwrap_or_else(|| self.below_u32_again(first)),
            scale(bits & 0xffff_ffff, second).unwrap_or_else(|| self.below_u32_again(second)),
        )
    }

    #[cold]
    fn below_u32_again(&mut self, bound: u32) -> u32 {
        self.below(u64::from(bound)) as u32
    }

    /// A multiple of 2^-53 in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with the given chance, to within 2^-53.
    #[inline]
    pub fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    /// A standard normal number, the same on every machine (Marsaglia and Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * ln(square).mid / square).sqrt();
            }
        }
    }

    /// Shuffles; every order is equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// 32 random bits scaled to `[0, bound)`, or `None` for the few inputs that would favour some outputs; the caller then
/// draws again by any fair means.
#[inline]
fn scale(bits: u64, bound: u32) -> Option<u32> {
    let wide = bits * u64::from(bound);
    let low = wide as u32;
    if low < bound && low < bound.wrapping_neg() % bound { None } else { Some((wide >> 32) as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_never_changes() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        // The first outputs of the authors' program from this state.
        assert_eq!(
            [(); 3].map(|()| rng.next_u64()),
            [41_943_041, 58_720_359, 3_588_806_011_781_223]
        );
        assert_eq!(Rng::new(0).state[0], 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn bounded_numbers_stay_below_and_are_fair() {
        let mut rng = Rng::new(7);
        // Three quarters of 2^32: the bound with which a biased scaling shows at once.
        let bound = 3 << 30;
        let low = (0..100_000).filter(|_| rng.below_u32(bound).is_multiple_of(3)).count();
        assert!((32_500..34_200).contains(&low), "{low}");
        assert!((0..10_000).all(|_| rng.below(5) < 5 && rng.unit() < 1.0));
        assert_eq!(rng.below(0), 0);
    }
}
