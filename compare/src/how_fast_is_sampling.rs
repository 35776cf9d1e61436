//! Question: what does a sample without replacement cost, compared with the sparse set and the crate `rand`?
//!
//! Population 10,000, with the sample sizes of the original measurement. Each method visits its sample once and uses
//! the same kind of generator. Rounds are interleaved; the result is the median of their ratios, with its anytime-valid
//! interval. Not measured: cold caches, larger populations. `cargo run --release --manifest-path compare/Cargo.toml --
//! how_fast_is_sampling [ROUNDS]`

use std::hint::black_box;
use std::time::Instant;

use rand::{SeedableRng, rngs::SmallRng, seq::index};
use uncontended_stats::sampling::{Sampler, SparseSet};
use uncontended_stats::{Margin, MaxError, Paired, Rng};

const POPULATION: u32 = 10_000;
const SIZES: [u32; 19] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 40, 80, 160, 320, 640, 1000, 2000, 2500];

pub fn main(arguments: &[String]) -> Result<(), String> {
    let rounds: u32 =
        arguments.first().map_or(40, |a| a.parse().expect("ROUNDS is a whole number"));
    let (mut sampler, mut sparse) = (Sampler::new(POPULATION, 2500), SparseSet::new(POPULATION));
    let (mut rng, mut theirs) = (Rng::new(1), SmallRng::seed_from_u64(1));
    println!("n | ours ns/sample | of the sparse set's time (99 % interval) | of rand's time");
    for n in SIZES {
        let samples = 200_000 / (n + 10);
        let error = MaxError::new(0.01).expect("valid");
        let new = || Paired::new(Margin::new(0.0).expect("valid"), error);
        let (mut of_sparse, mut of_rand, mut own) = (new(), new(), Vec::new());
        for _ in 0..rounds {
            let ours = time(samples, || sum(sampler.sample(n, &mut rng)));
            let set = time(samples, || sum(sparse.sample(n, &mut rng)));
            let rival = time(samples, || {
                index::sample(&mut theirs, POPULATION as usize, n as usize)
                    .iter()
                    .map(|i| i as u64)
                    .sum()
            });
            own.push(ours);
            of_sparse.push(ours / set).expect("positive");
            of_rand.push(ours / rival).expect("positive");
        }
        own.sort_by(f64::total_cmp);
        let show = |paired: &Paired| {
            let (low, high) = paired.interval();
            format!("{:.3} ({low:.3}..{high:.3})", paired.estimate().expect("rounds"))
        };
        println!("{n:4} | {:9.1} | {} | {}", own[own.len() / 2], show(&of_sparse), show(&of_rand));
    }
    Ok(())
}

/// Nanoseconds per call.
fn time(samples: u32, mut sample: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    for _ in 0..samples {
        black_box(sample());
    }
    start.elapsed().as_nanos() as f64 / f64::from(samples)
}

fn sum(sample: &[u32]) -> u64 {
    sample.iter().map(|&x| u64::from(x)).sum()
}
