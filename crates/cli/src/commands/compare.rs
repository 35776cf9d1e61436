//! `unc compare`: is one command better or worse than another, and by how much?

use super::flags::{ClaimFlag, ExportFlags, OF_COMMANDS, OutputFlags, RunFlags, StopFlags};
use super::suite;
use crate::deliver::deliver;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uncontended_decide::Failure;
use uncontended_decide::plan::aspect::{Aspect, Statistic};
use uncontended_decide::plan::compare::{Baseline, Commands, Source, parameters};
use uncontended_decide::plan::{ComparePlan, Plan as _};
use uncontended_decide::question::Claim;
use uncontended_decide::server::Servers;
use uncontended_decide::value;
use uncontended_figures::read::whole;

/// Decide whether one command is better or worse than another
///
/// Runs fresh processes in randomised blocks, and stops as soon as the claim is settled. The claim is about each
/// candidate against the baseline, which is the first command. The default claim is `no-worse`: not worse by more than
/// the margin. Exit status: 0 the claim holds, 1 it is refuted, 3 undecided within the budget, 2 could not run.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  unc compare -- './old' './new'                           is ./new at most 2% worse?
  unc compare --claim better --margin 5% -- './old' './new'
  unc compare --metric max-rss -- 'prog' 'env LD_PRELOAD=liballoc.so prog'
  unc compare --metric wall --metric cpu --metric max-rss -- './old' './new'   all three, of the same runs
  unc compare --parameter-list threads 1,2,4 -- './prog {threads}'   each against the first
  unc compare --rev main --rev HEAD --build 'cargo build --release' -- './target/release/prog'
  unc compare --server './old' --server './new' --ready 'curl -sf localhost:80' --load './client'
  unc compare --aa -- './prog'                             is this machine fit for comparisons?
  unc compare --baseline base.log -- './prog'              against what `unc record` kept, and its control
  unc compare --baseline base.log --candidate new.log      two recordings, without any run")]
pub(crate) struct Flags {
    /// The claim about the candidate [default: no-worse; with --aa, equivalent]
    #[arg(long, value_enum)]
    claim: Option<ClaimFlag>,
    /// Differences up to this share do not count: ratios from 1/(1+M) to 1+M are equivalent, ends included
    #[arg(long, value_name = "M", default_value = "2%", value_parser = value::margin, allow_hyphen_values = true)]
    margin: f64,
    /// Compare this percentile of all runs, such as p90, not the median of the paired ratios (without a tail guard);
    /// given several times, with `median` among them if you like, each is a question with its share of the error
    #[arg(long, value_name = "P", value_parser = Statistic::parse, allow_hyphen_values = true)]
    quantile: Vec<Statistic>,
    /// Larger values of the metric are better (throughput)
    #[arg(long)]
    higher_is_better: bool,
    /// Runs of each command in a block; their medians are compared
    #[arg(long, allow_hyphen_values = true,
        value_name = "K", default_value_t = 1, value_parser = whole::<u64>(1..=1000))]
    block: u64,
    /// The number of the command to compare the others with [default: 1], or the log of runs that `unc record` kept:
    /// then the control in it, which is run again (a log is as trusted as a script), shows what the machine did between
    /// the sessions, and without one the answer is undecided
    #[arg(long, alias = "stored-baseline", allow_hyphen_values = true, value_name = "N|LOG", value_parser = Baseline::parse)]
    baseline: Option<Baseline>,
    /// Compare the runs of this log, instead of a command that runs now
    #[arg(long, value_name = "LOG", requires = "baseline",
        conflicts_with_all = OF_COMMANDS, conflicts_with_all = ["from", "aa", "rev", "block", "commands"])]
    candidate: Option<PathBuf>,
    /// Take the machine to be equally fast in both sessions: any difference is the candidate's
    #[arg(long, requires = "baseline")]
    trust_sessions: bool,
    /// Compare the command with itself: are the two equivalent? (--claim changes the question)
    #[arg(long, conflicts_with = "from")]
    aa: bool,
    /// Continue after runs that fail (nonzero status, signal, --timeout): each counts as worse than any value
    #[arg(long, short)]
    ignore_failure: bool,
    /// Judge the median only; do not test for a heavier tail of slow runs
    #[arg(long)]
    no_tail_guard: bool,
    /// Rule out a heavier tail also in bursts of slow runs up to N times as long as by chance (1: they are independent)
    /// [default: 20, but only if they are seen to come in bursts]
    #[arg(long, value_name = "N", value_parser = value::stretch, allow_hyphen_values = true,
        conflicts_with_all = ["no_tail_guard", "quantile"])]
    bursts: Option<f64>,
    /// Judge pairs of values from a file or pipe (`-`), baseline and candidate on one line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["commands", "block", "baseline"])]
    from: Option<PathBuf>,
    /// Run the command in a worktree of this revision of the git repository (give it at least twice; the first is the
    /// baseline)
    #[arg(long, value_name = "REV", conflicts_with_all = ["from", "aa", "command_name"])]
    rev: Vec<String>,
    /// Build each revision by this command
    #[arg(long, value_name = "COMMAND", requires = "rev")]
    build: Option<String>,
    /// Compare servers under one load: this one is started afresh for each run, and ended after it (give it at least
    /// twice; the first is the baseline)
    #[arg(long, value_name = "COMMAND", requires_all = ["ready", "load"],
        conflicts_with_all = ["commands", "from", "aa", "candidate", "trust_sessions", "rev", "parameter_list", "parameter_scan"])]
    server: Vec<String>,
    /// The command that succeeds once the server is ready: it is tried until then
    #[arg(long, value_name = "COMMAND", requires = "server")]
    ready: Option<String>,
    /// How long a server may take until it is ready [default: 10s]
    #[arg(long, value_name = "TIME", requires = "server", value_parser = value::duration, allow_hyphen_values = true)]
    ready_timeout: Option<Duration>,
    /// The command that puts load on the server: its run is what is measured
    #[arg(long, value_name = "COMMAND", requires = "server")]
    load: Option<String>,
    /// The name of a command in what is printed (give it once per command, in their order)
    #[arg(long, short = 'n', value_name = "NAME", conflicts_with_all = ["from", "aa"])]
    command_name: Vec<String>,
    /// Values of {VAR} in the commands, one command each
    #[arg(long, short = 'L', num_args = 2, value_names = ["VAR", "A,B,C"], action = clap::ArgAction::Append)]
    parameter_list: Vec<String>,
    /// Integer or decimal values of {VAR} in the commands, from FIRST to LAST
    #[arg(long, short = 'P', num_args = 3, value_names = ["VAR", "FIRST", "LAST"])]
    parameter_scan: Vec<String>,
    /// The step of --parameter-scan
    #[arg(
        long,
        short = 'D',
        value_name = "STEP",
        default_value = "1",
        requires = "parameter_scan"
    )]
    parameter_step_size: String,
    /// Seed of the random order [default: from the system]
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Judge every property in a TOML file: tables `[[slo]]`, `[[compare]]`, `[[permute]]` with the flags of these
    /// commands as keys, and one max-error for the whole file; further keys are name, command, commands, and values
    /// (the files of `[[permute]]`)
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_COMMANDS, conflicts_with = "log",
        conflicts_with_all = ["commands", "from", "aa", "candidate", "trust_sessions", "claim", "margin", "quantile", "higher_is_better", "block", "baseline", "ignore_failure", "no_tail_guard", "bursts", "rev", "build", "server", "ready", "ready_timeout", "load", "command_name", "parameter_list", "parameter_scan", "seed"])]
    suite: Option<PathBuf>,
    #[command(flatten)]
    stop: StopFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    exports: ExportFlags,
    /// The commands, each quoted as one argument
    #[arg(value_name = "COMMANDS", help_heading = "Arguments")]
    commands: Vec<String>,
}

impl Flags {
    /// Runs the trial and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        if let Some(suite) = &self.suite {
            return suite::execute(suite, self.stop.max_error, &self.output);
        }
        let forms = self.exports.with(self.output.forms());
        let recorded = match &self.baseline {
            Some(Baseline::Log(path)) => Some(path.as_path()),
            _ => None,
        };
        let read = [
            ("--from", self.from.as_deref()),
            ("--baseline", recorded),
            ("--candidate", self.candidate.as_deref()),
            ("--input", self.run.input.as_deref()),
        ];
        if self.run.metric.len() > 1 || self.quantile.len() > 1 {
            let judge = || self.plan()?.verdicts(self.output.told(&forms));
            return suite::several(judge, self.stop.plan().max_error, &forms, &read);
        }
        let judge = || self.plan()?.verdict(self.output.told(&forms));
        deliver(judge, &forms, self.stop.log.as_deref(), &read)
    }

    /// The plan that the flags describe.
    pub(crate) fn plan(&self) -> Result<ComparePlan, Failure> {
        let (lists, scan) = (&self.parameter_list, &self.parameter_scan);
        let commands = Commands {
            lines: self
                .load
                .as_ref()
                .map_or_else(|| self.commands.clone(), |load| vec![load.clone()]),
            parameters: parameters(lists, scan, &self.parameter_step_size)?,
            with_itself: self.aa,
            names: self.command_name.clone(),
            revisions: self.rev.clone(),
            build: self.build.clone(),
            servers: Servers::of(self.server.clone(), self.ready.clone(), self.ready_timeout)?,
        };
        let (source, baseline) = Source::new(
            self.from.clone(),
            commands,
            self.baseline.clone().unwrap_or_default(),
            self.candidate.clone(),
            self.trust_sessions,
        )?;
        let mut aspects = Aspect::all(&self.run.metric, &self.quantile);
        let first = aspects.remove(0);
        Ok(ComparePlan {
            claim: self.claim.map(Claim::from),
            margin: self.margin,
            quantile: first.quantile,
            also: aspects,
            higher_is_better: self.higher_is_better,
            block: self.block,
            baseline,
            ignore_failure: self.ignore_failure,
            tail_guard: !self.no_tail_guard,
            bursts: self.bursts,
            seed: self.seed,
            source,
            runs: self.run.with(self.run.metric.first().map(String::as_str)),
            limits: self.stop.plan(),
        })
    }
}
