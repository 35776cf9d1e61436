//! What runs cost: lower is better, whatever the metric, and a lost run costs more than any other.

use crate::Failure;
use uncontended_stats as stats;

/// The median of a block's runs, the mean of the middle two; none if a lost run is in the middle.
pub(crate) fn middle(values: &[Option<f64>], higher_is_better: bool) -> Option<f64> {
    let worst = if higher_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
    let mut sorted: Vec<f64> = values.iter().map(|value| value.unwrap_or(worst)).collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    Some(if low == high { low } else { f64::midpoint(low, high) })
        .filter(|middle| middle.is_finite())
}

/// What one run costs; a lost run costs more than any other.
pub(crate) fn single_cost(value: Option<f64>, higher_is_better: bool) -> f64 {
    match value {
        None => f64::INFINITY,
        Some(value) if higher_is_better => value.recip(),
        Some(value) => value,
    }
}

/// The same, of a value that may be wrong.
///
/// # Errors
/// If it is negative.
pub(crate) fn cost_of_run(value: Option<f64>, higher_is_better: bool) -> Result<f64, Failure> {
    if let Some(value) = value.filter(|&value| value < 0.0) {
        let cause = format!("the value {value} is below zero, so it has no ratio");
        return Err(Failure::new(cause, "compare a metric that is at least 0"));
    }
    Ok(single_cost(value, higher_is_better))
}

/// Candidate over baseline, as a cost; none if neither has a value. Two zeros are equal.
pub(crate) fn cost(
    candidate: Option<f64>,
    baseline: Option<f64>,
    higher_is_better: bool,
) -> Result<Option<f64>, Failure> {
    let ratio = match (candidate, baseline) {
        (None, None) => return Ok(None),
        (None, Some(_)) => Ok(f64::INFINITY),
        (Some(_), None) => Ok(0.0),
        (Some(b), Some(a)) if higher_is_better => stats::paired::ratio(a, b),
        (Some(b), Some(a)) => stats::paired::ratio(b, a),
    };
    ratio.map(Some).map_err(invalid)
}

/// A value without a ratio.
pub(crate) fn invalid(error: stats::Invalid) -> Failure {
    Failure::new(error.to_string(), "compare a metric that is at least 0")
}
