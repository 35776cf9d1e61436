//! Power: how many runs a question will take, and whether a budget can decide it, by simulation.
//!
//! # Contract
//! A forecast holds for one assumed truth; one far from the threshold says nothing about one near it. The tests are
//! those that a trial makes, with its guards against bursts and heavier tails; [`Forecast::alone`] is without them.
//! Simulated runs are independent, or as in a pilot, so a guard against bursts that are seen hardly ever applies.
//!
//! ```
//! use uncontended_decide::power::{self, Simulation};
//! use uncontended_decide::question::Slo;
//!
//! let slo = Slo {
//!     metric: "counts".to_string(), unit: "1".to_string(), bound: None, rate: 0.99, or_below: None,
//!     max_error: 0.001, method: Default::default(), bursts: None, set: None, quantile: None, command: None,
//! };
//! let simulation = Simulation { max_runs: 500, simulations: 200, seed: 7 };
//! let forecast = power::of_rate(&slo, 0.9, &simulation)?;
//! assert!(forecast.no > 0.99 && forecast.mean_runs < 500.0);
//! # Ok::<(), uncontended_decide::Failure>(())
//! ```

mod comparison;

pub use comparison::{Comparison, FEWEST_OF_PILOT, Variation, of_comparison};

use crate::Failure;
use crate::question::{Permute, Slo};
use crate::verdict::Answer;
use serde::Serialize;
use std::ops::ControlFlow;
use uncontended_figures::{given_number, given_percent};
use uncontended_stats::bursts::BurstJudge;
use uncontended_stats::power::{self, Power};
use uncontended_stats::{Counts, Invalid, Limits, Verdict};

/// The value of `schema` in the JSON form.
pub const SCHEMA: &str = "uncontended.power/1";

/// Simulated trials per step of the search for what can be decided. The search takes two dozen steps, and finding
/// where 95 in 100 begins needs no more.
const SEARCHED: u64 = 200;

/// Largest shift, in standard deviations, in the search for a decidable one.
const FARTHEST: f64 = 16.0;

/// How a forecast is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    /// The budget: runs, runs of each command, or resamples.
    pub max_runs: u64,
    /// Simulated trials.
    pub simulations: u64,
    /// The seed of the simulation.
    pub seed: u64,
}

/// The quantity whose true value a forecast assumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// The rate of runs with the property, against this threshold.
    Rate(f64),
    /// The ratio of medians, candidate over baseline.
    Ratio,
    /// The shift of B above A, in standard deviations.
    Shift,
}

impl Truth {
    /// The value that can never be decided, more or less.
    #[must_use]
    pub fn undecidable(self) -> f64 {
        match self {
            Truth::Rate(threshold) => threshold,
            Truth::Ratio => 1.0,
            Truth::Shift => 0.0,
        }
    }
}

/// What to expect of a question, if the assumption in it is true.
#[derive(Debug, Clone, Serialize)]
pub struct Forecast {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The question and the assumption, as a sentence.
    pub question: String,
    /// The budget.
    pub max_runs: u64,
    /// The largest chance of a wrong verdict, over all looks together.
    pub max_error: f64,
    /// Simulated trials.
    pub simulations: u64,
    /// The share of trials that said yes.
    pub yes: f64,
    /// The share of trials that said no.
    pub no: f64,
    /// The share of trials that the budget left undecided.
    pub undecided: f64,
    /// Interval for the chance of staying undecided, at 99.9 %.
    pub undecided_interval: [f64; 2],
    /// Runs until the verdict or the end of the budget, on average.
    pub mean_runs: f64,
    /// The 95th percentile of runs; none if it is beyond the budget.
    pub p95_runs: Option<u64>,
    /// The fewest runs that permit any verdict.
    pub fewest_runs: u64,
    /// The fewest runs that permit the answer in `held`.
    pub fewest_to_hold: u64,
    /// The answer that a comparison's guard holds back: a yes (of `different` a no).
    pub held: Answer,
    /// The same without the guard; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
    /// The nearest truths below and above the undecidable one that the budget decides in 95 of 100 trials.
    pub decidable: [Option<f64>; 2],
    /// What the truths of `decidable` are.
    #[serde(skip)]
    pub truth: Truth,
    /// The seed of the simulation, as text: JSON's numbers lose digits.
    pub seed: String,
}

/// What to expect without the guard: of the median alone, or of runs that are known to be independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alone {
    /// The share of trials that said yes.
    pub yes: f64,
    /// The share of trials that said no.
    pub no: f64,
    /// The share of trials that the budget left undecided.
    pub undecided: f64,
    /// Runs until the verdict or the end of the budget, on average.
    pub mean_runs: f64,
    /// The 95th percentile of runs; none if it is beyond the budget.
    pub p95_runs: Option<u64>,
}

impl Alone {
    fn of(power: &Power) -> Alone {
        let share = |count: u64| count as f64 / power.runs as f64;
        Alone {
            yes: share(power.yes),
            no: share(power.no),
            undecided: power.undecided_share(),
            mean_runs: power.mean_trials,
            p95_runs: power.p95_trials,
        }
    }
}

/// Forecasts whether a rate meets its threshold, if it is `at`.
///
/// # Errors
/// If the question or the assumption cannot be.
pub fn of_rate(slo: &Slo, at: f64, simulation: &Simulation) -> Result<Forecast, Failure> {
    let Simulation { max_runs, simulations, seed } = *simulation;
    if !(0.0..=1.0).contains(&at) {
        let cause = format!("{} is not a rate", given_percent(at));
        return Err(Failure::new(cause, "see `decide::power`"));
    }
    let question = slo.question()?;
    let alone = power::of_rate(question, at, max_runs, simulations, seed).map_err(invalid)?;
    let searched = simulations.min(SEARCHED);
    let above = power::decidable_above(question, max_runs, searched, seed).map_err(invalid)?;
    let below = power::decidable_below(question, max_runs, searched, seed).map_err(invalid)?;
    let asked = format!("{} If the rate is {}", slo.sentence(), given_percent(at));
    let fewest = question.next_decision(Counts::default());
    let truth = Truth::Rate(slo.rate);
    let Some(bursts) = slo.bursts else {
        let decidable = [below, above];
        return Ok(forecast(asked, simulation, slo.max_error, &alone, fewest, truth, decidable));
    };
    let fresh = BurstJudge::new(question, bursts.into());
    let power = |rate: f64, trials: u64| {
        Power::simulate(trials, seed, |rng| {
            let mut judge = fresh.clone();
            while judge.verdict() == Verdict::Undecided && judge.counts().trials() < max_runs {
                judge.push(rng.chance(rate));
            }
            (judge.verdict(), judge.counts().trials())
        })
    };
    let says = |told: fn(&Power) -> u64| {
        move |rate: f64| Ok(told(&power(rate, searched)?) * 100 >= searched * 95)
    };
    let below = nearest_decided(below, 0.0, says(|power| power.no)).map_err(invalid)?;
    let above = nearest_decided(above, 1.0, says(|power| power.yes)).map_err(invalid)?;
    let found = power(at, simulations).map_err(invalid)?;
    let told = forecast(asked, simulation, slo.max_error, &found, fewest, truth, [below, above]);
    Ok(Forecast { alone: Some(Alone::of(&alone)), ..told })
}

/// The truth nearest to the undecidable one that is decided with a guard, where `alone` is that without one.
fn nearest_decided(
    alone: Option<f64>,
    furthest: f64,
    decided: impl Fn(f64) -> Result<bool, Invalid>,
) -> Result<Option<f64>, Invalid> {
    match alone {
        Some(truth) if decided(truth)? => Ok(alone),
        Some(truth) => power::nearest(truth, furthest, decided),
        None => Ok(None),
    }
}

/// Forecasts a permutation test of two groups of `size` normal values each, B's mean `shift` standard deviations above
/// A's. The budget is in resamples.
///
/// # Errors
/// If the question or the shift cannot be.
pub fn of_permutation(
    permute: &Permute,
    size: u64,
    shift: f64,
    simulation: &Simulation,
) -> Result<Forecast, Failure> {
    if !shift.is_finite() {
        return Err(Failure::new("`Truth::Shift` is not a finite number", "see `decide::power`"));
    }
    let question = permute.question()?;
    // Once, to report a wrong statistic before any simulation.
    permute.test(&[0.0], &[0.0], 0)?;
    let limits = Limits { trials: Some(simulation.max_runs), time: None };
    let power = |shift: f64, simulations: u64| {
        Power::simulate(simulations, simulation.seed, |rng| {
            let a: Vec<f64> = (0..size).map(|_| rng.normal()).collect();
            let b: Vec<f64> = (0..size).map(|_| shift + rng.normal()).collect();
            let mut test = permute.test(&a, &b, rng.next_u64()).expect("finite values");
            let found = test.test(question, limits, |_| ControlFlow::Continue(()));
            (found.verdict, found.report.counts.trials())
        })
    };
    // Each simulated trial resamples thousands of times: fewer trials are enough to find where 95 in 100 begin.
    let searched = simulation.simulations.min(SEARCHED / 4);
    let is_decided = |shift| Ok(power(shift, searched)?.yes * 100 >= searched * 95);
    // Without a difference, the test finds one as often as the level says: no lower shift is decidable.
    let decidable = [None, power::nearest(0.0, FARTHEST, is_decided).map_err(invalid)?];
    let asked = format!(
        "{} If {size} values each are normal and B's mean is {} standard deviations above A's",
        permute.sentence(),
        given_number(shift)
    );
    let fewest = question.next_decision(Counts::default());
    let power = power(shift, simulation.simulations).map_err(invalid)?;
    Ok(forecast(asked, simulation, permute.max_error, &power, fewest, Truth::Shift, decidable))
}

fn forecast(
    question: String,
    simulation: &Simulation,
    max_error: f64,
    power: &Power,
    fewest_runs: u64,
    truth: Truth,
    decidable: [Option<f64>; 2],
) -> Forecast {
    let share = |count: u64| count as f64 / power.runs as f64;
    Forecast {
        schema: SCHEMA,
        question,
        max_runs: simulation.max_runs,
        max_error,
        simulations: power.runs,
        yes: share(power.yes),
        no: share(power.no),
        undecided: power.undecided_share(),
        undecided_interval: power.undecided.into(),
        mean_runs: power.mean_trials,
        p95_runs: power.p95_trials,
        fewest_runs,
        fewest_to_hold: fewest_runs,
        held: Answer::Yes,
        alone: None,
        decidable,
        truth,
        seed: simulation.seed.to_string(),
    }
}

fn invalid(error: Invalid) -> Failure {
    Failure::new(error.to_string(), "see `decide::power`")
}
