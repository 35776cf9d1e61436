//! The flags that several commands share.

use crate::deliver::{Export, Forms, OfRuns};
use crate::settings;
use crate::view::View;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use uncontended_decide::Failure;
use uncontended_decide::plan::{Limits, Runs, Told, variable};
use uncontended_decide::question::{Claim, Decider};
use uncontended_decide::suite::DEFAULT_ERROR;
use uncontended_decide::value;
use uncontended_figures::progress::Line;
use uncontended_figures::read::whole;
use uncontended_report::verdict::hyperfine;

/// Flags about the runs of commands, which conflict with what runs none.
pub(crate) const OF_COMMANDS: [&str; 15] = [
    "metric",
    "setup",
    "prepare",
    "conclude",
    "cleanup",
    "warmup",
    "timeout",
    "environment",
    "directory",
    "shell",
    "no_shell",
    "input",
    "show_output",
    "max_runs",
    "max_time",
];

/// The claim about the candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ClaimFlag {
    /// Not worse by more than the margin.
    #[default]
    NoWorse,
    /// Better by more than the margin.
    Better,
    /// Within the margin, either way.
    Equivalent,
    /// Outside the margin, either way.
    Different,
}

impl From<ClaimFlag> for Claim {
    fn from(flag: ClaimFlag) -> Claim {
        match flag {
            ClaimFlag::NoWorse => Claim::NoWorse,
            ClaimFlag::Better => Claim::Better,
            ClaimFlag::Equivalent => Claim::Equivalent,
            ClaimFlag::Different => Claim::Different,
        }
    }
}

/// Which e-process decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MethodFlag {
    /// The confidence sequence method: uniform prior, two-sided.
    Csm,
    /// A prior on either side of the threshold: fewest runs.
    #[default]
    OneSided,
    /// Beta(1/2, 1/2), two-sided.
    Beta,
}

impl From<MethodFlag> for Decider {
    fn from(flag: MethodFlag) -> Decider {
        match flag {
            MethodFlag::Csm => Decider::Csm,
            MethodFlag::OneSided => Decider::OneSided,
            MethodFlag::Beta => Decider::Beta,
        }
    }
}

/// How to run commands, and what to read from a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunFlags {
    /// What to measure: wall, user, sys, cpu, max-rss, minor-faults, major-faults, voluntary-switches,
    /// involuntary-switches, cpu-migrations, exit-status; instructions, cycles, branches, branch-misses,
    /// cache-references, cache-misses (of user mode, if the machine counts them); regex:PATTERN (group 1 of the first
    /// match on stdout), json:PATH (of stdout), run:PATH (of the JSON of `unc run`) [default: wall; with a recorded
    /// baseline, what it has]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Vec<String>,
    /// Run this once before all runs
    #[arg(long, short = 's', value_name = "COMMAND")]
    pub(crate) setup: Option<String>,
    /// Run this before every measured run (give it once, or once per command)
    #[arg(long, short = 'p', value_name = "COMMAND")]
    pub(crate) prepare: Vec<String>,
    /// Run this after every measured run (give it once, or once per command)
    #[arg(long, short = 'C', value_name = "COMMAND")]
    pub(crate) conclude: Vec<String>,
    /// Run this once after all runs
    #[arg(long, short = 'c', value_name = "COMMAND")]
    pub(crate) cleanup: Option<String>,
    /// Warm-up runs of each command, made first and not counted
    #[arg(long, short = 'w', value_name = "N", default_value_t = 0, value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) warmup: u64,
    /// Kill a run that takes longer, with all its children; the run counts as failed
    #[arg(long, value_name = "TIME", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
    /// Set an environment variable for the commands
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) environment: Vec<(String, String)>,
    /// Working directory of the commands
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// How to interpret command lines: auto (use a shell only if needed), none, or the path of a shell
    #[arg(long, short = 'S', default_value = "auto")]
    pub(crate) shell: String,
    /// The same as --shell none
    #[arg(short = 'N', conflicts_with = "shell")]
    pub(crate) no_shell: bool,
    /// Standard input of the commands [default: /dev/null]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Show what the commands print
    #[arg(long)]
    pub(crate) show_output: bool,
}

/// When to stop, and what to keep.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Trial")]
pub(crate) struct StopFlags {
    /// Largest chance of a wrong verdict, over all looks together [default: 0.001]
    #[arg(long, value_name = "E", value_parser = value::rate, allow_hyphen_values = true)]
    pub(crate) max_error: Option<f64>,
    /// Give up (undecided) after this many runs of each command
    #[arg(long, short = 'M', value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(1..=u64::MAX))]
    pub(crate) max_runs: Option<u64>,
    /// Give up (undecided) after this time; a run in progress may take until twice the time [default: 60 s for
    /// commands, if there is no --max-runs]
    #[arg(long, value_name = "TIME", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) max_time: Option<Duration>,
    /// Keep the question and every run in a log that `unc verdict` reads
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// Where the results go.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Write the verdict as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the verdict as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the verdict, with pictures, as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// In a step of GitHub Actions: append the verdict to the job's summary, and annotate the run
    #[arg(long)]
    pub(crate) github: bool,
    /// Print only the verdict
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The runs in the forms of hyperfine.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ExportFlags {
    /// Write the wall times of all runs as JSON, in the form of hyperfine
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    pub(crate) export_json: Option<PathBuf>,
    /// Write a summary of the wall times as CSV, in the form of hyperfine
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    pub(crate) export_csv: Option<PathBuf>,
    /// Write a summary of the wall times as a Markdown table, in the form of hyperfine
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Write a summary of the wall times as an AsciiDoc table, in the form of hyperfine
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    pub(crate) export_asciidoc: Option<PathBuf>,
}

impl OutputFlags {
    /// The forms as plain data.
    pub(crate) fn forms(&self) -> Forms {
        let OutputFlags { json, markdown, html, github, quiet: _ } = self.clone();
        Forms { json, markdown, html, github, exports: Vec::new() }
    }

    /// The progress line, and whether the verdict keeps its runs.
    pub(crate) fn told(&self, forms: &Forms) -> Told {
        let progress = Box::new(settings::Told(Line::new(self.quiet)));
        Told { progress, keep_runs: forms.need_runs() }
    }
}

impl ExportFlags {
    /// These forms, in addition to others.
    pub(crate) fn with(&self, forms: Forms) -> Forms {
        let all: [(_, _, OfRuns); 4] = [
            ("--export-json", &self.export_json, hyperfine::json),
            ("--export-csv", &self.export_csv, hyperfine::csv),
            ("--export-markdown", &self.export_markdown, hyperfine::markdown),
            ("--export-asciidoc", &self.export_asciidoc, hyperfine::asciidoc),
        ];
        let given = all
            .into_iter()
            .filter_map(|(flag, path, text)| Some(Export { flag, path: path.clone()?, text }));
        Forms { exports: given.collect(), ..forms }
    }
}

impl RunFlags {
    /// The same as plain data, for a question about one metric.
    pub(crate) fn plan(&self) -> Result<Runs, Failure> {
        match self.metric.as_slice() {
            [] => Ok(self.with(None)),
            [metric] => Ok(self.with(Some(metric))),
            _ => Err(Failure::new(
                "this question is about one metric",
                "give --metric once (unc compare takes several; --suite asks several questions)",
            )),
        }
    }

    /// The same as plain data, for this metric, or the usual one.
    pub(crate) fn with(&self, metric: Option<&str>) -> Runs {
        Runs {
            metric: metric.map(str::to_owned),
            setup: self.setup.clone(),
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            cleanup: self.cleanup.clone(),
            warmup: self.warmup,
            timeout: self.timeout,
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            shell: if self.no_shell { "none".to_string() } else { self.shell.clone() },
            input: self.input.clone(),
            show_output: self.show_output,
        }
    }
}

impl StopFlags {
    /// The same as plain data.
    pub(crate) fn plan(&self) -> Limits {
        Limits {
            max_error: self.max_error.unwrap_or(DEFAULT_ERROR),
            max_runs: self.max_runs,
            max_time: self.max_time,
            log: self.log.clone(),
        }
    }
}

/// What of a report is shown, and where it goes: the same for every command that reports on a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ViewFlags {
    /// Write the report as text, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write the report as JSON (schema uncontended.run/1)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write total waits by stack, in the folded format of flame graphs
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write the newest waits, holds and spans of each thread as a trace for Perfetto
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Show only locks of this number (#3), or whose kind, class, code or address contains PATTERN, in which `*` stands
    /// for any characters
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Option<String>,
    /// Name locks and stacks by the code outside functions, files and modules that match PATTERN, in which `*` stands
    /// for any characters (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) skip_frames: Vec<String>,
    /// Look for debug information, or for what ran, in DIR as well as in /usr/lib/debug (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,
    /// Show the N costliest locks
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1..=u64::MAX))]
    pub(crate) top: usize,
}

impl ViewFlags {
    /// The same as plain data.
    pub(crate) fn plan(self) -> View {
        let ViewFlags {
            report,
            json,
            html,
            folded,
            perfetto,
            only,
            skip_frames,
            debug_dir: debug_dirs,
            top,
        } = self;
        View { report, json, html, folded, perfetto, only, skip_frames, debug_dirs, top }
    }
}
