//! `unc slo`: does a property hold in at least a share of all runs?

use super::flags::{MethodFlag, OF_ONE_PROPERTY, OutputFlags, RunFlags, StopFlags};
use super::suite;
use crate::decide::output::deliver;
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::catch_interrupts;
use uncontended_decide::lines::Lines;
use uncontended_decide::measure::{self, Budget};
use uncontended_decide::question::{Bound, Bursts, Question, Side, Slo};
use uncontended_decide::rates;
use uncontended_decide::record::Stop;
use uncontended_decide::runner::{Prepared, Runner};
use uncontended_decide::session::{Session, Setting};
use uncontended_decide::value;
use uncontended_decide::verdict::{SCHEMA, Verdict};
use uncontended_figures::{Dimension, Quantity};
use uncontended_stats::bursts::BurstJudge;
use uncontended_stats::{self as stats, Counts};

/// Ask whether a property holds in at least a share of all runs, and stop at the first look that tells.
///
/// Exit status: 0 yes, 1 no, 3 undecided within the budget, 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc slo --at-most 5ms --rate 99% -- ./request          is it fast enough, 99 times in 100?
  unc slo --quantile p99 --at-most 5ms -- ./request      the same, said as a percentile
  unc slo --at-least 0.975 --rate .98 --from -           values from a pipe, which is closed at the verdict
  unc slo --rate .98 --counts 3972/4000                  counts that are already at hand")]
pub(crate) struct Flags {
    /// The property: the metric is at most X (5ms, 200MiB, 42)
    #[arg(long, value_name = "X", conflicts_with = "at_least", value_parser = Quantity::parse, allow_hyphen_values = true)]
    at_most: Option<Quantity>,
    /// The property: the metric is at least X
    #[arg(long, value_name = "X", value_parser = Quantity::parse, allow_hyphen_values = true)]
    at_least: Option<Quantity>,
    /// The share of runs that must have the property (98% or .98)
    #[arg(long, value_name = "R", value_parser = value::rate, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// A percentile instead of a rate: "p99 at most X" is "at most X in 99% of the runs", and where p99 lies is shown
    #[arg(long, value_name = "P", value_parser = value::percentile, conflicts_with = "rate")]
    quantile: Option<f64>,
    /// Between R2 and R either answer is right, so that the test always ends
    #[arg(long, value_name = "R2", value_parser = value::rate, allow_negative_numbers = true)]
    or_below: Option<f64>,
    /// Which test decides
    #[arg(long, value_enum, default_value_t)]
    method: MethodFlag,
    /// Runs that lack the property may follow upon each other N times longer than by chance, for either answer (1: runs
    /// are independent) [default: 20 for a no; for a yes only where they are seen to]
    #[arg(long, value_name = "N", value_parser = value::stretch)]
    bursts: Option<f64>,
    /// Judge counts already at hand: successes / trials
    #[arg(long, value_name = "S/N", conflicts_with_all = ["at_most", "at_least", "quantile", "from", "command", "bursts"])]
    counts: Option<String>,
    /// Judge values from a file or pipe (-), one a line; a bare number has the unit of the threshold
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    from: Option<PathBuf>,
    /// Judge every property in a TOML file: tables `[[slo]]`, `[[compare]]`, `[[permute]]` with these flags as keys,
    /// and one max-error for all of them together
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_ONE_PROPERTY,
        conflicts_with_all = ["counts", "from", "command", "at_most", "at_least", "rate", "quantile", "or_below", "method", "bursts"])]
    suite: Option<PathBuf>,
    #[command(flatten)]
    stop: StopFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// The command and its arguments; a single word is a command line
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Flags {
    /// Does the work and answers with the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        if let Some(suite) = &self.suite {
            return suite::execute(suite, self.stop.max_error, &self.output);
        }
        deliver(|| self.verdict(), &self.output)
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> Result<Verdict, Failure> {
        if let Some(counts) = &self.counts {
            return self.judge_counts(counts);
        }
        match (&self.from, self.command.is_empty()) {
            (Some(path), _) => {
                // Opened first: waiting for the writer of a named pipe may be ended without further ado.
                let lines = Lines::open(path, "one value a line, nothing else")?;
                catch_interrupts()?;
                self.judge_values(lines)
            }
            (None, false) => self.judge_command(),
            (None, true) => Err(Failure::new(
                "there is nothing to judge",
                "name a command after --, or values with --from, or counts with --counts",
            )),
        }
    }

    fn rate(&self) -> Result<f64, Failure> {
        match (self.rate, self.quantile) {
            (Some(rate), _) => Ok(rate),
            // "p5 at least X" is "at least X in 95% of the runs".
            (None, Some(quantile)) if self.at_least.is_some() => Ok(1.0 - quantile),
            (None, Some(quantile)) => Ok(quantile),
            (None, None) => {
                Err(Failure::new("no rate is asked about", "add --rate, such as --rate 99%"))
            }
        }
    }

    fn hypothesis(&self, metric: &str, bound: Option<(Side, Quantity)>) -> Result<Slo, Failure> {
        let slo = Slo {
            metric: metric.to_string(),
            unit: bound
                .map_or(Dimension::Number, |(_, threshold)| threshold.dimension)
                .unit()
                .to_string(),
            bound: bound.map(|(side, threshold)| Bound { side, threshold: threshold.value }),
            rate: self.rate()?,
            or_below: self.or_below,
            max_error: self.stop.max_error,
            method: self.method.into(),
            // Counts have no order.
            bursts: bound.and_then(|_| Bursts::new(self.bursts)),
            quantile: self.quantile,
        };
        slo.question()?;
        Ok(slo)
    }

    fn setting(&self, most_runs: Option<u64>, warnings: Vec<String>) -> Setting<'_> {
        Setting {
            seed: NOTHING_RANDOM,
            warnings,
            most_runs,
            most_time: self.stop.max_time,
            log: self.stop.log.as_deref(),
            keep_runs: self.output.needs_runs(),
        }
    }

    fn bound(&self) -> Result<(Side, Quantity), Failure> {
        match (self.at_most, self.at_least) {
            (Some(threshold), _) => Ok((Side::AtMost, threshold)),
            (None, Some(threshold)) => Ok((Side::AtLeast, threshold)),
            (None, None) => Err(Failure::new(
                "no property is asked about",
                "add --at-most X or --at-least X, such as --at-most 5ms",
            )),
        }
    }

    fn judge_counts(&self, counts: &str) -> Result<Verdict, Failure> {
        let whole = |text: &str| text.trim().parse::<u64>().ok();
        let read = counts.split_once('/').and_then(|(s, n)| Some((whole(s)?, whole(n)?)));
        let Some((successes, trials)) = read else {
            let cause = format!("--counts '{counts}' is not of the form S/N");
            return Err(Failure::new(cause, "say successes / trials, such as 3972/4000"));
        };
        let counts = Counts::new(trials, successes)
            .map_err(|error| Failure::new(error.to_string(), "see --counts"))?;
        let slo = self.hypothesis("counts", None)?;
        let finding = rates::finding(&slo, &slo.question()?.report(counts), None, None);
        Ok(Verdict {
            schema: SCHEMA,
            question: slo.sentence(),
            finding,
            max_error: slo.max_error,
            stopped_by: Stop::EndOfInput,
            comparisons: Vec::new(),
            hypothesis: Question::Slo(slo),
            warnings: Vec::new(),
            seed: NOTHING_RANDOM.to_string(),
            log: None,
            runs: Some(Vec::new()),
        })
    }

    /// The verdict of values, one a line.
    pub(crate) fn judge_values(&self, lines: Lines) -> Result<Verdict, Failure> {
        let (side, threshold) = self.bound()?;
        let slo = self.hypothesis("value", Some((side, threshold)))?;
        let warnings = check_budget(&slo, self.stop.max_runs)?;
        let setting = self.setting(self.stop.max_runs, warnings);
        let session = Session::open(Question::Slo(slo), setting, self.output.progress())?;
        Ok(lines.judge(session, |line| Ok([(0, Quantity::parse_beside(line, threshold)?)]))?)
    }

    fn judge_command(&self) -> Result<Verdict, Failure> {
        let (side, threshold) = self.bound()?;
        let metric = self.run.metric()?;
        let wanted = metric.dimension();
        if wanted.is_some_and(|dimension| dimension != threshold.dimension) {
            let noun = wanted.map_or("number", Dimension::noun);
            let cause = format!("the threshold of {} is not a {noun}", metric.name);
            return Err(Failure::new(cause, "give --at-most or --at-least the unit of the metric"));
        }
        let slo = self.hypothesis(&metric.name, Some((side, threshold)))?;
        let question = slo.question()?;
        let default = 10_000.max(question.next_decision(Counts::default()).saturating_mul(10));
        let most = self.stop.max_runs.unwrap_or(default);
        let mut warnings = check_budget(&slo, Some(most))?;
        warnings.extend(metric.floor(threshold.value));
        let launch = self.run.launch()?;
        let command = Prepared::from_words(&self.command, &launch)?;
        let around = self.run.around(&launch, 1)?;
        let runner = Runner::new(launch, metric, Some(threshold.dimension))?;
        catch_interrupts()?;
        let setting = self.setting(Some(most), warnings);
        let mut session = Session::open(Question::Slo(slo), setting, self.output.progress())?;
        session.progress.say(&format!(
            "Command: {} ({})",
            command.line,
            self.stop.sentence(Some(most))
        ));
        let budget = Budget { warmup: self.run.warmup, most, time: self.stop.max_time };
        Ok(measure::runs(session, runner, &command, &around, budget)?)
    }
}

/// The seed that reports carry: the same input always gives the same output.
const NOTHING_RANDOM: u64 = 0;

/// Runs that are enough for any answer.
const MANY: u64 = 100_000;

/// Refuses a budget with which no answer can ever be given, and warns of one that allows a single answer only.
fn check_budget(slo: &Slo, most: Option<u64>) -> Result<Vec<String>, Failure> {
    let Some(most) = most else { return Ok(Vec::new()) };
    let question = slo.question()?;
    let possible = |success: bool| {
        let counts = Counts::new(most, if success { most } else { 0 });
        counts.is_ok_and(|counts| question.verdict(counts) != stats::Verdict::Undecided)
    };
    let answers = |success: bool| {
        let Some(bursts) = slo.bursts.filter(|_| possible(success)) else {
            return possible(success);
        };
        // All alike they decide soon or never; a budget beyond this is not narrow.
        let mut judge = BurstJudge::new(question, bursts.into());
        most > MANY || (0..most).any(|_| judge.push(success) != stats::Verdict::Undecided)
    };
    match (answers(true), answers(false)) {
        (true, true) => Ok(Vec::new()),
        (false, false) if possible(true) || possible(false) => Ok(vec![format!(
            "{most} runs can never answer: if they may come in bursts it takes more (--bursts 1 if they are independent)"
        )]),
        (false, false) => {
            let fewest = question.next_decision(Counts::default());
            Err(Failure::new(
                format!(
                    "{most} runs can never decide this: at least {fewest} are needed, if all turn out alike"
                ),
                format!("say --max-runs {fewest} or more, or allow a larger --max-error"),
            ))
        }
        (yes, _) => {
            let (can, cannot) = if yes { ("yes", "no") } else { ("no", "yes") };
            Ok(vec![format!("{most} runs can only ever answer {can}, never {cannot}")])
        }
    }
}
