//! Tails: does one of two commands have more slow runs, or more lost ones, than the other?
//!
//! # Contract
//! Costs come in pairs, one of the baseline and one of the candidate; infinity means a lost run. A run is *slow* at a
//! level if it costs more than that factor times the median of the baseline's earlier runs. For each level, two
//! questions may be examined after every pair:
//! * [`Excess::log_more`] is evidence that the candidate has more slow runs: under "no more" the chance that it ever
//!   reaches `ln(1/epsilon)` is at most epsilon.
//! * [`Excess::log_not_more`] is evidence that the excess is smaller: under "the share of its slow runs exceeds the
//!   baseline's by `by` or more" the chance that it ever reaches `ln(1/epsilon)` is at most epsilon.
//!
//! A pair lost on both sides is omitted: it says nothing about either.
//!
//! A [`Clearance`] may require more: that slow runs in bursts are refuted as well ([`crate::bursts`]).
//! # Why it holds
//! A level is fixed before its pair, by earlier runs alone. So under "no more", in a pair with exactly one slow run,
//! the slow run is the candidate's with a chance of at most one half, whatever came before: the sign test of a binomial
//! e-process. Both runs of a pair share the machine's disturbances, so drift of both says nothing. The other test
//! bets on `d = slow(candidate) - slow(baseline)`: its mean given the past is at least `by`, so `1 + stake (by -
//! d)` has a mean of at most 1, and so has every product of such factors, and every mixture of products over stakes
//! fixed beforehand. If several levels must all be cleared, the error is not divided: whichever level is heavy, that
//! one was cleared wrongly.
//!
//! Bursts break the second argument: the past tells when the next slow run comes. But the share of pairs in which
//! only the candidate is slow is at least the excess, and [`Chain::log_evidence`] refutes every two-state chain of such
//! pairs with that share or a larger one.
//! # Evidence
//! tests/truth_tails.rs; bursts: tests/truth_tail_bursts.rs.
//! # Sources
//! McNemar 1947, made sequential by Robbins' mixture; Waudby-Smith and Ramdas, arXiv 2010.09686 (betting); Berger 1982
//! (intersection-union).

use crate::ball::Ball;
use crate::bursts::{CLUSTERED, Chain, Stretch};
use crate::eprocess::Prior;
use crate::judge::Verdict;
use crate::ln::ln_ball;
use crate::rate::{Counts, MaxError, Rate};

/// Pairs used only to learn the baseline's median.
const FIRST: usize = 3;

/// The stakes, as fractions of the largest stake that cannot lose everything, and their shares of the capital. The
/// first wins most if hardly any run is slow.
const STAKES: [(f64, f64); 8] = [
    (0.97, 1.0 / 2.0),
    (0.7, 1.0 / 14.0),
    (0.4, 1.0 / 14.0),
    (0.25, 1.0 / 14.0),
    (0.15, 1.0 / 14.0),
    (0.08, 1.0 / 14.0),
    (0.04, 1.0 / 14.0),
    (0.02, 1.0 / 14.0),
];

/// Pairs of outcomes, by which of the two has the property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// Only the candidate.
    pub more: u64,
    /// Only the baseline.
    pub less: u64,
    /// Both of them.
    pub both: u64,
    /// Neither.
    pub neither: u64,
}

impl Excess {
    /// Takes one pair.
    pub fn push(&mut self, candidate: bool, baseline: bool) {
        let count = match (candidate, baseline) {
            (true, false) => &mut self.more,
            (false, true) => &mut self.less,
            (true, true) => &mut self.both,
            (false, false) => &mut self.neither,
        };
        *count = count.saturating_add(1);
    }

    /// The number of pairs.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.more + self.less + self.both + self.neither
    }

    /// The shares of the candidate's and of the baseline's runs with the property.
    ///
    /// ```
    /// use uncontended_stats::tails::Excess;
    /// let excess = Excess { more: 3, less: 2, both: 1, neither: 4 };
    /// assert_eq!((excess.pairs(), excess.shares()), (10, (0.4, 0.3)));
    /// ```
    #[must_use]
    pub fn shares(&self) -> (f64, f64) {
        let of = |count: u64| count as f64 / self.pairs().max(1) as f64;
        (of(self.more + self.both), of(self.less + self.both))
    }

    /// A lower bound of the log of the e-process against "the candidate has it no more often".
    #[must_use]
    pub fn log_more(&self) -> f64 {
        Counts::new(self.more + self.less, self.more)
            .map_or(0.0, |counts| Prior::Above(Rate::HALF).log_evidence(counts, Rate::HALF))
    }

    /// A lower bound of the log of the e-process against "the candidate's share exceeds the baseline's by `by` or
    /// more".
    #[must_use]
    pub fn log_not_more(&self, by: Rate) -> f64 {
        let same = Ball::count(self.both + self.neither);
        let of_stake = |&(part, share): &(f64, f64)| {
            // The largest stake is 1/(1 - by): with it, one pair against the bet loses everything.
            let part = Ball::exact(part);
            let unit = part / (Ball::exact(1.0) - by.get());
            let after = |won: Ball| ln_ball(unit * won + 1.0);
            let log = after(Ball::exact(by.get())) * same
                + after(Ball::exact(1.0) + by.get()) * Ball::count(self.less)
                + ln_ball(-part + 1.0) * Ball::count(self.more);
            (log + ln_ball(Ball::exact(share))).lower()
        };
        // The largest term bounds the sum from below.
        STAKES.iter().map(of_stake).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl Excess {
    /// The log of an e-process of independent pairs against "at most the share `at` of the pairs is not slow in the
    /// candidate alone". Half of its capital bets that none is.
    fn log_rare(&self, at: Rate) -> f64 {
        let pairs = self.pairs();
        let spread = Counts::new(pairs, pairs - self.more)
            .map_or(0.0, |counts| Prior::Above(at).log_evidence(counts, at));
        let never = -(ln_ball(Ball::exact(at.get())) * Ball::count(pairs));
        let best = if self.more == 0 { spread.max(never.lower()) } else { spread };
        (ln_ball(Ball::exact(0.5)) + best).lower()
    }
}

/// One level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// A run is slow if it costs more than this many times the baseline's median; infinity: lost runs.
    pub factor: f64,
    /// The candidate's runs against the baseline's.
    pub heavier: Excess,
    /// The other way around.
    pub lighter: Excess,
    /// In what order the pairs came in which only the candidate, or only the baseline, was slow.
    chains: [Chain; 2],
}

/// What has to be refuted before a tail is clear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearance {
    /// The excess of slow runs.
    pub by: Rate,
    /// The largest chance of refuting it wrongly.
    pub missed: MaxError,
    /// How far slow runs may depend on each other: in bursts up to `yes` times as long as by chance, or without it up
    /// to `no` times, but only where they are seen to be clustered. None: they are independent.
    pub bursts: Option<Stretch>,
}

/// Which of the two commands has the heavier tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The candidate.
    Heavier,
    /// The baseline.
    Lighter,
}

impl Level {
    /// The counts of one side.
    #[must_use]
    pub fn excess(&self, side: Side) -> &Excess {
        match side {
            Side::Heavier => &self.heavier,
            Side::Lighter => &self.lighter,
        }
    }

    fn push(&mut self, side: Side, ours: bool, theirs: bool) {
        match side {
            Side::Heavier => self.heavier.push(ours, theirs),
            Side::Lighter => self.lighter.push(ours, theirs),
        }
        self.chains[side as usize].push(!ours || theirs);
    }

    /// How much longer than by chance bursts may be that have to be refuted; none if slow runs pass for independent.
    #[must_use]
    pub fn stretch(&self, side: Side, asked: &Clearance) -> Option<f64> {
        let bursts = asked.bursts?;
        let clustered = || self.chains[side as usize].clustered() <= CLUSTERED;
        bursts.yes.or_else(|| clustered().then_some(bursts.no))
    }

    /// The log of the e-process against the excess that has to be refuted.
    #[must_use]
    pub fn log_clear(&self, side: Side, asked: &Clearance) -> f64 {
        self.log_after(side, asked, self.stretch(side, asked), 0)
    }

    /// The same after more pairs without a slow run.
    fn log_after(&self, side: Side, asked: &Clearance, stretch: Option<f64>, more: u64) -> f64 {
        let excess = self.excess(side);
        let after = Excess { neither: excess.neither.saturating_add(more), ..*excess };
        let independent = after.log_not_more(asked.by);
        let (Some(stretch), Ok(at)) = (stretch, Rate::new(1.0 - asked.by.get())) else {
            return independent;
        };
        let chain = self.chains[side as usize].and_good(more);
        independent.min(chain.log_evidence(Verdict::Yes, at, stretch, after.log_rare(at)))
    }

    /// How many more pairs without a slow run clear this level.
    #[must_use]
    pub fn more_to_clear(&self, side: Side, asked: &Clearance) -> u64 {
        let stretch = self.stretch(side, asked);
        let clears = |more: u64| self.log_after(side, asked, stretch, more) >= -asked.missed.log();
        if clears(0) {
            return 0;
        }
        let high = (0..40).map(|power| 1u64 << power).find(|&more| clears(more)).unwrap_or(1 << 40);
        let (mut low, mut high) = (high / 2, high);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if clears(middle) { high = middle } else { low = middle }
        }
        high
    }
}

/// The tails of two commands, pair by pair.
///
/// ```
/// use uncontended_stats::{MaxError, Rate, tails::{Clearance, Side, Tails}};
/// let (mut tails, few) = (Tails::new(&[1.5, 3.0], 1.02), MaxError::new(1e-4)?);
/// for i in 0..100 {
///     tails.push(if i % 3 == 0 { 4.0 } else { 1.0 }, 1.0); // A third of the candidate's runs is four times slower.
/// }
/// let heavy = tails.heavy(Side::Heavier, few).unwrap();
/// assert!(heavy.factor == 1.5 && heavy.heavier.shares().0 > 0.3);
/// let asked = Clearance { by: Rate::new(0.1)?, missed: MaxError::new(0.05)?, bursts: None };
/// assert!(!tails.is_clear(Side::Heavier, &asked));
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tails {
    levels: Vec<Level>,
    /// How much more the other side may cost before it counts as slow.
    slack: f64,
    /// The baseline's costs, sorted.
    baseline: Vec<f64>,
    /// The candidate's costs, in order.
    candidate: Vec<f64>,
}

impl Tails {
    /// Tails at these levels. `slack` is the factor that one command may cost more than the other without being worse.
    #[must_use]
    pub fn new(factors: &[f64], slack: f64) -> Tails {
        let level = |&factor: &f64| Level {
            factor,
            heavier: Excess::default(),
            lighter: Excess::default(),
            chains: [Chain::default(); 2],
        };
        Tails {
            levels: factors.iter().map(level).collect(),
            slack,
            baseline: Vec::new(),
            candidate: Vec::new(),
        }
    }

    /// Takes the costs of one pair; NaN, and pairs lost on both sides, are omitted.
    pub fn push(&mut self, candidate: f64, baseline: f64) {
        let lost = candidate == f64::INFINITY && baseline == f64::INFINITY;
        if lost || candidate.is_nan() || baseline.is_nan() {
            return;
        }
        let typical = self.typical();
        for level in &mut self.levels {
            let at = |cost: f64, slack: f64| match typical {
                // A lost run is recognised without a median.
                _ if level.factor == f64::INFINITY => Some(cost == f64::INFINITY),
                Some(typical) => Some(cost > typical * level.factor * slack),
                None => None,
            };
            let slack = self.slack;
            let outcomes =
                (at(candidate, slack), at(baseline, 1.0), at(baseline, slack), at(candidate, 1.0));
            if let (Some(ours), Some(theirs), Some(their_own), Some(our_own)) = outcomes {
                level.push(Side::Heavier, ours, theirs);
                level.push(Side::Lighter, their_own, our_own);
            }
        }
        let at = self.baseline.partition_point(|&x| x <= baseline);
        self.baseline.insert(at, baseline);
        self.candidate.push(candidate);
    }

    /// The baseline's median so far; none until it is meaningful.
    fn typical(&self) -> Option<f64> {
        (self.baseline.len() >= FIRST).then(|| self.baseline[self.baseline.len() / 2])
    }

    /// Every level.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The lowest level at which one command certainly has more slow runs. The levels share the error equally.
    #[must_use]
    pub fn heavy(&self, side: Side, max_error: MaxError) -> Option<&Level> {
        let tests = u32::try_from(self.levels.len()).unwrap_or(u32::MAX);
        let needed = -max_error.split(tests).log();
        self.levels.iter().find(|level| level.excess(side).log_more() >= needed)
    }

    /// Whether an excess is refuted at every level.
    #[must_use]
    pub fn is_clear(&self, side: Side, asked: &Clearance) -> bool {
        // Whether runs are clustered is asked only where the rest holds.
        let independent = Clearance { bursts: None, ..*asked };
        let refuted = |level: &Level, asked| level.log_clear(side, asked) >= -asked.missed.log();
        self.levels.iter().all(|level| refuted(level, &independent))
            && (asked.bursts.is_none() || self.levels.iter().all(|level| refuted(level, asked)))
    }

    /// The level at which an excess is furthest from being refuted.
    #[must_use]
    pub fn most_open(&self, side: Side, asked: &Clearance) -> Option<&Level> {
        let evidence = |level: &&Level| level.log_clear(side, asked);
        self.levels.iter().min_by(|a, b| evidence(a).total_cmp(&evidence(b)))
    }

    /// The median cost of the candidate's slow runs at a level, in medians of the baseline.
    #[must_use]
    pub fn times_slower(&self, level: &Level) -> Option<f64> {
        let typical = self.typical().filter(|&typical| typical > 0.0)?;
        let slow = |&&cost: &&f64| cost > typical * level.factor * self.slack;
        let mut slow: Vec<f64> = self.candidate.iter().filter(slow).copied().collect();
        slow.sort_by(f64::total_cmp);
        slow.get(slow.len() / 2).map(|cost| cost / typical).filter(|times| times.is_finite())
    }

    /// The fewest pairs that can refute an excess, if no run is slow.
    #[must_use]
    pub fn fewest_clear(asked: &Clearance) -> u64 {
        let none = Tails::new(&[1.0], 1.0);
        FIRST as u64 + none.levels[0].more_to_clear(Side::Heavier, asked)
    }
}
