//! `unc power`: how many runs will a question take, and can a budget decide it?

use super::flags::{ClaimFlag, MethodFlag};
use crate::console::{complain, say};
use crate::deliver::write_failure;
use crate::files;
use crate::settings;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::guard::Guard;
use uncontended_decide::pilot;
use uncontended_decide::power::{self, Comparison, Forecast, Simulation, Variation};
use uncontended_decide::question::{Bursts, Permute, Slo};
use uncontended_decide::seed;
use uncontended_decide::value;
use uncontended_figures::read::{self, whole};

pub(crate) use uncontended_decide::power::SCHEMA;

/// Estimate how many runs a question will take, and whether a budget can decide it
///
/// Simulates the test: expected runs, the chance of ending undecided, and the smallest decidable difference. A plan for
/// a truth far from the threshold says nothing about one near it, so try several.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flags {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Clone, Subcommand)]
enum Question {
    /// Plan `unc slo`
    Slo(SloFlags),
    /// Plan `unc compare`
    Compare(CompareFlags),
    /// Plan `unc permute`
    Permute(PermuteFlags),
}

#[derive(Debug, Clone, Args)]
struct Common {
    /// Largest chance of a wrong verdict, over all looks together
    #[arg(long, value_name = "E", default_value = "0.001", value_parser = value::rate, allow_hyphen_values = true)]
    max_error: f64,
    /// Simulated trials
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = whole::<u64>(1..=1_000_000), allow_hyphen_values = true)]
    simulations: u64,
    /// Seed of the simulation [default: from the system]
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Write the plan as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
struct SloFlags {
    /// The share of runs that must have the property
    #[arg(long, value_name = "R", value_parser = value::rate, allow_hyphen_values = true)]
    rate: f64,
    /// Accept either answer between R2 and R
    #[arg(long, value_name = "R2", value_parser = value::rate, allow_hyphen_values = true)]
    or_below: Option<f64>,
    /// The test that decides
    #[arg(long, value_enum, default_value_t)]
    method: MethodFlag,
    /// How many times as long as by chance bursts of runs without the property may be (1: runs are independent), as in
    /// `unc slo` [default: 20 for a no]
    #[arg(long, value_name = "N", value_parser = value::stretch, allow_hyphen_values = true)]
    bursts: Option<f64>,
    /// The assumed true rate
    #[arg(long, value_name = "P", value_parser = value::rate, allow_hyphen_values = true)]
    at: f64,
    /// The budget, in runs
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = whole::<u64>(1..=u64::MAX), allow_hyphen_values = true)]
    max_runs: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Args)]
struct CompareFlags {
    /// The claim about the candidate
    #[arg(long, value_enum, default_value_t)]
    claim: ClaimFlag,
    /// Differences up to this share do not count
    #[arg(long, value_name = "M", default_value = "2%", value_parser = value::margin, allow_hyphen_values = true)]
    margin: f64,
    /// The assumed true median ratio, candidate over baseline (lower is better)
    /// [default with --from: that of the pilot]
    #[arg(
        long,
        value_name = "RATIO",
        allow_hyphen_values = true,
        required_unless_present = "from"
    )]
    ratio: Option<f64>,
    /// The relative spread of single runs: standard deviation over mean
    #[arg(long, value_name = "CV", value_parser = spread, allow_hyphen_values = true,
          required_unless_present = "from")]
    spread: Option<f64>,
    /// Plan with the pairs of a pilot, from a log that --log kept or a file with pairs of values: they show what
    /// slows both runs of a pair, which a spread of single runs does not
    #[arg(long, value_name = "FILE", conflicts_with = "spread")]
    from: Option<PathBuf>,
    /// Plan for the median alone, without the test for a heavier tail of slow runs
    #[arg(long)]
    no_tail_guard: bool,
    /// Plan to rule out a heavier tail also in bursts of slow runs up to N times as long as by chance
    #[arg(long, value_name = "N", conflicts_with = "no_tail_guard",
          value_parser = value::stretch, allow_hyphen_values = true)]
    bursts: Option<f64>,
    /// The budget, in runs of each command
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = whole::<u64>(1..=u64::MAX), allow_hyphen_values = true)]
    max_runs: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Args)]
struct PermuteFlags {
    /// Values in each group
    #[arg(long, value_name = "N",
          value_parser = whole::<u64>(2..=1_000_000), allow_hyphen_values = true)]
    size: u64,
    /// The assumed true shift of B above A, in standard deviations
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    shift: f64,
    /// What is compared: mean, median, max, or a percentile such as p99
    #[arg(long, default_value = "mean")]
    statistic: String,
    /// Count differences in either direction as extreme
    #[arg(long)]
    two_sided: bool,
    /// A p-value below this is significant
    #[arg(long, value_name = "P", default_value = "5%", value_parser = value::rate, allow_hyphen_values = true)]
    level: f64,
    /// Accept either answer between this and the level
    #[arg(long, value_name = "P2", value_parser = value::rate, allow_hyphen_values = true)]
    or_below: Option<f64>,
    /// The budget, in resamples
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = whole::<u64>(1..=u64::MAX), allow_hyphen_values = true)]
    max_runs: u64,
    #[command(flatten)]
    common: Common,
}

fn spread(text: &str) -> Result<f64, String> {
    let share = read::share(text)?;
    let is_spread = share >= 0.0;
    is_spread
        .then_some(share)
        .ok_or_else(|| format!("'{text}' is negative; a spread is a share such as 5%"))
}

impl Flags {
    /// Makes the forecast and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let (forecast, common) = match &self.question {
            Question::Slo(flags) => (flags.forecast(), &flags.common),
            Question::Compare(flags) => (flags.forecast(), &flags.common),
            Question::Permute(flags) => (flags.forecast(), &flags.common),
        };
        match forecast.map_err(settings::failure).and_then(|forecast| common.tell(&forecast)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                // The failure itself is what counts; a second one while reporting it adds nothing.
                let _ = write_failure(SCHEMA, &failure, common.json.as_deref());
                ExitCode::from(2)
            }
        }
    }
}

impl SloFlags {
    fn forecast(&self) -> Result<Forecast, Failure> {
        let slo = Slo {
            metric: "counts".to_string(),
            unit: "1".to_string(),
            bound: None,
            rate: self.rate,
            or_below: self.or_below,
            max_error: self.common.max_error,
            method: self.method.into(),
            bursts: Bursts::new(self.bursts),
            set: None,
            quantile: None,
            command: None,
        };
        power::of_rate(&slo, self.at, &self.common.simulation(self.max_runs))
    }
}

impl CompareFlags {
    fn forecast(&self) -> Result<Forecast, Failure> {
        let comparison = Comparison {
            claim: self.claim.into(),
            margin: self.margin,
            max_error: self.common.max_error,
            ratio: self.ratio,
            runs: match (&self.from, self.spread) {
                (Some(path), _) => Variation::Pilot(pilot::pairs(path)?),
                (None, spread) => Variation::LogNormal(spread.unwrap_or_default()),
            },
            guard: Guard::new(!self.no_tail_guard, false)
                .map(|guard| guard.with_bursts(self.bursts)),
        };
        power::of_comparison(&comparison, &self.common.simulation(self.max_runs))
    }
}

impl PermuteFlags {
    fn forecast(&self) -> Result<Forecast, Failure> {
        let permute = Permute {
            unit: "1".to_string(),
            a: Vec::new(),
            b: Vec::new(),
            more: Vec::new(),
            expected: None,
            statistic: self.statistic.clone(),
            two_sided: self.two_sided,
            level: self.level,
            or_below: self.or_below,
            max_error: self.common.max_error,
            most_resamples: self.max_runs,
            seed: String::new(),
        };
        let simulation = self.common.simulation(self.max_runs);
        power::of_permutation(&permute, self.size, self.shift, &simulation)
    }
}

impl Common {
    fn simulation(&self, max_runs: u64) -> Simulation {
        Simulation { max_runs, simulations: self.simulations, seed: seed(self.seed) }
    }

    fn tell(&self, forecast: &Forecast) -> Result<(), Failure> {
        let for_json = self.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
        say(&uncontended_report::power::text(forecast), for_json)?;
        let Some(path) = &self.json else { return Ok(()) };
        let json = serde_json::to_string_pretty(forecast)
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}"), ""))?;
        files::write(path, &(json + "\n"))
    }
}
