//! Has a series of values changed, asked after every value: an e-detector on ranks.
//!
//! # Contract
//! [`Detector::push`] takes the next value and says whether the series has changed since the detector last started. Let
//! the values be exchangeable (as independent values of one distribution are, whatever it is, also with ties, several
//! modes or heavy tails), and let a be the error bound. Then, if there never is a change:
//! * among the first n values there are at most `a n` alarms on average, restarts included;
//! * so the chance of any alarm among the first n values is at most `a n`, and
//! * the first alarm comes after at least `1/a` values on average.
//!
//! After an alarm the detector starts again with the next value: of what came before it remembers nothing. If the
//! values are exchangeable from there on, all of this holds again from there on.
//! Dependent values are not covered: a series that wanders, as an autoregressive one does, has changes everywhere.
//! # State
//! For each start j, the values from j on are compared with the r values before it, the reference. They divide the line
//! into r + 1 cells. If nothing has changed, the k-th of them falls into a cell with a chance of `(1 + c) / (r + k)`,
//! where c earlier ones are in that cell (Polya's urn): this depends on ranks alone. The bet is that they are
//! independent, with a distribution shifted by odds `theta`: cell m, counted from 0, has the chance
//! `F((m+1)/(r+1)) - F(m/(r+1))` with `F(u) = u / (u + theta (1 - u))`. The quotient of both chances, multiplied over
//! the values and averaged over [`ODDS`] in both directions, is the start's evidence. An alarm is raised when the sum
//! of the evidence of all starts reaches `1/a`, unless the values themselves do not show it.
//! # Why it holds
//! * Ties are broken by random numbers that do not depend on the values. So all ranks are distinct, and the rank of
//!   each value among those before it is uniform and independent of their ranks: the cell has exactly that chance.
//! * So the evidence of start j has the conditional mean 1 at j, and is a martingale from there on: it is a likelihood
//!   ratio of two distributions of the ranks. Let M be the sum over the starts up to n, since the last alarm, and N the
//!   number of alarms. A value adds one start, of mean 1; at an alarm M falls by at least `1/a`. So
//!   `M + N/a - n` is a supermartingale, and `E N <= a n`, since M is not negative. Markov's inequality gives the
//!   chance of `N >= 1`; optional stopping at the first alarm, where `M >= 1/a`, gives its mean time.
//! * An alarm that the values do not show is due to the ties' random numbers: without it there are fewer alarms, and M
//!   still falls by at least `1/a` at each.
//! * Only the newest [`STARTS`] starts are kept: leaving out one that is not negative only lowers M.
//! * The remainder of an exchangeable series after a stopping time is exchangeable, given what came before.
//! # Evidence
//! tests/truth_change.rs: every order of few values, exactly; alarms of long series that do not change; delays.
//! # Sources
//! Shin, Ramdas and Rinaldo, arXiv 2203.03532 (e-detectors); Vovk, arXiv 2006.05329 (testing exchangeability); Pollak
//! 1987 (the sum over starts, after Shiryaev and Roberts); Lehmann 1953 (distributions relative to a reference).

use crate::rate::MaxError;
use crate::rng::Rng;

/// The shifts that are bet on, as ratios of odds, each with equal weight in either direction. For values that spread
/// like a logistic distribution, they are shifts by 0.5, 1.0, 1.7, 2.5, and 5 standard deviations.
pub const ODDS: [f64; 5] = [2.5, 6.0, 20.0, 100.0, 10_000.0];
/// The most starts that are kept, so that a value takes bounded time.
pub const STARTS: usize = 256;

/// The seed of the numbers that break ties: any will do, as long as it does not depend on the values.
const SEED: u64 = 0x7469_6573;
/// Rounding changes the evidence by less than this share of it.
const ROUNDED: f64 = 1e-9;

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Values became greater.
    Up,
    /// Values became smaller.
    Down,
}

/// A change that was noticed. Values are counted from 0, over all restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// The first value that was compared: the series began there, or the detector started again.
    pub from: usize,
    /// The likeliest first value after the change: an estimate without a bound on its error.
    pub since: usize,
    /// The value at which it was noticed.
    pub at: usize,
    /// The direction.
    pub direction: Direction,
}

/// Notices changes of a series of values.
///
/// ```
/// use uncontended_stats::MaxError;
/// use uncontended_stats::change::{Alarm, Detector, Direction};
/// let mut detector = Detector::new(MaxError::new(0.001)?);
/// let series = (0..60).map(|i| f64::from(i * 7 % 10) + if i < 50 { 100.0 } else { 120.0 });
/// let alarms: Vec<Alarm> = series.filter_map(|value| detector.push(value)).collect();
/// assert_eq!(alarms, [Alarm { from: 0, since: 50, at: 52, direction: Direction::Up }]);
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    needed: f64,
    ties: Rng,
    /// The values since the last alarm.
    values: Vec<Value>,
    /// The value at which the detector last started.
    from: usize,
    starts: Vec<Start>,
}

/// A value, and the number that orders it among equal ones.
type Value = (f64, u64);

/// The comparison of the values from one on with those before it.
#[derive(Clone, Debug)]
struct Start {
    /// How many values are before it.
    reference: usize,
    /// How many of the reference are below each later value.
    cells: Vec<u32>,
    /// The evidence for each shift up, and down.
    evidence: [[f64; ODDS.len()]; 2],
}

impl Start {
    fn new(reference: usize) -> Start {
        let share = 0.5 / ODDS.len() as f64;
        Start { reference, cells: Vec::new(), evidence: [[share; ODDS.len()]; 2] }
    }

    /// Takes a value that is above this many of the reference.
    fn push(&mut self, below: u32) {
        let inside = self.cells.iter().filter(|&&cell| cell == below).count();
        self.cells.push(below);
        let by_chance = (inside + 1) as f64 / (self.reference + self.cells.len()) as f64;
        let (cell, cells) = (f64::from(below), (self.reference + 1) as f64);
        let [up, down] = &mut self.evidence;
        for ((up, down), odds) in up.iter_mut().zip(down).zip(ODDS) {
            *up *= shifted(cell, cells, odds) / by_chance;
            *down *= shifted(cells - 1.0 - cell, cells, odds) / by_chance;
        }
    }

    /// The evidence for a shift up, and down.
    fn sides(&self) -> [f64; 2] {
        self.evidence.map(|side| side.iter().sum())
    }

    fn total(&self) -> f64 {
        self.sides().iter().sum()
    }
}

/// The chance of a cell if the odds of being above any point of the reference are this many times as great: the
/// difference of F at its ends, as one fraction.
fn shifted(cell: f64, cells: f64, odds: f64) -> f64 {
    let above = cells - cell;
    odds * cells / ((cell + odds * above) * (cell + 1.0 + odds * (above - 1.0)))
}

impl Detector {
    /// A detector without any values yet. The bound is that of the average number of false alarms per value.
    #[must_use]
    pub fn new(max_error: MaxError) -> Detector {
        Detector {
            needed: (1.0 + ROUNDED) / max_error.get(),
            ties: Rng::new(SEED),
            values: Vec::new(),
            from: 0,
            starts: Vec::new(),
        }
    }

    /// Takes the next value, and returns an alarm if the series has changed.
    ///
    /// # Panics
    /// If the value is not a number.
    pub fn push(&mut self, value: f64) -> Option<Alarm> {
        assert!(!value.is_nan(), "a series has numbers");
        let value = (value, self.ties.next_u64());
        if !self.values.is_empty() {
            self.starts.push(Start::new(self.values.len()));
        }
        if self.starts.len() > STARTS {
            self.starts.remove(0);
        }
        let (mut below, mut counted) = (0, 0);
        for start in &mut self.starts {
            let new = &self.values[counted..start.reference];
            below += new.iter().filter(|earlier| **earlier < value).count() as u32;
            counted = start.reference;
            start.push(below);
        }
        self.values.push(value);
        if self.evidence() < self.needed {
            return None;
        }
        let alarm = self.likeliest().filter(|alarm| self.shows(alarm))?;
        self.from += self.values.len();
        self.values.clear();
        self.starts.clear();
        Some(alarm)
    }

    /// The evidence that the series has changed, for which 1 is what no change gives on average per value.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.starts.iter().map(Start::total).sum()
    }

    /// The evidence that raises an alarm.
    #[must_use]
    pub fn needed(&self) -> f64 {
        self.needed
    }

    /// How many values there are since the detector started.
    #[must_use]
    pub fn values(&self) -> usize {
        self.values.len()
    }

    /// How many values it takes before an alarm is possible: of values that rise from each to the next.
    #[must_use]
    pub fn fewest(max_error: MaxError) -> usize {
        let mut detector = Detector::new(max_error);
        let rising = (1u32..).find(|&value| detector.push(f64::from(value)).is_some());
        rising.map_or(usize::MAX, |values| values as usize)
    }

    /// The alarm that the likeliest start gives at the newest value.
    fn likeliest(&self) -> Option<Alarm> {
        let likeliest = self.starts.iter().max_by(|a, b| a.total().total_cmp(&b.total()))?;
        let [up, down] = likeliest.sides();
        Some(Alarm {
            from: self.from,
            since: self.from + likeliest.reference,
            at: self.from + self.values.len() - 1,
            direction: if up >= down { Direction::Up } else { Direction::Down },
        })
    }

    /// Whether more pairs of an earlier and a later value differ in the alarm's direction than against it.
    fn shows(&self, alarm: &Alarm) -> bool {
        let (earlier, later) = self.values.split_at(alarm.since - self.from);
        let pairs = later.iter().flat_map(|(b, _)| earlier.iter().map(move |(a, _)| (a, b)));
        let (up, down) = pairs.fold((0u64, 0u64), |(up, down), (a, b)| {
            (up + u64::from(a < b), down + u64::from(a > b))
        });
        match alarm.direction {
            Direction::Up => up > down,
            Direction::Down => down > up,
        }
    }
}
