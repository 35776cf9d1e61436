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
//! Intervals are at 95 %, by Student's t, from what the fit leaves over: each number of threads has an error of its
//! own, of one relative size, which contains the noise of its figures. So they say nothing about errors that all
//! numbers of threads share, and presume that the law holds. With as many numbers of threads as the law has parameters,
//! it goes through all of them, right or wrong: there are no intervals then, no error, and no predictions.
//! # Evidence
//! The tests below: planted laws come back, and intervals contain them as often as they say.
//! # Sources
//! Gunther, Guerrilla Capacity Planning, 2007, and arXiv 0808.1431.

use crate::regression::Spread;
use serde::Serialize;
use std::collections::BTreeMap;

/// The fewest numbers of threads: the law has three parameters.
pub const FEWEST: usize = 3;
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
    fn of(scaled: &Scaled) -> Option<Law> {
        let choices: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
        let fits = choices.iter().filter_map(|free| least_squares(&scaled.rows, free));
        let best = fits.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let ([a, b, c], _) = best?;
        let Scaled { pair, square, unit, .. } = scaled;
        Some(Law { sigma: b / pair / a, kappa: c / square / a, gamma: unit / a })
    }
}

/// Points as rows, that yield 1 with the law's coefficients; columns are of similar size, so that squares of large
/// numbers do not drown the others.
struct Scaled {
    rows: Vec<[f64; 3]>,
    /// What the second column was divided by.
    pair: f64,
    /// What the third was.
    square: f64,
    /// The largest throughput per thread, so that the first is near 1.
    unit: f64,
}

impl Scaled {
    fn new(medians: &[Point]) -> Scaled {
        let most = medians.iter().map(|point| point.threads).max().unwrap_or(1).max(2) as f64;
        let each = |point: &Point| point.throughput / point.threads as f64;
        let mut scaled = Scaled {
            rows: Vec::new(),
            pair: most,
            square: most * most,
            unit: medians.iter().map(each).fold(0.0, f64::max),
        };
        let row = |point: &Point| {
            scaled.weights(point.threads).map(|weight| weight * each(point) / scaled.unit)
        };
        scaled.rows = medians.iter().map(row).collect();
        scaled
    }

    /// With these weights, the coefficients yield the unit over the throughput of each of these threads.
    fn weights(&self, threads: u64) -> [f64; 3] {
        let n = threads as f64;
        [1.0, (n - 1.0) / self.pair, n * (n - 1.0) / self.square]
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

impl Bounded {
    fn without(value: f64) -> Bounded {
        Bounded { value, low: None, high: None }
    }

    /// A figure with an interval, which contains it.
    fn within(value: f64, (low, high): (f64, Option<f64>)) -> Bounded {
        Bounded { value, low: Some(low.min(value)), high: high.map(|high| high.max(value)) }
    }
}

/// Where throughput is highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// The number of threads; none: more threads always give more, or nothing tells the errors.
    pub threads: Option<u64>,
    /// The lower end of its interval; none if it is not known.
    pub low: Option<u64>,
    /// The upper end; none likewise, or if it has none.
    pub high: Option<u64>,
    /// The throughput there; none if there is no peak.
    pub throughput: Option<f64>,
}

/// A throughput that the law gives.
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
    /// The largest relative error of the law at one of them; none with as many of them as parameters.
    pub off_by: Option<f64>,
    /// What the law gives for numbers of threads that were not measured; none with as many points as parameters.
    pub predicted: Vec<Prediction>,
    /// What the intervals are made of: `errors`, or `nothing`.
    pub intervals_from: &'static str,
    /// Whether the figures are of enough CPUs, or threads, to say something of more.
    pub is_trusted: bool,
}

impl Fit {
    /// The law's throughput with this many threads, also between whole numbers, for a curve.
    #[must_use]
    pub fn throughput(&self, threads: f64) -> f64 {
        let [sigma, kappa, gamma] = [self.sigma, self.kappa, self.gamma].map(|it| it.value);
        Law { sigma, kappa, gamma }.at(threads)
    }

    /// Whether there are figures of this number of threads: what the law gives for others is a prediction.
    #[must_use]
    pub fn is_measured(&self, threads: u64) -> bool {
        self.points.iter().any(|point| point.threads == threads)
    }

    /// Whether it gives a throughput that was not measured.
    #[must_use]
    pub fn predicts(&self) -> bool {
        let is_peak_measured = self.peak.threads.is_none_or(|at| self.is_measured(at));
        !self.predicted.is_empty() || !self.is_measured(1) || !is_peak_measured
    }

    /// Whether any of its figures has an interval with both ends.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let all = [self.sigma, self.kappa, self.gamma];
        all.iter().any(|figure| figure.high.is_some()) || self.peak.high.is_some()
    }
}

/// Fits the law, and predicts for these numbers of threads. None if there are fewer than [`FEWEST`] numbers of threads.
/// Figures are finite and above 0.
#[must_use]
pub fn fit(points: &[Point], predict: &[u64]) -> Option<Fit> {
    let mut figures: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    points
        .iter()
        .for_each(|point| figures.entry(point.threads).or_default().push(point.throughput));
    if figures.len() < FEWEST {
        return None;
    }
    let medians: Vec<Point> = figures
        .into_iter()
        .map(|(threads, mut values)| Point { threads, throughput: median(&mut values) })
        .collect();
    let scaled = Scaled::new(&medians);
    let law = Law::of(&scaled)?;
    let ends = Spread::of(&scaled.rows).map(|spread| Ends { law, scaled: &scaled, spread });
    let off = |point: &Point| (point.throughput / law.throughput(point.threads) - 1.0).abs();
    let predicted = |ends: &Ends| predict.iter().map(|&threads| ends.predicted(threads)).collect();
    Some(Fit {
        sigma: ends.as_ref().map_or(Bounded::without(law.sigma), Ends::sigma),
        kappa: ends.as_ref().map_or(Bounded::without(law.kappa), Ends::kappa),
        gamma: ends.as_ref().map_or(Bounded::without(law.gamma), Ends::gamma),
        peak: peak(&law, ends.as_ref()),
        off_by: ends.is_some().then(|| medians.iter().map(off).fold(0.0, f64::max)),
        predicted: ends.as_ref().map(predicted).unwrap_or_default(),
        intervals_from: if ends.is_some() { "errors" } else { "nothing" },
        is_trusted: true,
        points: medians,
    })
}

/// The peak, if something tells its ends.
fn peak(law: &Law, ends: Option<&Ends>) -> Peak {
    let threads = law.peak().filter(|_| ends.is_some());
    let ends = ends.map(Ends::peak);
    Peak {
        threads,
        low: ends.map(|(low, _)| threads.map_or(low, |at| low.min(at))),
        high: ends.and_then(|(_, high)| high).map(|high| threads.map_or(high, |at| high.max(at))),
        throughput: threads.map(|peak| law.throughput(peak)),
    }
}

/// The intervals of a law. The law's parameters are not below 0, nor are their intervals; where the figures deny that,
/// the parameter is 0, and its interval begins there.
struct Ends<'s> {
    law: Law,
    scaled: &'s Scaled,
    spread: Spread,
}

impl Ends<'_> {
    const FIRST: [f64; 3] = [1.0, 0.0, 0.0];

    fn sigma(&self) -> Bounded {
        let ends = self.spread.ratio(&[0.0, 1.0 / self.scaled.pair, 0.0], &Ends::FIRST);
        Bounded::within(self.law.sigma, ends.unwrap_or((0.0, Some(0.0))))
    }

    fn kappa(&self) -> Bounded {
        let ends = self.spread.ratio(&[0.0, 0.0, 1.0 / self.scaled.square], &Ends::FIRST);
        Bounded::within(self.law.kappa, ends.unwrap_or((0.0, Some(0.0))))
    }

    fn gamma(&self) -> Bounded {
        let (low, high) = self.spread.sum(&Ends::FIRST);
        let unit = self.scaled.unit;
        Bounded::within(self.law.gamma, (unit / high, (low > 0.0).then_some(unit / low)))
    }

    /// Where the throughput's derivative is 0: at the root of `(1 - sigma) / kappa`.
    fn peak(&self) -> (u64, Option<u64>) {
        let Scaled { pair, square, .. } = self.scaled;
        let ends = self.spread.ratio(&[1.0, -1.0 / pair, 0.0], &[0.0, 0.0, 1.0 / square]);
        let (low, high) = ends.unwrap_or((0.0, Some(0.0)));
        let high = high.map(f64::sqrt).filter(|&high| high < FAR);
        (low.sqrt().min(FAR).floor().max(1.0) as u64, high.map(|high| high.ceil().max(1.0) as u64))
    }

    fn predicted(&self, threads: u64) -> Prediction {
        let (low, high) = self.spread.sum(&self.scaled.weights(threads));
        // As much for each thread as one alone has: no law gives more.
        let (least, _) = self.spread.sum(&Ends::FIRST);
        let low = low.max(least);
        let of = |each: f64| threads as f64 * self.scaled.unit / each;
        let ends = (if high > 0.0 { of(high) } else { 0.0 }, (low > 0.0).then(|| of(low)));
        Prediction { threads, throughput: Bounded::within(self.law.throughput(threads), ends) }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uncontended_stats::Rng;

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
            let found = fit(&planted(law, &[1, 2, 4, 8, 16, 64], 1, 0.0, 1), &[128]).unwrap();
            assert!(near(found.sigma.value, law.sigma, 1e-6), "{found:?}");
            assert!(near(found.kappa.value, law.kappa, 1e-3), "{found:?}");
            assert!(near(found.gamma.value, law.gamma, 1e-6), "{found:?}");
            assert!(near(found.predicted[0].throughput.value, law.throughput(128), 1e-4));
            assert_eq!(found.peak.threads, law.peak());
            assert!(found.off_by.unwrap() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn a_law_without_one_of_its_parts_comes_back_without_it() {
        for law in [Law { kappa: 0.0, ..PLANTED }, Law { sigma: 0.0, ..PLANTED }] {
            let found = fit(&planted(law, &[1, 2, 3, 4, 8], 1, 0.0, 1), &[]).unwrap();
            assert!((found.sigma.value - law.sigma).abs() < 1e-9, "{found:?}");
            assert!((found.kappa.value - law.kappa).abs() < 1e-9, "{found:?}");
        }
        // Faster than in proportion: there is no such law, and the nearest has neither cost.
        let points: Vec<Point> =
            (1..5).map(|n| Point { threads: n, throughput: (n * n) as f64 }).collect();
        let found = fit(&points, &[]).unwrap();
        assert_eq!((found.sigma.value, found.kappa.value, found.peak.threads), (0.0, 0.0, None));
        assert!(found.off_by.unwrap() > 0.1, "it does not hold, and says so: {found:?}");
    }

    /// The share of fits whose intervals contain the planted law, of its parameters, its peak, and a prediction.
    fn coverage(law: Law, counts: &[u64], own: f64, scatter: f64) -> [f64; 5] {
        const FITS: u64 = 400;
        let mut contained = [0.0; 5];
        for seed in 0..FITS {
            let points = planted_apart(law, counts, 10, own, scatter, seed);
            let found = fit(&points, &[64]).unwrap();
            let holds = |of: Bounded, truth: f64| {
                of.low.unwrap() <= truth * (1.0 + 1e-9) && of.high.is_none_or(|high| truth <= high)
            };
            let peak = law.peak().unwrap_or(u64::MAX);
            let all = [
                holds(found.sigma, law.sigma),
                holds(found.kappa, law.kappa),
                holds(found.gamma, law.gamma),
                found.peak.low.unwrap() <= peak && found.peak.high.is_none_or(|high| peak <= high),
                holds(found.predicted[0].throughput, law.throughput(64)),
            ];
            all.iter()
                .zip(&mut contained)
                .for_each(|(&is_in, sum)| *sum += f64::from(u8::from(is_in)));
        }
        contained.map(|count| count / FITS as f64)
    }

    /// Each number of threads has an error of its own, of this size, and figures that scatter around it.
    fn planted_apart(
        law: Law,
        counts: &[u64],
        repeats: usize,
        own: f64,
        scatter: f64,
        seed: u64,
    ) -> Vec<Point> {
        let mut rng = Rng::new(seed);
        let mut point = |threads| {
            let middle = law.throughput(threads) * (1.0 + own * rng.normal());
            let figure = |_| Point { threads, throughput: middle * (1.0 + scatter * rng.normal()) };
            (0..repeats).map(figure).collect::<Vec<_>>()
        };
        counts.iter().flat_map(|&threads| point(threads)).collect()
    }

    #[test]
    fn intervals_contain_the_planted_law_as_often_as_they_say() {
        let shapes: [&[u64]; 4] = [
            &[1, 2, 3, 4],
            &[1, 2, 4, 8, 16],
            &[1, 2, 3, 4, 6, 8, 12],
            &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32],
        ];
        let laws =
            [PLANTED, Law { kappa: 0.0, ..PLANTED }, Law { sigma: 0.4, kappa: 0.03, gamma: 5.0 }];
        for (own, scatter) in [(0.0, 0.05), (0.03, 0.03), (0.1, 0.03)] {
            for (counts, law) in shapes.iter().flat_map(|counts| laws.map(|law| (counts, law))) {
                let shares = coverage(law, counts, own, scatter);
                // 95 % is promised; 400 fits tell a share to two percent.
                assert!(
                    shares.iter().all(|&share| share >= 0.92),
                    "{shares:?} of {law:?} by {counts:?}, with errors of {own} and {scatter}"
                );
            }
        }
    }

    #[test]
    fn intervals_are_narrow_where_many_numbers_of_threads_agree() {
        let counts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
        let found = fit(&planted_apart(PLANTED, &counts, 20, 0.01, 0.03, 1), &[64]).unwrap();
        assert!(found.sigma.high.unwrap() < 0.08, "{found:?}");
        assert!(found.peak.high.unwrap() < 50 && found.peak.low.unwrap() > 20, "{found:?}");
    }

    #[test]
    fn with_as_many_points_as_parameters_there_is_no_error_and_no_prediction() {
        let exact = |counts: &[u64]| fit(&planted(PLANTED, counts, 7, 0.0, 1), &[64]);
        assert!(exact(&[1, 2]).is_none() && exact(&[4, 4, 4, 4]).is_none());
        let three = exact(&[1, 2, 4]).unwrap();
        assert_eq!(
            (three.intervals_from, three.off_by, three.sigma.low, three.peak.low, three.peak.high),
            ("nothing", None, None, None, None)
        );
        assert!(three.predicted.is_empty() && near(three.sigma.value, 0.05, 1e-6), "{three:?}");
        // Not even a peak among what was measured: the law goes through any three points.
        let steep = Law { sigma: 0.1, kappa: 0.2, ..PLANTED };
        let steep = fit(&planted(steep, &[1, 2, 4], 1, 0.0, 1), &[]).unwrap();
        assert_eq!((steep.peak.threads, steep.peak.throughput), (None, None));
        assert!(!steep.is_bounded() && steep.is_measured(2) && !steep.is_measured(3));
        assert_eq!(exact(&[1, 2, 4, 8]).unwrap().predicted.len(), 1);
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
