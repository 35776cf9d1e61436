//! The measurements of one subject at one place so far.

use std::collections::BTreeMap;

use uncontended_stats::histogram::Histogram;
use uncontended_stats::{Margin, MaxError, Paired, Rate, paired, quantile};

use crate::bench::Ratio;
use crate::block::Measured;
use crate::report::{Estimate, Latency, Role, Row};

/// Percentiles are exact to 2^-BITS.
const BITS: u32 = 7;

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) failed: Option<String>,
    ratios: Paired,
    ns: Vec<f64>,
    sum: Measured,
    latencies: Histogram,
    figures: BTreeMap<&'static str, Vec<f64>>,
}

/// The value of a block for the ratio: larger is worse, except for [`Ratio::Speed`].
pub(crate) fn value(measured: &Measured, ratio: Ratio) -> f64 {
    let operations = measured.operations as f64;
    match ratio {
        Ratio::Time => measured.counted_ns as f64 / operations,
        Ratio::Speed => operations / (measured.counted_ns as f64).max(1.0),
        Ratio::Cpu => measured.used.cpu_ns as f64 / operations,
    }
}

impl Tally {
    pub(crate) fn new(name: String, role: Role, max_error: MaxError) -> Tally {
        let margin = Margin::new(0.0).expect("zero is a margin");
        Tally {
            name,
            role,
            failed: None,
            ratios: Paired::new(margin, max_error),
            ns: Vec::new(),
            sum: Measured::default(),
            latencies: Histogram::new(BITS),
            figures: BTreeMap::new(),
        }
    }

    /// Adds a block, with the baseline's of the same round if there is one.
    pub(crate) fn take(&mut self, measured: &Measured, baseline: Option<&Measured>, ratio: Ratio) {
        self.ns.push(value(measured, Ratio::Time));
        let sum = &mut self.sum;
        sum.elapsed_ns += measured.elapsed_ns;
        sum.counted_ns += measured.counted_ns;
        sum.operations += measured.operations;
        sum.used.cpu_ns += measured.used.cpu_ns;
        sum.used.voluntary += measured.used.voluntary;
        sum.used.involuntary += measured.used.involuntary;
        measured.latencies_ns.iter().for_each(|&ns| self.latencies.record(ns));
        for (&name, &value) in &measured.figures {
            self.figures.entry(name).or_default().push(value);
        }
        if let (Some(baseline), true) = (baseline, self.role != Role::Baseline) {
            let ratio = paired::ratio(value(measured, ratio), value(baseline, ratio));
            // Both values are quotients of counts and so never negative.
            let _ = ratio.and_then(|ratio| self.ratios.push(ratio));
        }
    }

    /// Whether no block was measured yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }

    pub(crate) fn ratio(&self) -> Option<Estimate> {
        let (low, high) = self.ratios.interval();
        Some(Estimate { median: self.ratios.estimate()?, low: low.max(0.0), high })
    }

    /// Whether more blocks would not help: the interval is narrow, or there will be none.
    pub(crate) fn is_settled(&self, width: f64) -> bool {
        let narrow = |it: Estimate| it.low > 0.0 && it.high <= it.low * (1.0 + width);
        self.failed.is_some() || self.role == Role::Baseline || self.ratio().is_some_and(narrow)
    }

    pub(crate) fn row(&self) -> Row {
        let per =
            |total: u64, of: u64, scale: f64| (of > 0).then(|| total as f64 * scale / of as f64);
        let (sum, used) = (&self.sum, self.sum.used);
        let median = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            quantile::of_sorted(&sorted, Rate::HALF)
        };
        Row {
            name: self.name.clone(),
            role: self.role,
            failed: self.failed.clone(),
            blocks: self.ns.len() as u64,
            operations: sum.operations,
            ns_per_operation: median(&self.ns),
            ratio: self.ratio(),
            cpu_ns_per_operation: per(used.cpu_ns, sum.operations, 1.0),
            cpu_share: per(used.cpu_ns, sum.elapsed_ns, 1.0),
            voluntary_per_s: per(used.voluntary, sum.elapsed_ns, 1e9),
            involuntary_per_s: per(used.involuntary, sum.elapsed_ns, 1e9),
            latency_ns: self.latency(),
            figures: (self.figures.iter())
                .filter_map(|(&name, values)| Some((name, median(values)?)))
                .collect(),
            block_ns: self.ns.clone(),
            block_figures: self.figures.iter().map(|(&name, of)| (name, of.clone())).collect(),
        }
    }

    fn latency(&self) -> Option<Latency> {
        let at = |p: f64| Some(self.latencies.estimate(Rate::new(p).ok()?)?.1);
        Some(Latency {
            count: self.latencies.total(),
            p50: at(0.5)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            p9999: at(0.9999)?,
            max: self.latencies.most()?,
        })
    }
}
