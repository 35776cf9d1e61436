//! The configurations that the search has entered.

/// A set of rows of equal length in one allocation; a row that begins with zero is free.
pub(super) struct Memo {
    rows: Vec<u64>,
    width: usize,
    used: usize,
}

const LEAST: usize = 64;

impl Memo {
    /// An empty set for rows of `width` words.
    pub(super) fn new(width: usize) -> Self {
        Memo { rows: vec![0; LEAST * width], width, used: 0 }
    }

    /// Adds a configuration; returns false if it was there.
    pub(super) fn insert(&mut self, met: u32, state: u32, mask: &[u64]) -> bool {
        if (self.used + 1) * 8 > self.rows.len() / self.width * 5 {
            self.grow();
        }
        let head = (u64::from(met) << 32 | u64::from(state)) + 1; // Not zero; `met` stays below 2^31.
        let at = self.place(head, mask);
        if self.rows[at] != 0 {
            return false;
        }
        self.rows[at] = head;
        self.rows[at + 1..at + self.width].copy_from_slice(mask);
        self.used += 1;
        true
    }

    /// The position of the row, or of the free row for it.
    fn place(&self, head: u64, mask: &[u64]) -> usize {
        let count = self.rows.len() / self.width;
        let hash =
            mask.iter().fold(mix(head, 0x9e37_79b9_7f4a_7c15), |hash, word| mix(hash, *word));
        let mut row = hash as usize & (count - 1);
        loop {
            let at = row * self.width;
            let is_same = self.rows[at] == head && self.rows[at + 1..at + self.width] == *mask;
            if self.rows[at] == 0 || is_same {
                return at;
            }
            row = (row + 1) & (count - 1);
        }
    }

    fn grow(&mut self) {
        let rows = vec![0; self.rows.len() * 2];
        let old = std::mem::replace(&mut self.rows, rows);
        for row in old.chunks_exact(self.width).filter(|row| row[0] != 0) {
            let at = self.place(row[0], &row[1..]);
            self.rows[at..at + self.width].copy_from_slice(row);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        // While it grows, the old table and the new one, twice as large, both exist.
        self.rows.len() * size_of::<u64>() * 3
    }
}

fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0xd6e8_feb8_6659_fd93) * 0xa076_1d64_78bd_642f;
    product as u64 ^ (product >> 64) as u64
}
