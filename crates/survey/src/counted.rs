//! The longest times of the four blocks with the longest, as document 003 shows them.

use std::sync::{Arc, Mutex, PoisonError};

/// A time, and whether it was not over when its block ended.
pub(crate) type Longest = (u64, bool);

/// Longest times of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worst(Arc<Mutex<Found>>);

/// The longest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) waits: [Longest; 4],
    pub(crate) idles: [Longest; 4],
}

impl Worst {
    /// Takes those of a block.
    pub(crate) fn add(&self, wait: Longest, idle: Longest) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        insert(&mut found.waits, wait);
        insert(&mut found.idles, idle);
    }

    /// Waits and idle times.
    pub(crate) fn read(&self) -> Found {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the four largest, the largest first.
fn insert(largest: &mut [Longest; 4], value: Longest) {
    if value > largest[3] {
        largest[3] = value;
        largest.sort_unstable_by(|one, other| other.cmp(one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_largest_are_kept_in_order() {
        let worst = Worst::default();
        for value in [3, 9, 1, 7, 7, 2, 8] {
            worst.add((value, value == 9), (value / 2, false));
        }
        let found = worst.read();
        assert_eq!(found.waits, [(9, true), (8, false), (7, false), (7, false)]);
        assert_eq!(found.idles.map(|it| it.0), [4, 4, 3, 3]);
    }
}
