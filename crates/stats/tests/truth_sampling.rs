//! Uniformity of samples, of subsets and of their order, judged exactly: no cell deviates by more than chance allows.

use std::collections::HashMap;
use uncontended_stats::sampling::{FisherYates, Floyd, Sampler, SparseSet};
use uncontended_stats::{Counts, MaxError, Prior, Rate, Rng};

/// Asserts that each of `cells` outcomes occurred as often as one in `cells`, jointly at one in a million.
fn assert_uniform(name: &str, cells: usize, seen: &HashMap<Vec<u32>, u64>) {
    assert_eq!(seen.len(), cells, "{name}: some outcome never came, or one came that cannot");
    let draws: u64 = seen.values().sum();
    let share = MaxError::new(1e-6).unwrap().split(cells as u32);
    let fair = Rate::new(1.0 / cells as f64).unwrap();
    for (outcome, &times) in seen {
        let evidence = Prior::Uniform.log_evidence(Counts::new(draws, times).unwrap(), fair);
        assert!(evidence < -share.log(), "{name}: {outcome:?} came {times} times in {draws}");
    }
}

fn tally(draws: u32, mut sample: impl FnMut(&mut Rng) -> Vec<u32>) -> HashMap<Vec<u32>, u64> {
    let mut rng = Rng::new(0x5eed);
    let mut seen = HashMap::new();
    for _ in 0..draws {
        *seen.entry(sample(&mut rng)).or_insert(0) += 1;
    }
    seen
}

fn sorted(sample: &[u32]) -> Vec<u32> {
    let mut sample = sample.to_vec();
    sample.sort_unstable();
    sample
}

/// Subsets of 3 out of 7: 35. Their orders: 210.
#[test]
fn every_subset_and_every_order_is_equally_likely() {
    let draws = 400_000;
    let mut shuffle = FisherYates::new(7);
    assert_uniform("Fisher-Yates", 210, &tally(draws, |rng| shuffle.sample(3, rng).to_vec()));
    let mut sparse = SparseSet::new(7);
    assert_uniform("sparse set", 210, &tally(draws, |rng| sparse.sample(3, rng).to_vec()));
    let mut floyd = Floyd::new(7, 3);
    assert_uniform("Floyd's subsets", 35, &tally(draws, |rng| sorted(floyd.sample(3, rng))));
    assert_uniform(
        "Floyd, shuffled",
        210,
        &tally(draws, |rng| {
            floyd.sample(3, rng);
            floyd.shuffled(rng).to_vec()
        }),
    );
    let mut sampler = Sampler::new(7, 4);
    assert_uniform(
        "the sampler, an odd number",
        210,
        &tally(draws, |rng| sampler.sample(3, rng).to_vec()),
    );
    assert_uniform(
        "the sampler, an even number",
        840,
        &tally(draws, |rng| sampler.sample(4, rng).to_vec()),
    );
}

/// The permutation that is never restored leaves no trace: pairs of successive samples are independent.
#[test]
fn successive_samples_are_independent() {
    let mut sampler = Sampler::new(5, 2);
    let pair =
        |rng: &mut Rng| [sorted(sampler.sample(2, rng)), sorted(sampler.sample(2, rng))].concat();
    assert_uniform("two in a row", 100, &tally(400_000, pair));
}

#[test]
fn large_populations_are_sampled_within_the_sample_s_memory() {
    let (mut sampler, mut rng) = (Sampler::new(4_000_000_000, 100), Rng::new(1));
    let mut low = 0;
    for n in [0, 1, 2, 99, 100] {
        for _ in 0..200 {
            let sample = sorted(sampler.sample(n, &mut rng));
            assert!(sample.windows(2).all(|w| w[0] < w[1]) && sample.len() == n as usize);
            low += sample.iter().filter(|&&m| m < 2_000_000_000).count();
        }
    }
    let evidence =
        Prior::Uniform.log_evidence(Counts::new(40_400, low as u64).unwrap(), Rate::HALF);
    assert!(evidence < 14.0, "{low} of 40,400 in the lower half");
}

#[test]
fn whole_populations_and_the_sizes_of_the_measurement_come_out_distinct() {
    let (mut sampler, mut sparse, mut rng) =
        (Sampler::new(10_000, 10_000), SparseSet::new(10_000), Rng::new(2));
    for n in [1, 2, 3, 10, 20, 40, 640, 1000, 2500, 10_000] {
        for sample in [sorted(sampler.sample(n, &mut rng)), sorted(sparse.sample(n, &mut rng))] {
            assert!(
                sample.windows(2).all(|w| w[0] < w[1])
                    && sample.len() == n as usize
                    && sample[n as usize - 1] < 10_000
            );
        }
    }
}
