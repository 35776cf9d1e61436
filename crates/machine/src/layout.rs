//! Where the words of one batch lie: every location of the program many times over, one for each run.
//!
//! # State
//! I1: word `slot(location, run, spread)` is below [`Layout::words`] for every location of the layout, every run below
//! [`BATCH`] and both spreads; different runs and locations have different slots.
//!
//! Runs are one line apart or packed eight to a line. The planes of two locations are a multiple of a page and some
//! lines apart: were the low twelve bits of their addresses equal, the processor would take a load for one that
//! depends on the store before it, and hold it back.

/// Most runs in one batch; a power of two.
pub(crate) const BATCH: usize = 2048;

/// Most locations of a program, the hidden one of pacing not counted.
pub const LOCATIONS: usize = 64;

/// Words in a cache line.
pub(crate) const LINE: usize = 8;

/// Words from one location's plane to the next's.
const PLANE: usize = BATCH * LINE + 5 * LINE;

/// The layout of a program with so many locations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) locations: usize,
}

impl Layout {
    /// Words that a batch takes, with one more plane for the counters with which threads wait for each other.
    pub(crate) fn words(self) -> usize {
        (self.locations + 1) * PLANE
    }

    /// The location of the counters.
    pub(crate) fn counters(self) -> usize {
        self.locations
    }

    /// Bytes from a run's first location to another of its locations.
    pub(crate) fn distance(location: usize) -> i32 {
        (location * PLANE * size_of::<u64>()) as i32
    }

    /// The word of a location in one run; `spread` is the words between runs, 1 or [`LINE`].
    pub(crate) fn slot(location: usize, run: usize, spread: usize) -> usize {
        location * PLANE + run * spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_distinct_and_in_bounds() {
        let layout = Layout { locations: 3 };
        for spread in [1, LINE] {
            let mut slots: Vec<usize> = (0..=layout.counters())
                .flat_map(|location| (0..BATCH).map(move |run| Layout::slot(location, run, spread)))
                .collect();
            slots.sort_unstable();
            assert!(slots.windows(2).all(|pair| pair[0] != pair[1]));
            assert!(slots.last().is_some_and(|&last| last < layout.words()));
        }
        assert_ne!(Layout::distance(1) % 4096, 0);
    }
}
