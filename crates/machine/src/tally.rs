//! Counts of final states, made for few states seen very often.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How often each state was seen.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: HashMap<Box<[u64]>, u64, BuildHasherDefault<Mix>>,
}

impl Tally {
    /// Counts one state.
    pub(crate) fn add(&mut self, words: &[u64]) {
        match self.counts.get_mut(words) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(words.into(), 1)),
        }
    }

    /// The states and their counts, in no order.
    pub(crate) fn into_counts(self) -> impl Iterator<Item = (Box<[u64]>, u64)> {
        self.counts.into_iter()
    }
}

/// Multiplies and folds: the words are small numbers that nobody chooses in malice.
#[derive(Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write_usize(&mut self, length: usize) {
        self.write(&(length as u64).to_ne_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_ne_bytes(word))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_counted_as_often_as_it_came() {
        let mut tally = Tally::default();
        for i in 0..1000_u64 {
            tally.add(&[i % 3, i % 2]);
        }
        let mut counts: Vec<_> = tally.into_counts().collect();
        counts.sort();
        assert_eq!(counts.len(), 6);
        assert_eq!(counts[0], (Box::from([0, 0]), 167));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 1000);
    }
}
