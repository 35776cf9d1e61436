//! How long a cache line takes from one CPU to another: two pinned threads that spin change one word in turn.
//!
//! # Contract
//! [`matrix`] measures each pair of CPUs in rounds, in random order, until the time is spent, and tells the median over
//! the rounds: half of a round trip. An entry is none for a CPU with itself, and for a pair that was not measured. Only
//! threads of its own are pinned. The word carries nothing but itself, so no order is needed.
//! # Evidence
//! The tests below.

use serde::Serialize;
use uncontended_atomic::Ordering::Relaxed;
use uncontended_atomic::{AtomicU64, CachePadded, spin_loop};
use uncontended_stats::Rng;
use uncontended_sys::affinity;
use uncontended_sys::clock::monotonic_ns;

/// Round trips of a pair in a round.
const TRIPS: u64 = 1_000;
/// A pair that takes longer is left out: a thread of higher priority may keep a CPU.
const PATIENCE_NS: u64 = 1_000_000_000;
/// The most rounds.
const ROUNDS: usize = 100;

/// The latency from each CPU to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The CPUs, in the order of rows and of columns.
    pub cpus: Vec<usize>,
    /// Nanoseconds in one direction.
    pub ns: Vec<Vec<Option<f64>>>,
    /// The number of rounds that were begun.
    pub rounds: u64,
}

impl Matrix {
    /// Each pair once, as positions, with its latency.
    #[must_use]
    pub fn pairs(&self) -> Vec<((usize, usize), Option<f64>)> {
        let count = self.cpus.len();
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        pairs.map(|(one, other)| ((one, other), self.ns[one][other])).collect()
    }
}

/// Measures all pairs of these CPUs until `end`, at least once if it has not passed.
pub(crate) fn matrix(cpus: &[usize], end: u64, seed: u64, is_over: fn() -> bool) -> Matrix {
    let count = cpus.len();
    let mut all = Matrix { cpus: cpus.to_vec(), ns: vec![vec![None; count]; count], rounds: 0 };
    let mut order: Vec<(usize, usize)> = all.pairs().into_iter().map(|(pair, _)| pair).collect();
    let mut found = vec![vec![Vec::new(); count]; count];
    let mut rng = Rng::new(seed);
    let ends = || monotonic_ns() >= end || is_over();
    while all.rounds < ROUNDS as u64 && !order.is_empty() && !ends() {
        rng.shuffle(&mut order);
        all.rounds += 1;
        for &(one, other) in order.iter().take_while(|_| !ends()) {
            found[one][other].extend(one_way(cpus[one], cpus[other]));
        }
    }
    for (one, other) in order {
        let median = median(&mut found[one][other]);
        (all.ns[one][other], all.ns[other][one]) = (median, median);
    }
    all
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Half of the mean round trip between two CPUs; none if a thread cannot be there, or is kept from it.
fn one_way(one: usize, other: usize) -> Option<f64> {
    let word = &CachePadded::new(AtomicU64::new(0));
    // The first trips bring both threads to their CPUs and the word to their caches.
    let warm = TRIPS / 10;
    std::thread::scope(|scope| {
        let answering = scope.spawn(move || {
            affinity::pin(other).ok()?;
            (0..warm + TRIPS).try_for_each(|trip| turn(word, 2 * trip + 1))
        });
        let asking = scope.spawn(move || {
            affinity::pin(one).ok()?;
            let ask = |trip: u64| turn(word, 2 * trip);
            (0..warm).try_for_each(ask)?;
            let start = monotonic_ns();
            (warm..warm + TRIPS).try_for_each(ask)?;
            Some((monotonic_ns() - start) as f64 / TRIPS as f64 / 2.0)
        });
        let (answered, asked) = (answering.join().ok()?, asking.join().ok()?);
        answered.and(asked)
    })
}

/// Waits until the word is `expected`, and adds 1; none if that takes too long.
#[inline(always)]
fn turn(word: &AtomicU64, expected: u64) -> Option<()> {
    const LOOKS: u32 = 1 << 16;
    let mut end = None;
    while word.load(Relaxed) != expected {
        for _ in 0..LOOKS {
            if word.load(Relaxed) == expected {
                break;
            }
            spin_loop();
        }
        if word.load(Relaxed) != expected {
            let now = monotonic_ns();
            if now > *end.get_or_insert(now + PATIENCE_NS) {
                return None;
            }
        }
    }
    word.store(expected + 1, Relaxed);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        affinity::allowed().unwrap()
    }

    #[test]
    fn the_matrix_has_a_row_and_a_column_for_each_cpu_and_is_symmetric() {
        let cpus: Vec<usize> = allowed().into_iter().take(4).collect();
        let before = allowed();
        let all = matrix(&cpus, monotonic_ns() + 50_000_000, 1, || false);
        assert_eq!((&all.cpus, all.ns.len()), (&cpus, cpus.len()));
        for (one, row) in all.ns.iter().enumerate() {
            assert_eq!(row.len(), cpus.len());
            for (other, &entry) in row.iter().enumerate() {
                assert_eq!(entry, all.ns[other][one]);
                assert_eq!(entry.is_some_and(|ns| ns > 0.0), one != other, "{all:?}");
            }
        }
        assert_eq!(all.pairs().len(), cpus.len() * (cpus.len() - 1) / 2);
        assert_eq!(allowed(), before, "only its own threads are pinned");
    }

    #[test]
    fn a_pair_that_cannot_be_measured_has_no_entry() {
        let first = allowed()[0];
        let end = monotonic_ns() + 1_000_000_000;
        let all = matrix(&[first, 1 << 20], end, 1, || false);
        assert_eq!((all.ns[0][1], all.ns[1][0]), (None, None));
        let over = matrix(&allowed(), monotonic_ns() + 1_000_000_000, 1, || true);
        assert_eq!((over.rounds, over.ns.iter().flatten().flatten().count()), (0, 0));
    }
}
