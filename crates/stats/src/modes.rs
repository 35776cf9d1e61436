//! Whether values have two modes, and where.
//!
//! # Contract
//! [`two_modes`] points out two modes where no distribution with a single mode is near the values: a warning for
//! people, for a fixed number of independent values of a continuous distribution. At most one set in 1,000 from a
//! uniform distribution is pointed out wrongly, and fewer from normal, log-normal, exponential and heavy-tailed ones
//! (measured; the uniform distribution is the least favourable one of the dip test too). It is conservative: modes that
//! lie within a tenth of each other, or of which one has less than a tenth of the values, are not pointed out, nor are
//! values of which fewer than half differ, which a coarse clock or a count shows.
//! # Why it holds
//! The statistic is the least distance between the empirical distribution and a function that is convex below some
//! value and concave above it, as every distribution function with a single mode is. That is the dip of Hartigan and
//! Hartigan without its condition that the parts meet without a fall, so it is at most the dip. For a distribution with
//! one mode it is at most the distance of the empirical distribution from it, whatever that distribution is.
//! # Evidence
//! tests/truth_modes.rs: false alarms and power; a search over all convex and concave parts as an oracle.
//! # Sources
//! J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985).

/// The distance, times the root of the number of values, beyond which there is more than one mode: at most 1 in 1,000
/// sets of 12 to 10,000 uniform values exceeds it.
const FAR: f64 = 0.62;
/// The fewest values that say anything.
const FEWEST: usize = 12;
/// Least share of the values at either mode.
const SHARE: f64 = 0.1;
/// Least ratio of the modes.
const APART: f64 = 1.1;
/// Share of the values at either end that count as equal when the modes are divided, since outliers would be a mode.
const ENDS: f64 = 0.05;

/// Two modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The median of the values around the lower one.
    pub low: f64,
    /// The median of those around the higher one.
    pub high: f64,
    /// The share of the values around the lower one.
    pub low_share: f64,
}

/// The modes of sorted positive values, if they have more than one. More than two are divided at the widest difference.
#[must_use]
pub fn two_modes(sorted: &[f64]) -> Option<Modes> {
    let n = sorted.len();
    let distinct = sorted.chunk_by(|one, next| one == next).count();
    if n < FEWEST || 2 * distinct < n || distance(sorted)? * (n as f64).sqrt() <= FAR {
        return None;
    }
    let cut = division(sorted);
    let (low, high) = (sorted[cut / 2], sorted[cut + (n - cut) / 2]);
    let low_share = cut as f64 / n as f64;
    let matters = (SHARE..=1.0 - SHARE).contains(&low_share) && low > 0.0 && high >= low * APART;
    matters.then_some(Modes { low, high, low_share })
}

/// The distance of sorted values from any distribution with a single mode, as a share of them; none if they do not
/// differ, or are not finite.
#[must_use]
pub fn distance(sorted: &[f64]) -> Option<f64> {
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let range = most - least;
    if !range.is_finite() || range <= 0.0 {
        return None;
    }
    let n = sorted.len() as f64;
    let mut steps: Vec<Step> = Vec::new();
    let mut through = 0;
    for equal in sorted.chunk_by(|one, next| one == next) {
        let before = through as f64 / n;
        through += equal.len();
        steps.push(Step { x: (equal[0] - least) / range, before, through: through as f64 / n });
    }
    let mirrored: Vec<Step> = steps.iter().rev().map(Step::mirrored).collect();
    let last = steps.len() - 1;
    let below = |mode: usize| bend(&steps[..=mode]);
    let above = |mode: usize| bend(&mirrored[..=last - mode]);
    // A longer part bends at least as much: below the mode it grows with the mode, above it falls.
    let (mut from, mut to) = (0, last);
    while from < to {
        let middle = usize::midpoint(from, to);
        if below(middle) >= above(middle) { to = middle } else { from = middle + 1 }
    }
    let at = |mode: usize| below(mode).max(above(mode));
    Some(at(to).min(at(to.saturating_sub(1))) / 2.0)
}

/// A step of an empirical distribution.
#[derive(Debug, Clone, Copy)]
struct Step {
    x: f64,
    before: f64,
    through: f64,
}

impl Step {
    /// The step seen from the other end, where what is concave is convex.
    fn mirrored(&self) -> Step {
        Step { x: -self.x, before: 1.0 - self.through, through: 1.0 - self.before }
    }
}

/// How far the steps rise above the greatest convex function below them. The last one may be a jump, which bends
/// nothing: it is the mode.
fn bend(steps: &[Step]) -> f64 {
    let mut hull: Vec<Step> = Vec::new();
    for step in steps {
        while let [.., one, two] = hull.as_slice() {
            let turns = (two.x - one.x) * (step.before - one.before)
                - (step.x - one.x) * (two.before - one.before);
            if turns > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(*step);
    }
    let mut most: f64 = 0.0;
    let mut at = 0;
    for step in &steps[..steps.len().saturating_sub(1)] {
        while hull[at + 1].x <= step.x {
            at += 1;
        }
        let (one, two) = (hull[at], hull[at + 1]);
        let share = (step.x - one.x) / (two.x - one.x);
        most = most.max(step.through - (one.before + share * (two.before - one.before)));
    }
    most
}

/// How many of the values belong to the lower mode: the division with the least sum of distances from the medians of
/// both parts.
fn division(sorted: &[f64]) -> usize {
    let n = sorted.len();
    let end = (n as f64 * ENDS) as usize;
    let (least, most) = (sorted[end], sorted[n - 1 - end]);
    let values: Vec<f64> = sorted.iter().map(|value| value.clamp(least, most)).collect();
    let mut sums = vec![0.0];
    for value in &values {
        sums.push(sums[sums.len() - 1] + value);
    }
    // Of sorted values, the upper half less the lower half.
    let spread = |from: usize, to: usize| {
        let half = (to - from) / 2;
        (sums[to] - sums[to - half]) - (sums[from + half] - sums[from])
    };
    let cost = |cut: usize| spread(0, cut) + spread(cut, n);
    (1..n).min_by(|one, other| cost(*one).total_cmp(&cost(*other))).unwrap_or(1)
}
