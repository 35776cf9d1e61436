//! The payload: items of 8, 64 and 256 bytes, written in full and read in full.

/// An item that is made from its number and returns a checksum on arrival.
pub trait Payload: Send + Sync + Copy + Default + 'static {
    /// Makes the item of this number.
    fn new(number: u64) -> Self;
    /// The sum of all its words.
    fn sum(&self) -> u64;
}

/// `WORDS` words of eight bytes.
#[derive(Clone, Copy)]
pub struct Words<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Words<WORDS> {
    fn default() -> Self {
        Words([0; WORDS])
    }
}

impl<const WORDS: usize> Payload for Words<WORDS> {
    #[inline(always)]
    fn new(number: u64) -> Self {
        Words([number; WORDS])
    }

    #[inline(always)]
    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

/// The checksum of the items numbered `from..to`.
pub fn checksum<T: Payload>(from: u64, to: u64) -> u64 {
    let ones = T::new(1).sum();
    let numbers = u128::from(to) * u128::from(to).saturating_sub(1) / 2
        - u128::from(from) * u128::from(from).saturating_sub(1) / 2;
    (numbers as u64).wrapping_mul(ones)
}
