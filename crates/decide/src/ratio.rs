//! The inference about one candidate against the baseline: the median of the paired ratios, or the ratio of two
//! quantiles.

use crate::Failure;
use crate::question::Compare;
use crate::verdict::{Answer, Effect, Relation};
use uncontended_stats::{Invalid, Margin, MaxError, Paired, QuantileRatio, Rate};

/// The inference.
#[derive(Debug, Clone)]
pub enum Ratio {
    /// The median of the ratios of the blocks.
    Paired(Paired),
    /// The ratio of the quantiles of all runs.
    Quantile(QuantileRatio),
}

impl Ratio {
    /// Nothing inferred yet.
    pub fn new(compare: &Compare, max_error: MaxError) -> Result<Ratio, Failure> {
        let wrong = |error: Invalid| {
            Failure::new(error.to_string(), "see `ComparePlan::margin` and `ComparePlan::quantile`")
        };
        let margin = Margin::new(compare.margin).map_err(wrong)?;
        Ok(match compare.cost_quantile().map(Rate::new).transpose().map_err(wrong)? {
            None => Ratio::Paired(Paired::new(margin, max_error)),
            Some(rate) => Ratio::Quantile(QuantileRatio::new(rate, margin, max_error)),
        })
    }

    /// The fewest pairs with which anything can be decided.
    pub fn fewest_pairs(&self, max_error: MaxError, compare: &Compare) -> u64 {
        match (self, compare.cost_quantile().map(Rate::new)) {
            (Ratio::Quantile(_), Some(Ok(rate))) => QuantileRatio::fewest_pairs(rate, max_error),
            _ => Paired::fewest_pairs(max_error),
        }
    }

    /// Its answer to a claim.
    pub fn verdict(&self, claim: crate::question::Claim) -> Answer {
        match self {
            Ratio::Paired(paired) => paired.verdict(claim.into()).into(),
            Ratio::Quantile(quantile) => quantile.verdict(claim.into()).into(),
        }
    }

    /// The relation of the candidate to the baseline.
    pub fn relation(&self) -> Relation {
        match self {
            Ratio::Paired(paired) => paired.relation().into(),
            Ratio::Quantile(quantile) => quantile.relation().into(),
        }
    }

    /// The ratio seen.
    pub fn estimate(&self) -> Option<f64> {
        match self {
            Ratio::Paired(paired) => paired.estimate(),
            Ratio::Quantile(quantile) => quantile.estimate(),
        }
    }

    /// The confidence sequence of the ratio.
    pub fn interval(&self) -> (f64, f64) {
        match self {
            Ratio::Paired(paired) => paired.interval(),
            Ratio::Quantile(quantile) => quantile.interval(),
        }
    }

    /// The logs of the e-processes that it is below, and above, `ratio`, and the value they have to reach.
    pub fn log_evidence(&self, ratio: f64) -> ((f64, f64), f64) {
        match self {
            Ratio::Paired(paired) => (paired.log_evidence(ratio), paired.needed()),
            Ratio::Quantile(quantile) => (quantile.log_evidence(ratio), quantile.needed()),
        }
    }
}

/// A ratio of costs with its interval, as the ratio of the values.
pub(crate) fn effect_of(
    ratio: Option<f64>,
    (low, high): (f64, f64),
    higher_is_better: bool,
) -> Effect {
    let finite = |ratio: f64| Some(ratio).filter(|ratio| ratio.is_finite());
    if higher_is_better {
        return Effect {
            ratio: ratio.map(f64::recip).and_then(finite),
            low: high.recip(),
            high: finite(low.recip()),
        };
    }
    Effect { ratio: ratio.and_then(finite), low, high: finite(high) }
}

/// The other end of the band.
pub(crate) fn mirror(threshold: f64, (least, most): (f64, f64)) -> f64 {
    if threshold == least { most } else { least }
}
