//! A summary of one command's values: median, mean, least and greatest.

use serde::Serialize;

/// The values of one command, in the unit of the question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Runs with a value.
    pub runs: u64,
    /// The median; of two middle values, their mean.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// The values of both commands of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spreads {
    /// Of the baseline.
    pub baseline: Spread,
    /// Of the candidate.
    pub candidate: Spread,
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
        Some(Spread { runs: runs as u64, median: f64::midpoint(low, high), mean, min, max })
    }
}
