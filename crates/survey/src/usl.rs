//! The Universal Scalability Law: throughput by number of threads, and where more threads begin to cost.
//!
//! # Contract
//! `X(N) = gamma N / (1 + sigma (N - 1) + kappa N (N - 1))`: `gamma` is the throughput of one thread, `sigma` the share
//! of the work that threads do one after the other, `kappa` what each pair of threads costs. [`fit`] takes the median
//! throughput of every number of threads, each with equal weight, and finds the law whose relative errors have the
//! least sum of squares, with `sigma` and `kappa` not below 0.
//!
//! `N / X` is linear in `1/gamma`, `sigma/gamma` and `kappa/gamma`, so the fit is a linear one with two bounds. The
//! least sum is found among the four choices of what lies at its bound: nothing is iterated, nothing starts from a
//! guess.
//!
//! Intervals are percentiles of [`RESAMPLES`] fits to resampled data, at 95 %. Where each number of threads has at
//! least [`REPEATS`] figures, these are drawn again with replacement: the intervals then say how far the figures of
//! this run scatter, and not whether the law holds. Where it has fewer, the relative errors of the medians are drawn:
//! this takes more numbers of threads than the law has parameters.
//! # Evidence
//! The tests below: planted laws come back, and intervals contain them about as often as they say.
//! # Sources
//! Gunther, Guerrilla Capacity Planning, 2007, and arXiv 0808.1431; Efron 1979 (the bootstrap).

use serde::Serialize;
use std::collections::BTreeMap;
use uncontended_stats::Rng;

/// The fewest numbers of threads: the law has three parameters.
pub const FEWEST: usize = 3;
/// The fewest figures of a number of threads that are drawn from.
pub const REPEATS: usize = 5;
/// The number of fits behind an interval.
pub const RESAMPLES: usize = 1_000;
/// A peak at more threads than this counts as none.
const FAR: f64 = 1e9;

/// A throughput that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The number of threads.
    pub threads: u64,
    /// Operations per second, or in any other unit.
    pub throughput: f64,
}

/// The law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// The share of the work that threads do one after the other.
    pub sigma: f64,
    /// What each pair of threads costs.
    pub kappa: f64,
    /// The throughput of one thread.
    pub gamma: f64,
}

impl Law {
    /// The throughput with this many threads.
    #[must_use]
    pub fn throughput(&self, threads: u64) -> f64 {
        self.at(threads as f64)
    }

    fn at(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The number of threads with the highest throughput; none if more threads always give more.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        if self.sigma >= 1.0 {
            return Some(1);
        }
        let top = ((1.0 - self.sigma) / self.kappa).sqrt();
        if top > FAR || top.is_nan() {
            return None;
        }
        let below = top.floor().max(1.0) as u64;
        let above = below + 1;
        let is_above = self.throughput(above) > self.throughput(below);
        Some(if is_above { above } else { below })
    }

    /// The law with the least relative errors; none without a point.
    fn of(medians: &[Point]) -> Option<Law> {
        let most = medians.iter().map(|point| point.threads).max()? as f64;
        // Columns of similar size, so that squares of large numbers do not drown the others.
        let scale = [1.0, most.max(2.0), most.max(2.0) * most.max(2.0)];
        let row = |point: &Point| {
            let n = point.threads as f64;
            let weight = point.throughput / n;
            [weight, weight * (n - 1.0) / scale[1], weight * n * (n - 1.0) / scale[2]]
        };
        // A throughput of one unit of the largest: `weight` is then near 1, whatever the unit.
        let unit =
            medians.iter().map(|point| point.throughput / point.threads as f64).fold(0.0, f64::max);
        let rows: Vec<[f64; 3]> =
            medians.iter().map(|point| row(point).map(|cell| cell / unit)).collect();
        let choices: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
        let fits = choices.iter().filter_map(|free| least_squares(&rows, free));
        let best = fits.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let ([a, b, c], _) = best?;
        Some(Law { sigma: b / scale[1] / a, kappa: c / scale[2] / a, gamma: unit / a })
    }
}

/// Coefficients for which the rows yield 1 as nearly as possible, those not `free` being 0, and the sum of squares;
/// none if one is below 0, or if the rows do not determine them.
fn least_squares(rows: &[[f64; 3]], free: &[usize]) -> Option<([f64; 3], f64)> {
    let count = free.len();
    let mut system = [[0.0; 4]; 3];
    for row in rows {
        for (i, &at) in free.iter().enumerate() {
            for (j, &other) in free.iter().enumerate() {
                system[i][j] += row[at] * row[other];
            }
            system[i][count] += row[at];
        }
    }
    let solved = solve(&mut system, count)?;
    let mut found = [0.0; 3];
    for (&at, value) in free.iter().zip(solved) {
        found[at] = value;
    }
    let miss =
        |row: &[f64; 3]| row.iter().zip(found).map(|(cell, part)| cell * part).sum::<f64>() - 1.0;
    let sum = rows.iter().map(|row| miss(row).powi(2)).sum();
    (found[0] > 0.0 && found.iter().all(|part| *part >= 0.0)).then_some((found, sum))
}

/// Gaussian elimination with the largest pivot; none if a pivot is next to nothing.
fn solve(system: &mut [[f64; 4]; 3], count: usize) -> Option<[f64; 3]> {
    for at in 0..count {
        let pivot =
            (at..count).max_by(|&a, &b| system[a][at].abs().total_cmp(&system[b][at].abs()))?;
        system.swap(at, pivot);
        let own = system[at];
        if own[at].abs() < 1e-14 {
            return None;
        }
        for row in system.iter_mut().take(count).skip(at + 1) {
            let factor = row[at] / own[at];
            row.iter_mut().zip(own).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut found = [0.0; 3];
    for at in (0..count).rev() {
        let known: f64 = (at + 1..count).map(|later| system[at][later] * found[later]).sum();
        found[at] = (system[at][count] - known) / system[at][at];
    }
    Some(found)
}

/// A figure with its interval; an end that is not known is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounded {
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Where throughput is highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// The number of threads; none: more threads always give more.
    pub threads: Option<u64>,
    /// The lower end of its interval; none if it is not known, or if there is no peak.
    pub low: Option<u64>,
    /// The upper end; none likewise.
    pub high: Option<u64>,
    /// The throughput there; none if there is no peak.
    pub throughput: Option<f64>,
}

/// A throughput that was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// With this many threads.
    pub threads: u64,
    /// The throughput that the law gives.
    pub throughput: Bounded,
}

/// The law of some figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The serial share.
    pub sigma: Bounded,
    /// The cost of a pair.
    pub kappa: Bounded,
    /// The throughput of one thread.
    pub gamma: Bounded,
    /// The peak.
    pub peak: Peak,
    /// The medians that the law was fitted to.
    pub points: Vec<Point>,
    /// The largest relative error of the law at one of them.
    pub off_by: f64,
    /// What the law gives for more threads than were measured. Nothing was measured there.
    pub predicted: Vec<Prediction>,
    /// What the intervals are made of: `figures`, `errors`, or `nothing`.
    pub intervals_from: &'static str,
}

impl Fit {
    /// The law's throughput with this many threads, also between whole numbers, for a curve.
    #[must_use]
    pub fn throughput(&self, threads: f64) -> f64 {
        let [sigma, kappa, gamma] = [self.sigma, self.kappa, self.gamma].map(|it| it.value);
        Law { sigma, kappa, gamma }.at(threads)
    }
}

/// Fits the law, and predicts for these numbers of threads. None if there are fewer than [`FEWEST`] numbers of threads.
/// Figures are finite and above 0.
#[must_use]
pub fn fit(points: &[Point], predict: &[u64], seed: u64) -> Option<Fit> {
    let mut figures: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    points
        .iter()
        .for_each(|point| figures.entry(point.threads).or_default().push(point.throughput));
    if figures.len() < FEWEST {
        return None;
    }
    let medians: Vec<Point> = figures
        .iter()
        .map(|(&threads, values)| Point { threads, throughput: median(&mut values.clone()) })
        .collect();
    let law = Law::of(&medians)?;
    let (laws, intervals_from) = resampled(&law, &figures, &medians, seed);
    let bounded = |of: &dyn Fn(&Law) -> f64| {
        let ends = ends(laws.iter().map(of).collect());
        Bounded { value: of(&law), low: ends.map(|(low, _)| low), high: ends.map(|(_, high)| high) }
    };
    let peaks =
        ends(laws.iter().map(|law| law.peak().map_or(f64::INFINITY, |peak| peak as f64)).collect());
    let whole = |end: f64| end.is_finite().then_some(end as u64);
    let off = |point: &Point| (point.throughput / law.throughput(point.threads) - 1.0).abs();
    Some(Fit {
        sigma: bounded(&|law| law.sigma),
        kappa: bounded(&|law| law.kappa),
        gamma: bounded(&|law| law.gamma),
        peak: Peak {
            threads: law.peak(),
            low: peaks.and_then(|(low, _)| whole(low)),
            high: peaks.and_then(|(_, high)| whole(high)),
            throughput: law.peak().map(|peak| law.throughput(peak)),
        },
        off_by: medians.iter().map(off).fold(0.0, f64::max),
        predicted: predict
            .iter()
            .map(|&threads| Prediction {
                threads,
                throughput: bounded(&|law| law.throughput(threads)),
            })
            .collect(),
        points: medians,
        intervals_from,
    })
}

/// The laws of resampled figures, and what was drawn.
fn resampled(
    law: &Law,
    figures: &BTreeMap<u64, Vec<f64>>,
    medians: &[Point],
    seed: u64,
) -> (Vec<Law>, &'static str) {
    let mut rng = Rng::new(seed);
    let mut pick = |of: &[f64]| of[rng.below(of.len() as u64) as usize];
    if figures.values().all(|values| values.len() >= REPEATS) {
        let draw = |_| {
            let again = figures.iter().map(|(&threads, values)| {
                let mut drawn: Vec<f64> = values.iter().map(|_| pick(values)).collect();
                Point { threads, throughput: median(&mut drawn) }
            });
            Law::of(&again.collect::<Vec<_>>())
        };
        return ((0..RESAMPLES).filter_map(draw).collect(), "figures");
    }
    if medians.len() <= FEWEST {
        return (Vec::new(), "nothing");
    }
    let (count, left) = (medians.len() as f64, (medians.len() - FEWEST) as f64);
    let relative: Vec<f64> = medians
        .iter()
        .map(|point| point.throughput / law.throughput(point.threads) - 1.0)
        .collect();
    let mean = relative.iter().sum::<f64>() / count;
    // A fit makes errors smaller than they are, by this factor on average.
    let errors: Vec<f64> =
        relative.iter().map(|error| (error - mean) * (count / left).sqrt()).collect();
    let draw = |_| {
        let again = medians.iter().map(|&Point { threads, .. }| {
            let factor = (1.0 + pick(&errors)).max(0.01);
            Point { threads, throughput: law.throughput(threads) * factor }
        });
        Law::of(&again.collect::<Vec<_>>())
    };
    ((0..RESAMPLES).filter_map(draw).collect(), "errors")
}

/// The ends of the interval of 95 %; none without values.
fn ends(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let tail = values.len() / 40;
    Some((values[tail], values[last - tail]))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANTED: Law = Law { sigma: 0.05, kappa: 0.001, gamma: 2e6 };

    fn planted(law: Law, counts: &[u64], repeats: usize, noise: f64, seed: u64) -> Vec<Point> {
        let mut rng = Rng::new(seed);
        let mut point = |threads| {
            let throughput = law.throughput(threads) * (1.0 + noise * rng.normal());
            Point { threads, throughput }
        };
        counts.iter().flat_map(|&threads| vec![threads; repeats]).map(&mut point).collect()
    }

    fn near(found: f64, expected: f64, share: f64) -> bool {
        (found - expected).abs() <= share * expected
    }

    #[test]
    fn a_planted_law_comes_back_exactly_from_exact_figures() {
        for law in [
            PLANTED,
            Law { sigma: 0.3, kappa: 0.02, gamma: 1e-9 },
            Law { sigma: 0.9, kappa: 1e-7, gamma: 4.2e12 },
        ] {
            let found = fit(&planted(law, &[1, 2, 4, 8, 16, 64], 1, 0.0, 1), &[128], 1).unwrap();
            assert!(near(found.sigma.value, law.sigma, 1e-6), "{found:?}");
            assert!(near(found.kappa.value, law.kappa, 1e-3), "{found:?}");
            assert!(near(found.gamma.value, law.gamma, 1e-6), "{found:?}");
            assert!(near(found.predicted[0].throughput.value, law.throughput(128), 1e-4));
            assert_eq!(found.peak.threads, law.peak());
            assert!(found.off_by < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn a_law_without_one_of_its_parts_comes_back_without_it() {
        for law in [Law { kappa: 0.0, ..PLANTED }, Law { sigma: 0.0, ..PLANTED }] {
            let found = fit(&planted(law, &[1, 2, 3, 4, 8], 1, 0.0, 1), &[], 1).unwrap();
            assert!((found.sigma.value - law.sigma).abs() < 1e-9, "{found:?}");
            assert!((found.kappa.value - law.kappa).abs() < 1e-9, "{found:?}");
        }
        // Faster than in proportion: there is no such law, and the nearest has neither cost.
        let points: Vec<Point> =
            (1..5).map(|n| Point { threads: n, throughput: (n * n) as f64 }).collect();
        let found = fit(&points, &[], 1).unwrap();
        assert_eq!((found.sigma.value, found.kappa.value, found.peak.threads), (0.0, 0.0, None));
        assert!(found.off_by > 0.1, "it does not hold, and says so: {found:?}");
    }

    #[test]
    fn intervals_contain_the_planted_law_about_as_often_as_they_say() {
        for (repeats, from, least) in [(20, "figures", 85), (1, "errors", 70)] {
            let counts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
            let contained = |seed: u64| {
                let found =
                    fit(&planted(PLANTED, &counts, repeats, 0.03, seed), &[64], seed).unwrap();
                assert_eq!(found.intervals_from, from);
                let holds =
                    |of: Bounded, truth: f64| of.low.unwrap() <= truth && truth <= of.high.unwrap();
                let is_narrow = found.sigma.high.unwrap() < 0.15;
                assert!(is_narrow, "{found:?}");
                [holds(found.sigma, 0.05), holds(found.kappa, 0.001), holds(found.gamma, 2e6)]
            };
            let all: Vec<[bool; 3]> = (0..100).map(contained).collect();
            for part in 0..3 {
                let times = all.iter().filter(|contained| contained[part]).count();
                assert!(times >= least, "part {part} of {from}: {times} of 100");
            }
        }
    }

    #[test]
    fn what_does_not_determine_a_law_has_none_or_no_interval() {
        let exact = |counts: &[u64]| fit(&planted(PLANTED, counts, 1, 0.0, 1), &[], 1);
        assert!(exact(&[1, 2]).is_none() && exact(&[4, 4, 4, 4]).is_none());
        let three = exact(&[1, 2, 4]).unwrap();
        assert_eq!(
            (three.intervals_from, three.sigma.low, three.peak.low),
            ("nothing", None, None)
        );
    }

    #[test]
    fn the_peak_is_the_best_whole_number() {
        for (sigma, kappa) in [(0.0, 0.3), (0.1, 0.011), (0.5, 0.2), (0.99, 0.001)] {
            let law = Law { sigma, kappa, gamma: 1.0 };
            let best = (1..1000).max_by(|&a, &b| law.throughput(a).total_cmp(&law.throughput(b)));
            assert_eq!(law.peak(), best, "{law:?}");
        }
        assert_eq!(Law { sigma: 2.0, kappa: 0.0, gamma: 1.0 }.peak(), Some(1));
        assert_eq!(Law { sigma: 0.2, kappa: 0.0, gamma: 1.0 }.peak(), None);
    }
}
