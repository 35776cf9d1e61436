//! The forecast of a comparison: trials of the very test that a comparison makes, with its guard, on simulated pairs.

use super::{Alone, Forecast, SEARCHED, Simulation, Truth, forecast, invalid, nearest_decided};
use crate::Failure;
use crate::guard::{Guard, Watch};
use crate::pairs::{Candidate, PairTrial};
use crate::question::{Claim, Compare};
use crate::verdict::Answer;
use uncontended_figures::text::several;
use uncontended_figures::{given_percent, number, whole};
use uncontended_stats::power::{self, Expected, Noise, Power};
use uncontended_stats::{Invalid, Margin, MaxError, Paired, Rng, Verdict};

/// A comparison of two commands, without commands.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The claim about the candidate.
    pub claim: Claim,
    /// Differences up to this share do not count.
    pub margin: f64,
    /// The largest chance of a wrong verdict.
    pub max_error: f64,
    /// The assumed ratio of medians, candidate over baseline; lower is better. None is a pilot's.
    pub ratio: Option<f64>,
    /// How runs vary.
    pub runs: Variation,
    /// What a yes has to rule out in addition.
    pub guard: Option<Guard>,
}

/// How the runs of both commands vary.
#[derive(Debug, Clone, PartialEq)]
pub enum Variation {
    /// Independent and log-normal, with this relative spread.
    LogNormal(f64),
    /// As the pairs of a pilot, resampled: the costs of the baseline and of the candidate.
    Pilot(Vec<[f64; 2]>),
}

impl Variation {
    /// The noise of the pairs' ratios.
    fn noise(&self) -> Noise {
        match self {
            Variation::LogNormal(spread) => Noise::LogNormal(*spread),
            Variation::Pilot(pairs) => Noise::Pilot(pairs.iter().map(|[a, b]| b / a).collect()),
        }
    }

    /// A pair of costs whose ratio has the median `ratio`; `own` is that of the pilot.
    fn draw(&self, ratio: f64, own: f64, rng: &mut Rng) -> [f64; 2] {
        match self {
            Variation::LogNormal(spread) => {
                let width = (spread * spread).ln_1p().sqrt();
                let mut run = |median: f64| median * (width * rng.normal()).exp();
                [run(1.0), run(ratio)]
            }
            Variation::Pilot(pairs) => {
                let [a, b] = pairs[rng.below(pairs.len() as u64) as usize];
                [a, b * (ratio / own)]
            }
        }
    }
}

/// Fewest pairs of a pilot.
pub const FEWEST_OF_PILOT: usize = 10;

/// Forecasts a comparison of two commands.
///
/// # Errors
/// If the comparison cannot be.
pub fn of_comparison(
    comparison: &Comparison,
    simulation: &Simulation,
) -> Result<Forecast, Failure> {
    let &Comparison { claim, margin, max_error, .. } = comparison;
    let Simulation { max_runs, simulations, seed } = *simulation;
    let error = MaxError::new(max_error).map_err(invalid)?;
    let test = (claim.into(), Margin::new(margin).map_err(invalid)?, error);
    let (ratio, own, vary) = comparison.assumed()?;
    let noise = comparison.runs.noise();
    let expected = Expected { ratio, noise: noise.clone() };
    let alone = power::of_paired(test, &expected, max_runs, simulations, seed).map_err(invalid)?;
    let searched = simulations.min(SEARCHED);
    let mut decidable =
        power::decidable_ratios(test, &noise, max_runs, searched, seed).map_err(invalid)?;
    let asked = format!(
        "is the candidate {}? If the median ratio is {} and {vary}",
        claim.with(margin),
        number(ratio),
    );
    let fewest = Paired::fewest_pairs(error);
    let Some(guard) = &comparison.guard else {
        return Ok(forecast(asked, simulation, max_error, &alone, fewest, Truth::Ratio, decidable));
    };
    let trial = Simulated::new(comparison, own)?;
    let power = trial.power(ratio, max_runs, simulations, seed).map_err(invalid)?;
    // Below the margin the answer has to rule out a tail: a ratio that the median decides may not be enough.
    let (least, most) = test.1.bounds();
    let end = if claim == Claim::Better { least } else { most };
    let furthest =
        if matches!(claim, Claim::Equivalent | Claim::Different) { 1.0 } else { end / 16.0 };
    let answer = if claim == Claim::Different { Verdict::No } else { Verdict::Yes };
    let decided = |ratio: f64| trial.decides(answer, ratio, max_runs, searched, seed);
    decidable[0] = nearest_decided(decidable[0], furthest, decided).map_err(invalid)?;
    let fewest_to_hold = fewest.max(Watch::fewest_pairs(guard));
    let told = forecast(asked, simulation, max_error, &power, fewest, Truth::Ratio, decidable);
    Ok(Forecast { fewest_to_hold, held: answer.into(), alone: Some(Alone::of(&alone)), ..told })
}

impl Comparison {
    /// The median ratio, that of the pilot if there is one, and how runs vary, in words.
    fn assumed(&self) -> Result<(f64, f64, String), Failure> {
        match (&self.runs, self.ratio) {
            (Variation::LogNormal(_), None) => {
                Err(Failure::new("no ratio is assumed", "add `Comparison::ratio`"))
            }
            (Variation::LogNormal(spread), Some(ratio)) => {
                let vary = format!("the spread of single runs is {}", given_percent(*spread));
                Ok((ratio, 1.0, vary))
            }
            (Variation::Pilot(pairs), _) if pairs.len() < FEWEST_OF_PILOT => {
                let pairs = several(pairs.len() as u64, "pair", "pairs");
                let cause = format!("{pairs} are too few for a plan");
                Err(Failure::new(cause, format!("give at least {FEWEST_OF_PILOT}")))
            }
            (Variation::Pilot(pairs), ratio) => {
                let ratios: Vec<f64> = pairs.iter().map(|[a, b]| b / a).collect();
                let own = Noise::median(&ratios).map_err(invalid)?;
                let vary = format!("ratios vary as in {} pairs before", whole(pairs.len() as u64));
                Ok((ratio.unwrap_or(own), own, vary))
            }
        }
    }

    /// The question that a comparison of commands would ask.
    fn question(&self) -> Compare {
        let asked = Compare::of(self.claim, self.margin, self.max_error, &["", ""]);
        Compare { guard: self.guard.clone(), ..asked }
    }
}

/// A comparison that is tried on simulated pairs.
struct Simulated<'a> {
    compare: Compare,
    fewest: u64,
    fresh: Candidate,
    runs: &'a Variation,
    /// The median ratio of the pilot.
    own: f64,
}

impl Simulated<'_> {
    fn new(comparison: &Comparison, own: f64) -> Result<Simulated<'_>, Failure> {
        let compare = comparison.question();
        let (fresh, fewest) = PairTrial::new(&compare)?.fresh();
        Ok(Simulated { compare, fewest, fresh, runs: &comparison.runs, own })
    }

    /// One trial: its answer, and the pairs that it took.
    fn once(&self, ratio: f64, budget: u64, rng: &mut Rng) -> Result<(Verdict, u64), Failure> {
        let mut candidate = self.fresh.clone();
        for pairs in 1..=budget {
            let [baseline, cost] = self.runs.draw(ratio, self.own, rng);
            candidate.push(std::iter::once((cost, baseline)), Some(cost / baseline), baseline)?;
            match candidate.judged(&self.compare, self.fewest) {
                Answer::Yes => return Ok((Verdict::Yes, pairs)),
                Answer::No => return Ok((Verdict::No, pairs)),
                Answer::Undecided | Answer::Error => {}
            }
        }
        Ok((Verdict::Undecided, budget))
    }

    fn power(&self, ratio: f64, budget: u64, trials: u64, seed: u64) -> Result<Power, Invalid> {
        Power::simulate(trials, seed, |rng| {
            self.once(ratio, budget, rng).expect("costs are positive numbers")
        })
    }

    /// Whether at least 95 of 100 trials have this answer.
    fn decides(
        &self,
        answer: Verdict,
        ratio: f64,
        budget: u64,
        trials: u64,
        seed: u64,
    ) -> Result<bool, Invalid> {
        let power = self.power(ratio, budget, trials, seed)?;
        let told = if answer == Verdict::Yes { power.yes } else { power.no };
        Ok(told * 100 >= trials * 95)
    }
}
