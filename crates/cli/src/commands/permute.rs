//! `unc permute`: do sets of values differ by more than chance?

use super::flags::OutputFlags;
use crate::deliver::deliver;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::plan::{PermutePlan, Plan as _};
use uncontended_decide::value;
use uncontended_figures::Quantity;
use uncontended_figures::read::whole;

/// Test whether sets of values differ by more than chance explains, by an exact permutation test
///
/// With two files: whether B is higher than A; with more: whether any two differ. Resamples the labels until the answer
/// is certain enough. Each value must come from its own process or block: timings from one process are not
/// exchangeable. Exit status: 0 the p-value is below the level, 1 it is not, 3
/// undecided within the budget, 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc permute before.txt after.txt --statistic median --level 1% --or-below 0.5%
  unc permute before.txt after.txt --shift 2ms --level 1%       higher by more than 2 ms?
  unc permute one.txt two.txt three.txt --level 1%              does any of them differ?")]
pub(crate) struct Flags {
    /// The file with the values of A, one per line
    a: PathBuf,
    /// The file with the values of B, one per line
    b: PathBuf,
    /// Files of further sets: whether the largest statistic exceeds the least by more than chance explains
    more: Vec<PathBuf>,
    /// Whether B is higher than A times F
    #[arg(long, value_name = "F", value_parser = value::factor, allow_hyphen_values = true)]
    scale: Option<f64>,
    /// Whether B is higher than A plus X (3ms; a bare number has the values' unit)
    #[arg(long, value_name = "X", value_parser = Quantity::parse, allow_hyphen_values = true)]
    shift: Option<Quantity>,
    /// What is compared: mean, median, max, or a percentile such as p99
    #[arg(long, default_value = "mean")]
    statistic: String,
    /// Count differences in either direction as extreme
    #[arg(long)]
    two_sided: bool,
    /// A p-value below this is significant
    #[arg(long, value_name = "P", default_value = "5%", value_parser = value::rate)]
    level: f64,
    /// Accept either answer between this and the level, so that the test always ends
    #[arg(long, value_name = "P2", value_parser = value::rate)]
    or_below: Option<f64>,
    /// Largest chance of a wrong verdict about the p-value, over all looks together
    #[arg(long, value_name = "E", default_value = "0.001", value_parser = value::rate)]
    max_error: f64,
    /// Give up (undecided) after this many resamples
    #[arg(long, allow_hyphen_values = true,
        value_name = "N", default_value_t = 1_000_000, value_parser = whole::<u64>(1..=u64::MAX))]
    max_runs: u64,
    /// Give up (undecided) after this time
    #[arg(long, value_name = "TIME", value_parser = value::duration, allow_hyphen_values = true)]
    max_time: Option<Duration>,
    /// Seed of the resampling [default: from the system]
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Keep the question and the values in a log that `unc verdict` reads
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

impl Flags {
    /// Runs the test and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let forms = self.output.forms();
        let more = self.more.iter().map(|path| ("a file of values", Some(path.as_path())));
        let two = [("A", Some(self.a.as_path())), ("B", Some(self.b.as_path()))];
        let read: Vec<_> = two.into_iter().chain(more).collect();
        deliver(
            || self.plan().verdict(self.output.told(&forms)),
            &forms,
            self.log.as_deref(),
            &read,
        )
    }

    /// The plan that the flags describe.
    fn plan(&self) -> PermutePlan {
        PermutePlan {
            a: self.a.clone(),
            b: self.b.clone(),
            more: self.more.clone(),
            scale: self.scale,
            shift: self.shift,
            statistic: self.statistic.clone(),
            two_sided: self.two_sided,
            level: self.level,
            or_below: self.or_below,
            max_error: self.max_error,
            max_runs: self.max_runs,
            max_time: self.max_time,
            seed: self.seed,
            log: self.log.clone(),
        }
    }
}
