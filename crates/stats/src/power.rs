//! Planning: how many trials a question is likely to take, and whether a budget can decide it at all.
//!
//! # Contract
//! Every figure is an estimate from seeded simulations with the same judge that will be used; chances come with the
//! confidence sequence of the simulation. Consider the whole range of what may be true: a plan for a rate far from the
//! threshold says nothing about one near it.
//! # Evidence
//! tests/truth_power.rs: the table of sample sizes against SPRT, the published power of two thresholds.

use crate::eprocess::Prior;
use crate::judge::{Judge, Question, Verdict};
use crate::ln::{exp_upper, ln};
use crate::paired::{Claim, Margin, Paired};
use crate::rate::{Counts, Invalid, MaxError};
use crate::rng::Rng;

/// The result of simulated runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// Runs simulated.
    pub runs: u64,
    /// How many said yes.
    pub yes: u64,
    /// How many said no.
    pub no: u64,
    /// The mean number of trials, undecided runs counted with their whole budget.
    pub mean_trials: f64,
    /// The 95th percentile of the number of trials; `None` if more than 5 % of the runs stayed undecided.
    pub p95_trials: Option<u64>,
    /// The confidence interval of the chance of staying undecided (99.9 %).
    pub undecided: (f64, f64),
}

impl Power {
    /// Simulates `runs` runs; each returns its verdict and its number of trials.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no runs.
    pub fn simulate(
        runs: u64,
        seed: u64,
        mut run: impl FnMut(&mut Rng) -> (Verdict, u64),
    ) -> Result<Power, Invalid> {
        if runs == 0 {
            return Err(Invalid::Empty);
        }
        let mut rng = Rng::new(seed);
        let (mut yes, mut no) = (0, 0);
        let mut lengths: Vec<u64> = Vec::new();
        for _ in 0..runs {
            let (verdict, trials) = run(&mut rng);
            yes += u64::from(verdict == Verdict::Yes);
            no += u64::from(verdict == Verdict::No);
            lengths.push(trials);
        }
        lengths.sort_unstable();
        let undecided = Counts::new(runs, runs - yes - no)?;
        let rank = (runs * 95).div_ceil(100) - 1;
        Ok(Power {
            runs,
            yes,
            no,
            mean_trials: lengths.iter().map(|&n| n as f64).sum::<f64>() / runs as f64,
            p95_trials: (undecided.observed() <= 0.05).then(|| lengths[rank as usize]),
            undecided: Prior::Jeffreys.price(undecided).interval(MaxError::new(1e-3)?),
        })
    }

    /// The share of runs that stayed undecided.
    #[must_use]
    pub fn undecided_share(&self) -> f64 {
        (self.runs - self.yes - self.no) as f64 / self.runs as f64
    }
}

/// One run of `question` at the true rate `rate`, of at most `budget` trials.
pub fn one_run(question: Question, rate: f64, budget: u64, rng: &mut Rng) -> (Verdict, u64) {
    let mut judge = Judge::new(question);
    while judge.verdict() == Verdict::Undecided && judge.counts().trials() < budget {
        judge.push(rng.chance(rate));
    }
    (judge.verdict(), judge.counts().trials())
}

/// The power of a question about a rate, if the rate is `rate` and the budget `budget` trials.
///
/// ```
/// use uncontended_stats::{MaxError, Method, Question, Rate, power};
/// let question = Question::new(Rate::new(0.98)?, Some(Rate::new(0.96)?), Method::Csm, MaxError::new(1e-3)?)?;
/// let power = power::of_rate(question, 0.97, 1000, 200, 1)?;
/// assert!(power.undecided_share() > 0.9); // Midway between the thresholds a thousand trials hardly ever do.
/// # Ok::<(), uncontended_stats::Invalid>(())
/// ```
///
/// # Errors
/// [`Invalid::Empty`] for no runs.
pub fn of_rate(
    question: Question,
    rate: f64,
    budget: u64,
    runs: u64,
    seed: u64,
) -> Result<Power, Invalid> {
    Power::simulate(runs, seed, |rng| one_run(question, rate, budget, rng))
}

/// How ratios of pairs vary about their median.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Runs are independent and log-normal, with this relative spread (coefficient of variation) of a single run; a
    /// pair's log ratio has about 1.4 times that.
    LogNormal(f64),
    /// As the ratios of a pilot, resampled: what slows both runs of a pair cancels in them, as it will in the trial.
    Pilot(Vec<f64>),
}

/// The assumptions about a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The true median ratio.
    pub ratio: f64,
    /// How the ratios vary.
    pub noise: Noise,
}

/// Draws factors whose median is 1.
enum Draw<'a> {
    Width(f64),
    Pilot(&'a [f64], f64),
}

impl Noise {
    fn draw(&self) -> Result<Draw<'_>, Invalid> {
        match self {
            Noise::LogNormal(spread) if !(0.0..100.0).contains(spread) => {
                Err(Invalid::Value(*spread))
            }
            Noise::LogNormal(spread) => {
                Ok(Draw::Width((2.0 * ln(1.0 + spread * spread).mid).sqrt()))
            }
            Noise::Pilot(ratios) => Ok(Draw::Pilot(ratios, Noise::median(ratios)?)),
        }
    }

    /// The median of a pilot's ratios.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no ratios, [`Invalid::Value`] for one that is not positive and finite.
    pub fn median(ratios: &[f64]) -> Result<f64, Invalid> {
        let odd = |ratio: &&f64| !(**ratio > 0.0 && ratio.is_finite());
        if let Some(odd) = ratios.iter().find(odd) {
            return Err(Invalid::Value(*odd));
        }
        let mut sorted = ratios.to_vec();
        sorted.sort_by(f64::total_cmp);
        let upper = sorted.get(sorted.len() / 2).ok_or(Invalid::Empty)?;
        Ok(f64::midpoint(sorted[(sorted.len() - 1) / 2], *upper))
    }
}

impl Draw<'_> {
    fn next(&self, rng: &mut Rng) -> f64 {
        match self {
            Draw::Width(width) => exp_upper(width * rng.normal()),
            Draw::Pilot(ratios, median) => ratios[rng.below(ratios.len() as u64) as usize] / median,
        }
    }
}

/// The power of a paired comparison within a budget of pairs.
///
/// # Errors
/// [`Invalid::Value`] for a ratio that is not finite and positive, or a spread that is not finite or is negative;
/// [`Invalid::Empty`] for no runs, or an empty pilot.
pub fn of_paired(
    (claim, margin, max_error): (Claim, Margin, MaxError),
    expected: &Expected,
    budget: u64,
    runs: u64,
    seed: u64,
) -> Result<Power, Invalid> {
    if !(expected.ratio > 0.0 && expected.ratio.is_finite()) {
        return Err(Invalid::Value(expected.ratio));
    }
    let noise = expected.noise.draw()?;
    Power::simulate(runs, seed, |rng| {
        let mut paired = Paired::new(margin, max_error);
        while paired.verdict(claim) == Verdict::Undecided && paired.pairs() < budget {
            let ratio = (expected.ratio * noise.next(rng)).max(f64::MIN_POSITIVE);
            paired.push(ratio).expect("a positive number");
        }
        (paired.verdict(claim), paired.pairs())
    })
}

/// The rate nearest to the lower threshold, from above, that gets a yes in at least 95 % of the runs within the budget:
/// the smallest difference that the budget can decide. `None` if not even a rate of 1 does.
///
/// # Errors
/// [`Invalid::Empty`] for no runs.
pub fn decidable_above(
    question: Question,
    budget: u64,
    runs: u64,
    seed: u64,
) -> Result<Option<f64>, Invalid> {
    let decided =
        |rate: f64| Ok(of_rate(question, rate, budget, runs, seed)?.yes * 100 >= runs * 95);
    nearest(question.yes_refutes().get(), 1.0, decided)
}

/// As [`decidable_above`], but below the upper threshold and for a no.
///
/// # Errors
/// [`Invalid::Empty`] for no runs.
pub fn decidable_below(
    question: Question,
    budget: u64,
    runs: u64,
    seed: u64,
) -> Result<Option<f64>, Invalid> {
    let decided =
        |rate: f64| Ok(of_rate(question, rate, budget, runs, seed)?.no * 100 >= runs * 95);
    nearest(question.at_least().get(), 0.0, decided)
}

/// The ratios nearest to the end of the margin, below it and above it, that are placed on the right side of that end in
/// at least 95 % of the runs within the budget; `None` if no ratio up to a factor of 16 away is. The end is the one in
/// the claim: where B begins to be worse or, for [`Claim::Better`], where it begins to be better.
///
/// # Errors
/// As [`of_paired`].
pub fn decidable_ratios(
    (claim, margin, max_error): (Claim, Margin, MaxError),
    noise: &Noise,
    budget: u64,
    runs: u64,
    seed: u64,
) -> Result<[Option<f64>; 2], Invalid> {
    let (least, most) = margin.bounds();
    let end = if claim == Claim::Better { least } else { most };
    // Within the margin, a ratio of 1 is furthest from both of its ends.
    let two_ends = matches!(claim, Claim::Equivalent | Claim::Different);
    let furthest = ln(16.0).mid;
    let ways = [if two_ends { -ln(end).mid } else { -furthest }, furthest];
    let ratio = |way: f64| end * exp_upper(way);
    let told = |answer: Verdict, way: f64| {
        let expected = Expected { ratio: ratio(way), noise: noise.clone() };
        let power = of_paired((claim, margin, max_error), &expected, budget, runs, seed)?;
        let told = if answer == Verdict::Yes { power.yes } else { power.no };
        Ok(told * 100 >= runs * 95)
    };
    let answers = match claim {
        Claim::Different => [Verdict::No, Verdict::Yes],
        _ => [Verdict::Yes, Verdict::No],
    };
    let mut found = [None; 2];
    for side in 0..2 {
        found[side] = nearest(0.0, ways[side], |way| told(answers[side], way))?.map(ratio);
    }
    Ok(found)
}

/// The value nearest to `from`, on the way to `to`, for which `decided` holds, to a 4096th of the way; `None` if it
/// does not hold at `to`.
///
/// # Errors
/// Those of `decided`.
pub fn nearest(
    from: f64,
    to: f64,
    decided: impl Fn(f64) -> Result<bool, Invalid>,
) -> Result<Option<f64>, Invalid> {
    if !decided(to)? {
        return Ok(None);
    }
    let (mut near, mut far) = (from, to);
    for _ in 0..12 {
        let middle = f64::midpoint(near, far);
        if decided(middle)? { far = middle } else { near = middle }
    }
    Ok(Some(far))
}
