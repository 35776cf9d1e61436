//! The pictures of a verdict: what is known of a rate, how the evidence grew, how ratios narrow.

use super::values::thinned;
use super::{Axis, Chart, Marks};
use maud::Markup;
use uncontended_figures as figures;

/// Points of a curve: enough for a screen.
const POINTS: u32 = 240;
/// Curves are drawn where the likelihood is above this share of its peak.
const VISIBLE: f64 = 1e-4;

/// What is known of a rate after `successes` of `trials`: the likelihood of each rate as a share of the maximum, the
/// `interval` that the test gives, and the thresholds, each with its name.
pub fn rate(
    successes: u64,
    trials: u64,
    interval: (f64, f64),
    thresholds: &[(&str, f64)],
) -> Markup {
    let (s, f) = (successes as f64, trials.saturating_sub(successes) as f64);
    let peak = if trials == 0 { 0.5 } else { s / (s + f) };
    let term = |count: f64, rate: f64, at_peak: f64| {
        if count == 0.0 { 0.0 } else { count * (rate / at_peak).ln() }
    };
    let likelihood = |rate: f64| (term(s, rate, peak) + term(f, 1.0 - rate, 1.0 - peak)).exp();
    let mut marked: Vec<f64> =
        thresholds.iter().map(|&(_, rate)| rate).chain([interval.0, interval.1, peak]).collect();
    marked.retain(|rate| rate.is_finite());
    // The outermost rates that are still likely, found in steps from the peak outward.
    let reach = |end: f64| {
        let steps = (0..=60).map(|halvings| peak + (end - peak) * 0.5f64.powi(halvings));
        steps.take_while(|&rate| likelihood(rate) < VISIBLE).last().unwrap_or(end)
    };
    let low = marked.iter().copied().fold(reach(0.0), f64::min);
    let high = marked.iter().copied().fold(reach(1.0), f64::max);
    let margin = ((high - low) * 0.05).max(1e-9);
    let (low, high) = ((low - margin).max(0.0), (high + margin).min(1.0));
    let points: Vec<(f64, f64)> = (0..=POINTS)
        .map(|nth| low + (high - low) * f64::from(nth) / f64::from(POINTS))
        .map(|rate| (rate, likelihood(rate)))
        .collect();
    let x = Axis::linear(low, high, "rate of success", rate_text);
    let y = Axis::linear(0.0, 1.05, "likelihood, as a share of the greatest", figures::number);
    let mut chart = Chart::new("What is known of the rate", x, y)
        .band("interval of the rate", 2, interval.0, interval.1)
        .series("likelihood", 2, Marks::Area, &points);
    for (name, rate) in thresholds {
        chart = chart.at_x(&format!("{name}: {}", rate_text(*rate)), 0, *rate);
    }
    chart.svg()
}

/// A rate with enough digits to distinguish it from its neighbours near 0 and 1.
fn rate_text(rate: f64) -> String {
    figures::given_percent((rate * 1e8).round() / 1e8)
}

/// One look at the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Observations so far.
    pub n: u64,
    /// Logarithm, to base 10, of the e-process.
    pub log10_e: f64,
}

/// How the evidence against each hypothesis grew from look to look, and the level (log10 of the e-value) at which each
/// is decided. Each path has its own colour; a path that reached its level stopped the test.
pub fn evidence(paths: &[(&str, &[Look])], level: f64) -> Markup {
    let all = || paths.iter().flat_map(|(_, path)| path.iter());
    let last = all().map(|look| look.n).max().unwrap_or(1) as f64;
    let finite = || all().map(|look| look.log10_e).filter(|e| e.is_finite());
    let low = finite().fold(-1.0, f64::min);
    let high = finite().fold(level * 1.15, f64::max);
    let x = Axis::linear(0.0, last.max(1.0), "observations", figures::number);
    let y = Axis::linear(low, high, "evidence, log10 of the e-value", figures::number);
    let mut chart =
        Chart::new("How the evidence grew", x, y).at_y("decided", 0, level).at_y("", 3, 0.0);
    for (nth, (name, path)) in paths.iter().enumerate() {
        let points: Vec<(f64, f64)> =
            path.iter().map(|look| (look.n as f64, look.log10_e)).collect();
        chart = chart.series(name, 2 + 2 * (nth % 2), Marks::Line, &points);
    }
    chart.svg()
}

/// Where the median of ratios lies after `n` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Within {
    /// Pairs so far.
    pub n: u64,
    /// Lower end; 0 before anything is known.
    pub low: f64,
    /// Upper end; infinite before anything is known.
    pub high: f64,
}

/// The ratio of each pair in the order they were made, the narrowing interval of their median (or of what `of` names),
/// and the band of equivalent ratios. `is_alone` if no other picture is next to it.
pub fn ratios(
    ratios: &[f64],
    within: &[Within],
    ends: (f64, f64),
    of: &str,
    is_alone: bool,
) -> Markup {
    let shown = |ratio: f64| ratio.is_finite() && ratio > 0.0;
    let all = || ratios.iter().copied().chain([ends.0, ends.1]).filter(|&ratio| shown(ratio));
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(0.0, f64::max);
    let x = Axis::linear(0.0, ratios.len().max(1) as f64, "pairs", figures::number);
    let label = "candidate over baseline";
    let y = match high / low > 4.0 {
        true => Axis::log(low * 0.9, high * 1.1, label, figures::number),
        false => Axis::linear(low - (high - low) * 0.1, high * 1.05, label, figures::number),
    };
    let numbered = ratios.iter().enumerate().map(|(nth, &ratio)| ((nth + 1) as f64, ratio));
    let points: Vec<(f64, f64)> = numbered.filter(|&(_, ratio)| shown(ratio)).collect();
    let points = thinned(&points);
    let end = |end: fn(&Within) -> f64| -> Vec<(f64, f64)> {
        let ends = within.iter().map(|within| (within.n as f64, end(within)));
        ends.filter(|&(_, ratio)| shown(ratio)).collect()
    };
    Chart::new("How the ratios came", x, y)
        .alone(is_alone)
        .band_y("within the margin", 1, ends.0, ends.1)
        .at_y("equal", 3, 1.0)
        .series("pairs", 2, Marks::Points, &points)
        .series(&format!("interval of the {of}"), 4, Marks::Steps, &end(|within| within.low))
        .series("", 4, Marks::Steps, &end(|within| within.high))
        .svg()
}
