//! Counts of final states, for few states that are seen very often.
//!
//! # State
//! I1: the number of `slots` is a power of two, and less than half of them are taken. Each taken slot holds the number
//!     of a row of `rows`. The search for a state's row begins at its hash and ends at a free slot.

/// How often each state was seen; all states have the same number of words.
#[derive(Debug)]
pub(crate) struct Tally {
    width: usize,
    /// The states, one after the other.
    rows: Vec<u64>,
    counts: Vec<u64>,
    /// Row number plus one; zero marks a free slot.
    slots: Vec<u32>,
}

impl Tally {
    /// Counts states of `width` words.
    pub(crate) fn new(width: usize) -> Tally {
        Tally { width, rows: Vec::new(), counts: Vec::new(), slots: vec![0; 64] }
    }

    /// Counts one state.
    pub(crate) fn add(&mut self, words: &[u64]) {
        debug_assert_eq!(words.len(), self.width);
        let mut at = self.home(words);
        loop {
            match self.slots[at] {
                0 => break,
                row if self.row(row) == words => {
                    self.counts[row as usize - 1] += 1;
                    return;
                }
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
        self.rows.extend_from_slice(words);
        self.counts.push(1);
        self.slots[at] = self.counts.len() as u32;
        if self.counts.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn row(&self, row: u32) -> &[u64] {
        &self.rows[(row as usize - 1) * self.width..][..self.width]
    }

    /// The slot where the search for a state begins. The words are small numbers that are not chosen maliciously.
    fn home(&self, words: &[u64]) -> usize {
        let mix = |hash: u64, &word: &u64| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        (words.iter().fold(0, mix) >> 32) as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for row in 1..=self.counts.len() as u32 {
            let mut at = self.home(self.row(row));
            while self.slots[at] != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = row;
        }
    }

    /// The states and their counts, in the order in which they were first seen.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&[u64], u64)> {
        self.counts.iter().enumerate().map(|(row, &count)| (self.row(row as u32 + 1), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_counted_as_often_as_it_was_added() {
        let mut tally = Tally::new(2);
        for i in 0..10_000_u64 {
            tally.add(&[i % 30, i % 7]);
        }
        let counts: Vec<_> = tally.counts().collect();
        assert_eq!(counts.len(), 210);
        for (state, count) in counts {
            let expected = (0..10_000).filter(|i| [i % 30, i % 7] == *state).count() as u64;
            assert_eq!(count, expected, "{state:?}");
        }
    }

    #[test]
    fn a_state_without_words_is_one_state() {
        let mut tally = Tally::new(0);
        (0..5).for_each(|_| tally.add(&[]));
        assert_eq!(tally.counts().collect::<Vec<_>>(), [(&[][..], 5)]);
    }
}
