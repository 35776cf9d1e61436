//! The longest times of the four blocks with the longest, as document 003 shows them.

use std::sync::{Arc, Mutex, PoisonError};

/// Longest times of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worst(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    waits_ns: [u64; 4],
    idles_ns: [u64; 4],
}

impl Worst {
    /// Takes those of a block.
    pub(crate) fn add(&self, wait_ns: u64, idle_ns: u64) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        insert(&mut found.waits_ns, wait_ns);
        insert(&mut found.idles_ns, idle_ns);
    }

    /// Waits and idle times.
    pub(crate) fn read(&self) -> ([u64; 4], [u64; 4]) {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (found.waits_ns, found.idles_ns)
    }
}

/// Keeps the four largest, the largest first.
fn insert(largest: &mut [u64; 4], value: u64) {
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
            worst.add(value, value / 2);
        }
        assert_eq!(worst.read(), ([9, 8, 7, 7], [4, 4, 3, 3]));
    }
}
