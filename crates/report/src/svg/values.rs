//! The pictures of the values themselves: how they are distributed, and in which order they came.

use super::{Axis, Chart, Marks};
use maud::Markup;
use uncontended_figures as figures;

/// Most points of a series: about one per pixel.
pub const MOST_POINTS: usize = 1200;
/// Values that spread over more than this factor need a logarithmic axis.
const FAR: f64 = 20.0;
/// Between the intervals of two commands, as a share of the height.
const APART: f64 = 0.03;

/// The runs of one command.
#[derive(Debug, Clone, Default)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// The number of each run in the order in which all runs were made, from 1, and its value; none if it was lost.
    pub runs: Vec<(u64, Option<f64>)>,
    /// Where its quantile lies, if that is known.
    pub quantile: Option<(f64, f64)>,
}

impl Arm {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().filter_map(|(_, value)| *value).filter(|value| value.is_finite())
    }
}

/// How values are shown.
#[derive(Debug, Clone)]
pub struct Scale {
    /// What a value is: "wall time".
    pub label: String,
    /// Writes a value with its unit.
    pub format: fn(f64) -> String,
    /// Whether no other picture is next to it.
    pub is_alone: bool,
}

/// The values that a question asks about.
#[derive(Debug, Clone, Default)]
pub struct Marked {
    /// A share of the runs, with its name: "p90".
    pub quantile: Option<(String, f64)>,
    /// A threshold of a value, with its name.
    pub threshold: Option<(String, f64)>,
}

/// Which share of each command's runs had at most which value. Lost runs count as worse than any value.
pub fn distribution(arms: &[Arm], marked: &Marked, scale: &Scale, lost_is_low: bool) -> Markup {
    let x = axis(arms, marked, scale, &scale.label);
    let y = Axis::linear(0.0, 1.0, "share of the runs with at most this", figures::percent);
    let mut chart = Chart::new("How the values are distributed", x, y).alone(scale.is_alone);
    if let Some((name, value)) = &marked.threshold {
        chart = chart.at_x(name, 1, *value);
    }
    if let Some((name, share)) = &marked.quantile {
        chart = chart.at_y(name, 3, *share);
    }
    for (nth, arm) in arms.iter().enumerate() {
        chart = chart.series(
            &arm.name,
            colour(nth, arms.len()),
            Marks::Steps,
            &steps(arm, lost_is_low),
        );
    }
    if let Some((name, share)) = &marked.quantile {
        for (nth, arm) in arms.iter().enumerate() {
            let name = match arms.len() {
                1 => format!("interval of {name}"),
                _ => String::new(),
            };
            // Below each other, so that none hides another.
            let below = APART * (nth as f64 - (arms.len() - 1) as f64 / 2.0);
            let known = arm.quantile.filter(|(low, high)| low.is_finite() || high.is_finite());
            if let Some(ends) = known {
                chart = chart.interval(
                    &name,
                    colour(nth, arms.len()),
                    (share - below).clamp(0.0, 1.0),
                    ends,
                );
            }
        }
    }
    chart.svg()
}

/// The steps of an empirical distribution, of which at most [`MOST_POINTS`] are drawn.
fn steps(arm: &Arm, lost_is_low: bool) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = arm.values().collect();
    sorted.sort_by(f64::total_cmp);
    let all = arm.runs.len().max(1) as f64;
    let below = if lost_is_low { arm.runs.len() - sorted.len() } else { 0 };
    let every = sorted.len().div_ceil(MOST_POINTS).max(1);
    let last = sorted.len().saturating_sub(1);
    let drawn = (0..sorted.len()).filter(|nth| nth % every == 0 || *nth == last);
    let steps = drawn.map(|nth| (sorted[nth], (below + nth + 1) as f64 / all));
    let start = sorted.first().map(|least| (*least, below as f64 / all));
    start.into_iter().chain(steps).collect()
}

/// The value of every run in the order in which they were made; `bursts` are shaded, from one run to another.
pub fn in_order(arms: &[Arm], bursts: &[(u64, u64)], marked: &Marked, scale: &Scale) -> Markup {
    let last = arms.iter().flat_map(|arm| arm.runs.last()).map(|(nth, _)| *nth).max().unwrap_or(1);
    let x = Axis::linear(0.0, last as f64 + 1.0, "runs, in order", figures::number);
    let y = axis(arms, marked, scale, &scale.label);
    let top = y.ends().1;
    let mut chart = Chart::new("The values in the order of the runs", x, y);
    for (from, to) in bursts {
        chart = chart.band("slow runs in a row", 1, *from as f64 - 0.5, *to as f64 + 0.5);
    }
    if let Some((name, value)) = &marked.threshold {
        chart = chart.at_y(name, 1, *value);
    }
    for (nth, arm) in arms.iter().enumerate() {
        let known = arm.runs.iter().filter_map(|(at, value)| Some((*at as f64, (*value)?)));
        let points: Vec<(f64, f64)> = known.filter(|(_, value)| value.is_finite()).collect();
        chart = chart.series(&arm.name, colour(nth, arms.len()), Marks::Points, &thinned(&points));
    }
    let lost = arms.iter().flat_map(|arm| &arm.runs).filter(|(_, value)| value.is_none());
    let lost: Vec<(f64, f64)> = lost.map(|(at, _)| (*at as f64, top)).collect();
    chart.series("failed, at the upper edge", 0, Marks::Points, &lost).svg()
}

/// At most [`MOST_POINTS`] points: of every group of neighbours, the least, the middle and the greatest value.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let group = (3 * points.len()).div_ceil(MOST_POINTS);
    let kept = points.chunks(group).flat_map(|near| {
        let mut near = near.to_vec();
        near.sort_by(|one, other| one.1.total_cmp(&other.1));
        let last = near.len() - 1;
        let mut of_group = vec![near[0], near[last / 2], near[last]];
        of_group.dedup();
        of_group
    });
    kept.collect()
}

/// The colour of a command among `of`: the baseline's, then those of the candidates; a single one has a candidate's.
fn colour(nth: usize, of: usize) -> usize {
    [3, 2, 4, 5, 1, 0][(nth + usize::from(of == 1)) % 6]
}

/// An axis on which all values, intervals and marked values have a place.
fn axis(arms: &[Arm], marked: &Marked, scale: &Scale, label: &str) -> Axis {
    let known = arms.iter().flat_map(|arm| arm.quantile.into_iter().flat_map(|(l, h)| [l, h]));
    let threshold = marked.threshold.iter().map(|(_, value)| *value);
    let all = arms.iter().flat_map(Arm::values).chain(known).chain(threshold);
    let (low, high) = all
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let margin = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) * 0.05 };
    match low > 0.0 && high / low > FAR {
        true => Axis::log(low * 0.9, high * 1.1, label, scale.format),
        false => Axis::linear(low - margin, high + margin, label, scale.format),
    }
}
