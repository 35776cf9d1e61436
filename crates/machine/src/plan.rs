//! How each round is run: on which CPUs, in which order the threads take the runs, and which starts late.
//!
//! # Contract
//! Every worker has its own [`Planner`] with the same seed, so all of them draw the same plans without communicating.
//! The rounds add up to exactly the requested number of runs.

use crate::compile::Pace;
use crate::layout::{BATCH, LINE};
use crate::run::Setup;
use uncontended_model::program::{Op, Program};
use uncontended_model::random::Random;

/// Rounds before the threads move to other CPUs.
const PLACEMENT_ROUNDS: u64 = 64;

/// Runs in a round in which the threads run in lockstep.
const TOGETHER: usize = 64;

/// One round in this many runs in lockstep: slow, but good at interleavings that need the threads to be close.
const TOGETHER_EVERY: u64 = 8;

/// With more threads than CPUs, one round in this many has threads that yield between operations.
const YIELDING_EVERY: u64 = 8;

/// Runs in a round in which threads yield.
const YIELDING: usize = 128;

/// The latest start of a thread, as a power of two of iterations of an empty loop.
const SKEW: u64 = 6;

/// The same if threads make system calls, which take microseconds.
const SLOW_SKEW: u64 = 14;

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Runs in this round, a power of two.
    pub(crate) runs: usize,
    /// Words between runs: 1 or a cache line.
    pub(crate) spread: usize,
    /// The distance from one run to the next; odd.
    pub(crate) stride: usize,
    /// The CPU of each thread.
    pub(crate) cpus: Vec<usize>,
    /// The run that each thread starts with.
    pub(crate) first: Vec<usize>,
    /// How late each thread starts, in iterations of an empty loop; at least 1.
    pub(crate) skew: Vec<u64>,
    /// How closely the threads run together.
    pub(crate) pace: Pace,
    /// Decides where each thread yields, if it does.
    pub(crate) salt: Vec<u64>,
}

/// Draws plans until all runs are planned.
#[derive(Debug)]
pub(crate) struct Planner {
    random: Random,
    left: u64,
    round: u64,
    /// A place for each thread; threads with the same place modulo the number of CPUs share a CPU.
    places: Vec<usize>,
    cpus: Vec<usize>,
    /// Whether a thread makes system calls: then threads that run freely would never be at the same run.
    slow: bool,
}

impl Planner {
    pub(crate) fn new(program: &Program, cpus: &[usize], setup: &Setup) -> Planner {
        let mut ops = program.threads.iter().flat_map(|thread| &thread.code);
        Planner {
            random: Random(setup.seed),
            left: setup.runs,
            round: 0,
            places: (0..program.threads.len()).collect(),
            cpus: cpus.to_vec(),
            slow: ops.any(|op| *op == Op::Membarrier),
        }
    }

    /// The pace of this round: threads that wait for each other at every run need a CPU each.
    fn pace(&self) -> Pace {
        if self.places.len() > self.cpus.len() {
            let yields = self.round.is_multiple_of(YIELDING_EVERY);
            return if yields { Pace::Yielding } else { Pace::Free };
        }
        let together = self.slow || self.round.is_multiple_of(TOGETHER_EVERY);
        if together { Pace::Together } else { Pace::Free }
    }

    /// A number whose magnitude is uniform: below 1, 2, 4, … or 2^`bits`.
    fn magnitude(&mut self, bits: u64) -> u64 {
        let bits = self.random.below(bits + 1);
        self.random.below(1 << bits)
    }
}

impl Iterator for Planner {
    type Item = Plan;

    fn next(&mut self) -> Option<Plan> {
        if self.left == 0 {
            return None;
        }
        if self.round.is_multiple_of(PLACEMENT_ROUNDS) {
            self.random.shuffle(&mut self.cpus);
            self.random.shuffle(&mut self.places);
        }
        let threads = self.places.len();
        let pace = self.pace();
        let most = match pace {
            Pace::Free => BATCH >> self.random.below(4),
            Pace::Together => TOGETHER,
            Pace::Yielding => YIELDING,
        };
        let runs = most.min(1 << self.left.ilog2().min(usize::BITS - 2));
        let packed = self.random.below(4) > 0;
        let straight = self.random.below(4) > 0;
        let stride = if straight { 1 } else { 2 * self.magnitude(6) + 1 };
        let start = self.random.below(runs as u64);
        let mut first = vec![start as usize; threads];
        if pace != Pace::Together && self.random.below(2) == 0 {
            let ahead = self.random.below(threads as u64) as usize;
            first[ahead] = (start + self.magnitude(4)) as usize % runs;
        }
        let longest = if self.slow { SLOW_SKEW } else { SKEW };
        let plan = Plan {
            runs,
            spread: if packed { 1 } else { LINE },
            stride: stride as usize,
            cpus: self.places.iter().map(|place| self.cpus[place % self.cpus.len()]).collect(),
            first,
            skew: (0..threads).map(|_| 1 + self.magnitude(longest)).collect(),
            pace,
            salt: (0..threads).map(|_| self.random.next()).collect(),
        };
        self.left -= runs as u64;
        self.round += 1;
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_model::program::Thread;

    #[test]
    fn plans_add_up_and_stay_within_what_the_code_allows() {
        let program = Program { locations: vec![], threads: vec![Thread::default(); 3] };
        for runs in [0, 1, 1000, 100_000] {
            let planner = Planner::new(&program, &[4, 7], &Setup { runs, seed: runs });
            let mut sum = 0;
            for plan in planner {
                sum += plan.runs as u64;
                assert!(plan.runs.is_power_of_two() && plan.runs <= BATCH);
                assert!(plan.stride % 2 == 1 && plan.skew.iter().all(|&skew| skew > 0));
                assert!(plan.first.iter().all(|&first| first < plan.runs));
                assert_eq!(plan.cpus.len(), 3);
                assert_ne!(plan.pace, Pace::Together, "three threads on two CPUs cannot all wait");
            }
            assert_eq!(sum, runs);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_plans() {
        let program = Program { locations: vec![], threads: vec![Thread::default(); 2] };
        let plans = |seed| -> Vec<Plan> {
            Planner::new(&program, &[0, 1], &Setup { runs: 50_000, seed }).collect()
        };
        assert_eq!(plans(1), plans(1));
        assert_ne!(plans(1), plans(2));
    }
}
