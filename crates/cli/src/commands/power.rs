//! `unc power`: how many runs will a question take, and can a budget decide it?

use super::flags::{ClaimFlag, MethodFlag};
use crate::console::{complain, say};
use crate::deliver::write_failure;
use crate::files;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::question::{Claim, Permute, Slo};
use uncontended_decide::seed;
use uncontended_decide::value;
use uncontended_figures::read;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{given_number, given_percent, percent, share, whole};
use uncontended_stats::power::{self, Expected, Power};
use uncontended_stats::{Counts, Invalid, Limits, Margin, MaxError, Paired};

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
          value_parser = clap::value_parser!(u64).range(1..=1_000_000), allow_hyphen_values = true)]
    simulations: u64,
    /// Seed of the simulation [default: from the system]
    #[arg(long)]
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
    /// The assumed true rate
    #[arg(long, value_name = "P", value_parser = value::rate, allow_hyphen_values = true)]
    at: f64,
    /// The budget, in runs
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
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
    #[arg(long, value_name = "RATIO", allow_hyphen_values = true)]
    ratio: f64,
    /// The relative spread of single runs: standard deviation over mean
    #[arg(long, value_name = "CV", value_parser = spread, allow_hyphen_values = true)]
    spread: f64,
    /// The budget, in runs of each command
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    max_runs: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Args)]
struct PermuteFlags {
    /// Values in each group
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u64).range(2..=1_000_000), allow_hyphen_values = true)]
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
          value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
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

/// The value of `schema`.
pub(crate) const SCHEMA: &str = "uncontended.power/1";

/// Simulated trials per step of the search for what can be decided. The search takes two dozen steps, and finding
/// where 95 in 100 begins needs no more.
const SEARCHED: u64 = 200;

/// Largest shift, in standard deviations, in the search for a decidable one.
const FARTHEST: f64 = 16.0;

/// The quantity whose true value a plan assumes.
#[derive(Debug, Clone, Copy)]
struct Truth {
    name: &'static str,
    /// The value that can never be decided, more or less.
    undecidable: f64,
    print: fn(f64) -> String,
}

impl Truth {
    /// A value to two digits of its distance from what is undecidable, rounded away from that.
    fn rounded(self, value: f64) -> String {
        let distance = value - self.undecidable;
        if distance == 0.0 {
            return (self.print)(value);
        }
        let scale = 10f64.powf(1.0 - distance.abs().log10().floor());
        let away = if distance < 0.0 { f64::floor } else { f64::ceil };
        (self.print)(away(value * scale) / scale)
    }
}

/// A plan.
#[derive(Debug, Clone, Serialize)]
struct Plan {
    schema: &'static str,
    question: String,
    max_runs: u64,
    max_error: f64,
    simulations: u64,
    yes: f64,
    no: f64,
    undecided: f64,
    /// Interval for the chance of staying undecided, at 99.9 %.
    undecided_interval: [f64; 2],
    mean_runs: f64,
    p95_runs: Option<u64>,
    /// The fewest runs that permit any verdict.
    fewest_runs: u64,
    /// The nearest truths on either side that the budget decides in 95 of 100 trials.
    decidable: [Option<f64>; 2],
    #[serde(skip)]
    truth: Truth,
    seed: String,
}

impl Flags {
    /// Makes the plan and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let (plan, common) = match &self.question {
            Question::Slo(flags) => (flags.plan(), &flags.common),
            Question::Compare(flags) => (flags.plan(), &flags.common),
            Question::Permute(flags) => (flags.plan(), &flags.common),
        };
        match plan.and_then(|plan| plan.tell(common)) {
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
    fn plan(&self) -> Result<Plan, Failure> {
        let slo = Slo {
            metric: "counts".to_string(),
            unit: "1".to_string(),
            bound: None,
            rate: self.rate,
            or_below: self.or_below,
            max_error: self.common.max_error,
            method: self.method.into(),
            bursts: None,
            quantile: None,
        };
        let question = slo.question()?;
        let (seed, runs) = (seed(self.common.seed), self.common.simulations);
        let power =
            power::of_rate(question, self.at, self.max_runs, runs, seed).map_err(invalid)?;
        let searched = runs.min(SEARCHED);
        let above =
            power::decidable_above(question, self.max_runs, searched, seed).map_err(invalid)?;
        let below =
            power::decidable_below(question, self.max_runs, searched, seed).map_err(invalid)?;
        let asked = format!("{} If the rate is {}", slo.sentence(), given_percent(self.at));
        let fewest = question.next_decision(Counts::default());
        let truth = Truth { name: "rate", undecidable: self.rate, print: given_percent };
        let decidable = ([below, above], truth);
        Ok(self.common.plan(asked, self.max_runs, &power, fewest, decidable, seed))
    }
}

impl CompareFlags {
    fn plan(&self) -> Result<Plan, Failure> {
        let margin = Margin::new(self.margin).map_err(invalid)?;
        let max_error = MaxError::new(self.common.max_error).map_err(invalid)?;
        let expected = Expected { ratio: self.ratio, spread: self.spread };
        let seed = seed(self.common.seed);
        let claim = Claim::from(self.claim);
        let test = (claim.into(), margin, max_error);
        let power = power::of_paired(test, expected, self.max_runs, self.common.simulations, seed)
            .map_err(invalid)?;
        let asked = format!(
            "is the candidate {}? If the median ratio is {} and the spread of single runs is {}",
            claim.with(self.margin),
            given_number(self.ratio),
            given_percent(self.spread)
        );
        let (spread, searched) = (self.spread, self.common.simulations.min(SEARCHED));
        let decidable = power::decidable_ratios(test, spread, self.max_runs, searched, seed)
            .map_err(invalid)?;
        let fewest = Paired::fewest_pairs(max_error);
        let truth = Truth { name: "ratio", undecidable: 1.0, print: given_number };
        Ok(self.common.plan(asked, self.max_runs, &power, fewest, (decidable, truth), seed))
    }
}

impl PermuteFlags {
    fn plan(&self) -> Result<Plan, Failure> {
        if !self.shift.is_finite() {
            return Err(Failure::new("--shift is not a finite number", ""));
        }
        let permute = Permute {
            unit: "1".to_string(),
            a: Vec::new(),
            b: Vec::new(),
            statistic: self.statistic.clone(),
            two_sided: self.two_sided,
            level: self.level,
            or_below: self.or_below,
            max_error: self.common.max_error,
            most_resamples: self.max_runs,
            seed: String::new(),
        };
        let question = permute.question()?;
        // Once, to report invalid flags before any simulation.
        permute.test(&[0.0], &[0.0], 0)?;
        let seed = seed(self.common.seed);
        let limits = Limits { trials: Some(self.max_runs), time: None };
        let power = |shift: f64, simulations: u64| {
            Power::simulate(simulations, seed, |rng| {
                let a: Vec<f64> = (0..self.size).map(|_| rng.normal()).collect();
                let b: Vec<f64> = (0..self.size).map(|_| shift + rng.normal()).collect();
                let mut test =
                    permute.test(&a, &b, rng.next_u64()).expect("finite values, checked flags");
                let found = test.test(question, limits, |_| ControlFlow::Continue(()));
                (found.verdict, found.report.counts.trials())
            })
        };
        // Each simulated trial resamples thousands of times: fewer trials are enough to find where 95 in 100 begin.
        let searched = self.common.simulations.min(SEARCHED / 4);
        let told = |shift| Ok(power(shift, searched)?.yes * 100 >= searched * 95);
        let decidable = power::nearest(0.0, FARTHEST, told).map_err(invalid)?;
        let asked = format!(
            "{} If {} values each are normal and B's mean is {} standard deviations above A's",
            permute.sentence(),
            self.size,
            given_number(self.shift)
        );
        let fewest = question.next_decision(Counts::default());
        let power = power(self.shift, self.common.simulations).map_err(invalid)?;
        let truth = Truth { name: "shift", undecidable: 0.0, print: given_number };
        // Without a difference, the test finds one as often as the level says: no lower shift is decidable.
        let decidable = ([None, decidable], truth);
        Ok(self.common.plan(asked, self.max_runs, &power, fewest, decidable, seed))
    }
}

impl Common {
    fn plan(
        &self,
        question: String,
        max_runs: u64,
        power: &Power,
        fewest_runs: u64,
        (decidable, truth): ([Option<f64>; 2], Truth),
        seed: u64,
    ) -> Plan {
        let share = |count: u64| count as f64 / power.runs as f64;
        Plan {
            schema: SCHEMA,
            question,
            max_runs,
            max_error: self.max_error,
            simulations: power.runs,
            yes: share(power.yes),
            no: share(power.no),
            undecided: power.undecided_share(),
            undecided_interval: power.undecided.into(),
            mean_runs: power.mean_trials,
            p95_runs: power.p95_trials,
            fewest_runs,
            decidable,
            truth,
            seed: seed.to_string(),
        }
    }
}

impl Plan {
    fn tell(&self, common: &Common) -> Result<(), Failure> {
        let for_json = common.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
        say(&self.human(), for_json)?;
        let Some(path) = &common.json else { return Ok(()) };
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}"), ""))?;
        files::write(path, &(json + "\n"))
    }

    fn human(&self) -> String {
        let most = whole(self.max_runs);
        let mut text = format!("{}, with at most {most} runs:\n", self.question);
        let mut answers =
            Table::new(vec![Column::word("  answer"), Column::figure("chance"), Column::word("")]);
        let [low, high] = self.undecided_interval;
        answers.row(["  yes", &percent(self.yes)]);
        answers.row(["  no", &percent(self.no)]);
        answers.row(["  undecided", &percent(self.undecided), &share(None, low, high)]);
        text += &answers.text(usize::MAX, Paint::default());
        let p95 = self.p95_runs.map_or("more than the budget".to_string(), whole);
        let _ = writeln!(
            text,
            "  runs: {} on average, 95th percentile {p95}, at least {}",
            whole(self.mean_runs.round() as u64),
            whole(self.fewest_runs)
        );
        let what = self.truth.name;
        let told = match self.decidable.map(|value| Some(self.truth.rounded(value?))) {
            [Some(below), Some(above)] => {
                format!("if the true {what} is at most {below} or at least {above}")
            }
            [Some(below), None] => format!("if the true {what} is at most {below}"),
            [None, Some(above)] => format!("if the true {what} is at least {above}"),
            [None, None] => format!("for no {what}"),
        };
        let _ = writeln!(text, "  decided in at least 95 of 100 trials: {told}");
        let _ =
            writeln!(text, "  {} simulated trials, seed {}", whole(self.simulations), self.seed);
        text
    }
}

fn invalid(error: Invalid) -> Failure {
    Failure::new(error.to_string(), "see unc power --help")
}
