//! A summary of one command's runs: where its values lie, and its CPU times.

use crate::record::Usage;
use serde::Serialize;
use uncontended_stats::modes::two_modes;

/// The values of one command, in the unit of the question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Runs with a value.
    pub runs: u64,
    /// The median; of two middle values, their mean.
    pub median: f64,
    /// The value that a quarter is below, between its neighbours in proportion (type 7 of Hyndman and Fan, 1996).
    pub lower_quartile: f64,
    /// The value that a quarter is above, likewise.
    pub upper_quartile: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, over one value less; none of a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Two modes, where the values are far from any distribution with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<TwoModes>,
    /// CPU times of a run; none if no command ran.
    #[serde(flatten)]
    pub cpu: Option<CpuTimes>,
}

/// Where the modes are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoModes {
    /// The median of the values around the lower one.
    pub low: f64,
    /// The median of those around the higher one.
    pub high: f64,
    /// The share of the values around the lower one.
    pub low_share: f64,
}

/// The mean CPU times of a command's runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuTimes {
    /// In user mode.
    pub user_ns: f64,
    /// In the kernel.
    pub system_ns: f64,
}

/// The values of both commands of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spreads {
    /// Of the baseline.
    pub baseline: Spread,
    /// Of the candidate.
    pub candidate: Spread,
}

/// What a spread is made of, run by run.
#[derive(Debug, Clone, Default)]
pub struct Values {
    values: Vec<f64>,
    used: u64,
    user_ns: u64,
    system_ns: u64,
}

impl Values {
    /// Adds a run: its value, unless it is lost, and what it used.
    pub fn push(&mut self, value: Option<f64>, usage: Option<&Usage>) {
        self.values.extend(value);
        if let Some(usage) = usage {
            self.used += 1;
            self.user_ns = self.user_ns.saturating_add(usage.user_ns);
            self.system_ns = self.system_ns.saturating_add(usage.system_ns);
        }
    }

    /// The spread; none without values.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let mean = |sum: u64| sum as f64 / self.used as f64;
        let cpu = (self.used > 0)
            .then(|| CpuTimes { user_ns: mean(self.user_ns), system_ns: mean(self.system_ns) });
        Spread::of(&self.values).map(|spread| Spread { cpu, ..spread })
    }
}

impl Spread {
    /// Of these values; none if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let runs = sorted.len();
        // Each value is divided first, since a sum of large ones would be infinite; rounding leaves the range at most.
        let mean = sorted.iter().map(|value| value / runs as f64).sum::<f64>().clamp(min, max);
        Some(Spread {
            runs: runs as u64,
            median: f64::midpoint(low, high),
            lower_quartile: at_quarter(&sorted, 1),
            upper_quartile: at_quarter(&sorted, 3),
            mean,
            deviation: deviation(&sorted, mean),
            min,
            max,
            modes: two_modes(&sorted).map(|modes| TwoModes {
                low: modes.low,
                high: modes.high,
                low_share: modes.low_share,
            }),
            cpu: None,
        })
    }
}

/// The value at this many quarters of the way through sorted values; there is at least one.
fn at_quarter(sorted: &[f64], quarters: usize) -> f64 {
    let steps = (sorted.len() - 1) * quarters;
    let (below, rest) = (sorted[steps / 4], steps % 4);
    let above = sorted[(steps / 4 + 1).min(sorted.len() - 1)];
    let part = rest as f64 / 4.0;
    // Two products, since the difference of large values would be infinite.
    (below * (1.0 - part) + above * part).clamp(below, above)
}

/// The standard deviation over one value less. Values are scaled first, since the square of a large one is infinite.
fn deviation(sorted: &[f64], mean: f64) -> Option<f64> {
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let scale = least.abs().max(most.abs());
    if sorted.len() < 2 {
        return None;
    }
    if scale == 0.0 || least == most {
        return Some(0.0);
    }
    let squares = sorted.iter().map(|value| (value / scale - mean / scale).powi(2));
    let variance = squares.sum::<f64>() / (sorted.len() - 1) as f64;
    Some(variance.sqrt() * scale).filter(|deviation| deviation.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_and_deviation_are_those_of_the_textbook() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            (spread.lower_quartile, spread.median, spread.upper_quartile),
            (1.75, 2.5, 3.25)
        );
        assert!((spread.deviation.unwrap() - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let one = Spread::of(&[7.0]).unwrap();
        assert_eq!((one.lower_quartile, one.upper_quartile, one.deviation), (7.0, 7.0, None));
        assert_eq!(Spread::of(&[0.0, 0.0]).unwrap().deviation, Some(0.0));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn the_largest_numbers_stay_in_range() {
        let huge = [f64::MAX, f64::MAX / 2.0, f64::MIN_POSITIVE];
        let spread = Spread::of(&huge).unwrap();
        let within = |value: f64| (f64::MIN_POSITIVE..=f64::MAX).contains(&value);
        assert!(within(spread.lower_quartile) && within(spread.upper_quartile), "{spread:?}");
        assert!(spread.deviation.is_some_and(within), "{spread:?}");
    }

    #[test]
    fn cpu_times_are_means_of_the_runs_that_have_them() {
        let mut values = Values::default();
        let usage = |user_ns| Usage { user_ns, system_ns: 10, max_rss_bytes: 0 };
        values.push(Some(1.0), Some(&usage(100)));
        values.push(None, Some(&usage(300)));
        let spread = values.spread().unwrap();
        assert_eq!(spread.cpu, Some(CpuTimes { user_ns: 200.0, system_ns: 10.0 }));
        values.push(Some(3.0), None);
        assert_eq!(values.spread().unwrap().runs, 2);
    }
}
