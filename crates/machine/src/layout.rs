//! The memory of one batch: every location of the program once per run.
//!
//! # State
//! I1: word `slot(location, run, spread)` is below [`Layout::words`] for every location of the layout, every run below
//! [`BATCH`] and both spreads; different runs and locations have different slots.
//!
//! Runs are one cache line apart or packed eight to a line. The planes of two locations are a multiple of a page plus
//! some lines apart: if the low twelve bits of their addresses were equal, the processor would assume that a load
//! depends on the store before it, and delay it.

/// Most runs in a batch; a power of two.
pub(crate) const BATCH: usize = 2048;

/// Most locations of a program, not counting the hidden one for pacing.
pub const LOCATIONS: usize = 64;

/// Words in a cache line.
pub(crate) const LINE: usize = 8;

/// Words from one location's plane to the next.
const PLANE: usize = BATCH * LINE + 5 * LINE;

/// The layout of a program with this many locations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) locations: usize,
}

impl Layout {
    /// Words of a batch, with one more plane for the counters that pace the threads.
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
