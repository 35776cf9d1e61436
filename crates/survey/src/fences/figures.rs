//! Percentiles of heavy fences, and how much faster one is than another, with intervals.
//!
//! # Contract
//! Intervals hold with 95 %, each, if fences are independent of each other. Statements about pairs of fences, one of
//! each backend, timed at about the same time, hold together with 95 %.

use super::peers::Peers;
use super::ways::Way;
use serde::Serialize;
use uncontended_stats::{
    Counts, Margin, MaxError, Method, QuantileRatio, Question, Rate, quantile,
};

const MAX_ERROR: f64 = 0.05;
/// The most fences of a row that are kept.
const MOST: usize = 40_000;
/// The most of a row whose median is compared: the comparison looks at all of them again and again.
const COMPARED: usize = 500;
/// How many times as fast, asked of every comparison.
const TIMES: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 100.0, 1_000.0, 10_000.0];
const TOO_FEW: &str = "in every block the kernel counted too few interrupts for barriers: the other threads did not run; end other programs, or give it a longer --budget";
/// The share of pairs that is enough for a statement, and the share of interrupts, for a block to count.
const ENOUGH: f64 = 0.9;
/// What is compared: the first is expected to be the faster.
const COMPARED_WAYS: [(&str, &str); 4] = [
    ("membarrier", "membarrier global"),
    ("membarrier", "mprotect"),
    ("check-ins", "membarrier"),
    ("full fence", "membarrier"),
];
/// The shares of a distribution that are drawn.
const DRAWN: [f64; 13] =
    [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999];

/// The heavy fences of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fence {
    /// What the other CPUs did: `idle`, `own` (a thread of this process each), `other` (another process each).
    pub peers: &'static str,
    /// What a light fence is: `compiler fence`, `full fence`, `check-in`.
    pub light: &'static str,
    /// The figures; none if the row is refused.
    #[serde(flatten)]
    pub timed: Option<Timed>,
}

/// Fences, timed one by one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// The median.
    pub p50: Percentile,
    /// The 90th percentile.
    pub p90: Percentile,
    /// The 99th percentile.
    pub p99: Percentile,
    /// The 99.9th percentile.
    pub p999: Percentile,
    /// The longest.
    pub most_ns: f64,
    /// Calls of functions that the other CPUs took, per fence, whichever CPU made them.
    pub interrupts: f64,
    /// Blocks of fences with enough interrupts.
    pub blocks: u64,
    /// Blocks with too few, which are in no figure: the other threads did not run.
    pub left_out: u64,
    /// Shares, and how long a fence took at most in that share of all.
    pub curve: Vec<(f64, f64)>,
}

/// A percentile in nanoseconds, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// The percentile of what was measured.
    pub ns: f64,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// Its upper end; none if there are too few fences for one.
    pub high: Option<f64>,
}

/// How much faster one backend is than another, next to the same peers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// As in [`Fence::peers`].
    pub peers: &'static str,
    /// The faster one, if `ratio` is above 1.
    pub faster: &'static str,
    /// The other one.
    pub slower: &'static str,
    /// The ratio of the medians, slower to faster.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end; none if it has no bound yet.
    pub high: Option<f64>,
    /// In at least `share` of pairs the faster one is at least this many times as fast.
    pub times: f64,
    /// A lower bound of the share.
    pub share: f64,
    /// The number of pairs.
    pub pairs: u64,
}

/// What was timed of a backend.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// In the order of time.
    pub(super) ns: Vec<f64>,
    /// Of all fences, also those beyond the most that are kept.
    pub(super) fences: u64,
    pub(super) interrupts: u64,
    /// Blocks with enough interrupts, and those with too few.
    pub(super) blocks: [u64; 2],
    pub(super) failed: Option<String>,
}

impl Samples {
    /// A block of fences with the interrupts that the other CPUs took, of which each fence must have sent `least`. With
    /// fewer, other threads did not run, so the block is not of fences next to them, and is left out.
    pub(super) fn push(&mut self, block_ns: &[u64], interrupts: u64, least: usize) {
        let fences = block_ns.len() as u64;
        if (interrupts as f64) < ENOUGH * (fences * least as u64) as f64 {
            self.blocks[1] += 1;
            return;
        }
        self.blocks[0] += 1;
        self.fences += fences;
        self.interrupts += interrupts;
        let room = MOST - self.ns.len();
        self.ns.extend(block_ns.iter().take(room).map(|&ns| ns as f64));
    }

    /// Why there are no figures, if there are none.
    pub(super) fn refused(&self) -> Option<String> {
        let refused = || match self.blocks {
            [0, 0] => Some("no time; give it a longer --budget".to_owned()),
            [0, _] => Some(TOO_FEW.to_owned()),
            _ => None,
        };
        self.failed.clone().or_else(refused)
    }

    /// The figures, if there are any.
    pub(super) fn timed(&self) -> Option<Timed> {
        if self.refused().is_some() {
            return None;
        }
        let mut sorted = self.ns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share| percentile(&sorted, share);
        let drawn = |share: f64| {
            let is_known = share < 1.0 - 1.0 / sorted.len() as f64;
            is_known.then(|| (share, sorted[(share * sorted.len() as f64) as usize]))
        };
        Some(Timed {
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            most_ns: *sorted.last()?,
            interrupts: self.interrupts as f64 / self.fences as f64,
            blocks: self.blocks[0],
            left_out: self.blocks[1],
            curve: DRAWN.into_iter().filter_map(drawn).collect(),
        })
    }
}

fn percentile(sorted: &[f64], share: f64) -> Option<Percentile> {
    let (rate, max_error) = (Rate::new(share).ok()?, MaxError::new(MAX_ERROR).ok()?);
    let (low, high) = quantile::ranks(sorted.len() as u64, rate, Method::OneSided, max_error);
    let value = |rank: Option<u64>| sorted.get(usize::try_from(rank?).ok()?).copied();
    Some(Percentile { ns: quantile::of_sorted(sorted, rate)?, low: value(low), high: value(high) })
}

/// All comparisons whose rows were measured next to these peers.
pub(super) fn comparisons(peers: Peers, found: &[(Way, Samples)]) -> Vec<Comparison> {
    let of = |name: &str| {
        found.iter().find(|(way, samples)| way.name == name && samples.refused().is_none())
    };
    let compare = |&(faster, slower): &(&'static str, &'static str)| {
        let ((_, fast), (_, slow)) = (of(faster)?, of(slower)?);
        let (ratio, low, high) = ratio(&fast.ns, &slow.ns)?;
        let (times, share, pairs) = pairs(&fast.ns, &slow.ns)?;
        let high = high.is_finite().then_some(high);
        Some(Comparison {
            peers: peers.key(),
            faster,
            slower,
            ratio,
            low,
            high,
            times,
            share,
            pairs,
        })
    };
    COMPARED_WAYS.iter().filter_map(compare).collect()
}

/// At most that many of the values, evenly over time.
fn spread(values: &[f64], most: usize) -> impl Iterator<Item = f64> {
    let count = values.len().min(most);
    (0..count).map(move |at| values[at * values.len() / count])
}

fn ratio(fast: &[f64], slow: &[f64]) -> Option<(Option<f64>, f64, f64)> {
    let max_error = MaxError::new(MAX_ERROR).ok()?;
    let mut medians = QuantileRatio::of_sessions(Rate::HALF, Margin::new(0.0).ok()?, max_error);
    spread(slow, COMPARED).try_for_each(|ns| medians.push_b(ns)).ok()?;
    spread(fast, COMPARED).try_for_each(|ns| medians.push_a(ns)).ok()?;
    let (low, high) = medians.interval();
    Some((medians.estimate(), low, high))
}

/// The most times as fast that is true of enough pairs; the share of which it is true, at least; and their number.
fn pairs(fast: &[f64], slow: &[f64]) -> Option<(f64, f64, u64)> {
    let statements = (Peers::ALL.len() * COMPARED_WAYS.len() * TIMES.len()) as f64;
    let question =
        Question::about(Rate::HALF, Method::OneSided, MaxError::new(MAX_ERROR / statements).ok()?);
    let count = fast.len().min(slow.len());
    let share = |times: f64| {
        let pairs = spread(fast, count).zip(spread(slow, count));
        let won = pairs.filter(|(fast, slow)| fast * times <= *slow).count();
        let counts = Counts::new(count as u64, won as u64).ok()?;
        Some((times, question.report(counts).interval.0, count as u64))
    };
    let all: Vec<_> = TIMES.into_iter().filter_map(share).collect();
    all.iter().rev().find(|(_, share, _)| *share >= ENOUGH).or(all.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|n| middle * (1.0 + (n % 10) as f64 * 0.02)).collect()
    }

    #[test]
    fn a_percentile_lies_between_its_ends_and_rare_ones_have_none() {
        let sorted: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let p50 = percentile(&sorted, 0.5).unwrap();
        assert!(p50.low.unwrap() < 500.0 && p50.high.unwrap() > 501.0, "{p50:?}");
        assert!((440.0..500.0).contains(&p50.low.unwrap()));
        let p999 = percentile(&sorted, 0.999).unwrap();
        assert!(p999.ns >= 999.0 && p999.high.is_none(), "{p999:?}");
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn the_most_that_is_true_of_enough_pairs_is_said() {
        let (fast, slow) = (times(10.0, 400), times(1_600.0, 300));
        let (multiple, share, count) = pairs(&fast, &slow).unwrap();
        assert_eq!((multiple, count), (100.0, 300));
        assert!((ENOUGH..1.0).contains(&share), "{share}");
        let (estimate, low, high) = ratio(&fast, &slow).unwrap();
        assert!(low < 160.0 && high > 160.0 && (estimate.unwrap() - 160.0).abs() < 5.0);
        assert_eq!(pairs(&fast, &times(9.0, 300)).unwrap().0, 1.0, "too few to say more");
        assert!(pairs(&times(10.0, 4), &times(1_600.0, 4)).unwrap().1 < ENOUGH, "four pairs");
    }

    #[test]
    fn a_block_with_too_few_interrupts_is_left_out_and_a_row_of_such_refused() {
        let mut samples = Samples::default();
        assert!(samples.refused().unwrap().contains("no time"));
        let block: Vec<u64> = (1..=1_000).collect();
        samples.push(&block, 1_700, 2);
        assert!(samples.timed().is_none());
        assert!(samples.refused().unwrap().contains("too few interrupts"));
        samples.push(&block, 1_900, 2);
        let timed = samples.timed().unwrap();
        assert_eq!((timed.interrupts, timed.blocks, timed.left_out), (1.9, 1, 1));
        assert!(timed.curve.windows(2).all(|two| two[0].1 <= two[1].1), "{:?}", timed.curve);
        samples.failed = Some("refused".to_owned());
        assert_eq!((samples.timed(), samples.refused()), (None, Some("refused".to_owned())));
    }
}
