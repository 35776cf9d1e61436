//! `unc slo`: does a property hold in at least a share of all runs?

use super::flags::{ExportFlags, MethodFlag, OF_COMMANDS, OutputFlags, RunFlags, StopFlags};
use super::suite;
use crate::deliver::deliver;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_decide::plan::slo::{Asked, Source};
use uncontended_decide::plan::{Plan as _, SloPlan};
use uncontended_decide::value;
use uncontended_figures::Quantity;
use uncontended_figures::read::whole;

/// Decide whether a property holds in at least a share of all runs
///
/// Stops as soon as the answer is certain enough. Exit status: 0 yes, 1 no, 3 undecided within the budget,
/// 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc slo --at-most 5ms --rate 99% -- ./request          is it fast enough, 99 times in 100?
  unc slo --quantile p99 --at-most 5ms -- ./request      the same, stated as a percentile
  unc slo --at-least 0.975 --rate .98 --from -           values from a pipe
  unc slo --rate .98 --counts 3972/4000                  counts from an earlier experiment")]
pub(crate) struct Flags {
    /// The property: the metric is at most X (5ms, 200MiB, 42)
    #[arg(long, allow_hyphen_values = true,
        value_name = "X", conflicts_with = "at_least", value_parser = Quantity::parse)]
    at_most: Option<Quantity>,
    /// The property: the metric is at least X
    #[arg(long, value_name = "X", value_parser = Quantity::parse, allow_hyphen_values = true)]
    at_least: Option<Quantity>,
    /// The share of runs that must have the property (98% or .98)
    #[arg(long, value_name = "R", value_parser = value::rate, allow_hyphen_values = true)]
    rate: Option<f64>,
    /// A percentile instead of a rate: "p99 at most X" means "at most X in 99% of the runs"; also shows p99's interval
    #[arg(long, allow_hyphen_values = true,
        value_name = "P", value_parser = value::percentile, conflicts_with = "rate")]
    quantile: Option<f64>,
    /// Accept either answer between R2 and R, so that the trial always ends
    #[arg(long, value_name = "R2", value_parser = value::rate, allow_hyphen_values = true)]
    or_below: Option<f64>,
    /// The test that decides
    #[arg(long, value_enum, default_value_t)]
    method: MethodFlag,
    /// Allow bursts of runs without the property up to N times as long as chance makes them, for either answer (1: runs
    /// are independent) [default: 20 for a no; for a yes only if they are seen to come in bursts]
    #[arg(long, value_name = "N", value_parser = value::stretch, allow_hyphen_values = true)]
    bursts: Option<f64>,
    /// Decide only after each N runs: the requests of a sample that is resampled as a whole, shuffled each time
    #[arg(long, allow_hyphen_values = true,
        value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), conflicts_with = "bursts")]
    set: Option<u64>,
    /// Judge existing counts: successes / trials
    #[arg(long, allow_hyphen_values = true,
        value_name = "S/N", conflicts_with_all = ["at_most", "at_least", "quantile", "from", "command", "bursts", "set"])]
    counts: Option<String>,
    /// Judge values from a file or pipe (`-`), one per line; a bare number has the unit of the threshold
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    from: Option<PathBuf>,
    /// Judge every property in a TOML file: tables `[[slo]]`, `[[compare]]`, `[[permute]]` with the flags of these
    /// commands as keys, and one max-error for the whole file; further keys are name, command, commands, and values
    /// (the files of `[[permute]]`)
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_COMMANDS, conflicts_with = "log",
        conflicts_with_all = ["counts", "from", "command", "at_most", "at_least", "rate", "quantile", "or_below", "method", "bursts", "set"])]
    suite: Option<PathBuf>,
    #[command(flatten)]
    stop: StopFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    exports: ExportFlags,
    /// The command and its arguments; a single word is taken as a command line
    #[arg(trailing_var_arg = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Flags {
    /// Runs the trial and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        if let Some(suite) = &self.suite {
            return suite::execute(suite, self.stop.max_error, &self.output);
        }
        let forms = self.exports.with(self.output.forms());
        deliver(
            || self.plan()?.verdict(self.output.told(&forms)),
            &forms,
            self.stop.log.as_deref(),
            &[("--from", self.from.as_deref()), ("--input", self.run.input.as_deref())],
        )
    }

    /// The plan that the flags describe.
    pub(crate) fn plan(&self) -> Result<SloPlan, Failure> {
        Ok(SloPlan {
            bound: SloPlan::bound(self.at_most, self.at_least),
            source: Source::new(self.counts.clone(), self.from.clone(), self.command.clone())?,
            rate: Asked::new(self.rate, self.quantile)?,
            or_below: self.or_below,
            method: self.method.into(),
            bursts: self.bursts,
            set: self.set,
            runs: self.run.plan()?,
            limits: self.stop.plan(),
        })
    }
}
