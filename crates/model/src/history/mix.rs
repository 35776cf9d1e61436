//! A fast hash of integers, for tables whose keys are not chosen by an attacker.

use std::hash::Hasher;

/// Spreads integers over all bits with a multiplication and a fold.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Mix(u64);

impl Mix {
    fn fold(&mut self, one: u64, other: u64) {
        let one = u128::from(self.0 ^ one ^ 0x9e37_79b9_7f4a_7c15);
        let product = one * u128::from(other ^ 0xd6e8_feb8_6659_fd93);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let pair = u128::from_le_bytes(*pair);
            self.fold(pair as u64, (pair >> 64) as u64);
        }
        for chunk in rest.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word, 0);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
