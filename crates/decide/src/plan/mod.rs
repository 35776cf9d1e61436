//! A question and how to answer it, as plain data: values, counts or commands, how to run these, and when to stop.
//!
//! # Contract
//! A plan comes from flags or from a table of a suite, and does not depend on which. It is checked as far as possible
//! before anything runs; [`Plan::verdict`] executes it.
//! # Evidence
//! `crates/cli/tests/decide_slo.rs`, `decide_compare.rs`, `decide_permute.rs`, `decide_suite.rs`.

pub mod aspect;
pub mod compare;
mod keys;
pub mod permute;
pub mod record;
pub mod sessions;
pub mod slo;

pub use compare::ComparePlan;
pub use keys::Keys;
pub use permute::PermutePlan;
pub use record::RecordPlan;
pub use slo::SloPlan;

use crate::around::{Around, Lines};
use crate::metric::Metric;
use crate::progress::Progress;
use crate::runner::{Launch, Shell};
use crate::session::Setting;
use crate::verdict::Verdict;
use crate::{Failure, value, words};
use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uncontended_figures::text::several;
use uncontended_figures::{Dimension, at_most_percent, given};

/// A question with everything needed to answer it.
pub trait Plan: Debug {
    /// The files that it reads and writes.
    fn files(&self) -> Files<'_>;

    /// Asks the question and returns the verdict.
    ///
    /// # Errors
    /// If it makes no sense, cannot be run, or cannot be read.
    fn verdict(&self, told: Told) -> Result<Verdict, Failure>;
}

/// The files of a plan.
#[derive(Debug, Default)]
pub struct Files<'a> {
    /// What it reads, by the keys that name them.
    pub read: Vec<(&'static str, &'a Path)>,
    /// Where it keeps the question and every run.
    pub log: Option<&'a Path>,
}

/// The progress line, and what the verdict keeps.
#[derive(Debug)]
pub struct Told {
    /// Where progress is shown.
    pub progress: Box<dyn Progress>,
    /// Whether the verdict keeps every run.
    pub keep_runs: bool,
}

/// The metric, if none is named.
pub const DEFAULT_METRIC: &str = "wall";

/// How to run commands, and what to read from a run.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The metric, by its name; none is [`DEFAULT_METRIC`], or that of a recorded baseline.
    pub metric: Option<String>,
    /// Run once before all runs.
    pub setup: Option<String>,
    /// Run before every measured run: one for all commands, or one per command.
    pub prepare: Vec<String>,
    /// Run after every measured run: one for all commands, or one per command.
    pub conclude: Vec<String>,
    /// Run once after all runs.
    pub cleanup: Option<String>,
    /// Warm-up runs of each command, made first and not counted.
    pub warmup: u64,
    /// When to kill a run.
    pub timeout: Option<Duration>,
    /// Environment variables of the commands.
    pub environment: Vec<(String, String)>,
    /// Their working directory.
    pub directory: Option<PathBuf>,
    /// How to interpret command lines: `auto`, `none`, or a shell with its arguments.
    pub shell: String,
    /// Their standard input.
    pub input: Option<PathBuf>,
    /// Whether to show what they print.
    pub show_output: bool,
}

impl Runs {
    /// From the keys of a suite's table.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn from_keys(keys: &mut Keys) -> Result<Runs, String> {
        let variables = keys.texts("env")?;
        Ok(Runs {
            metric: keys.text("metric")?,
            setup: keys.text("setup")?,
            prepare: keys.texts("prepare")?,
            conclude: keys.texts("conclude")?,
            cleanup: keys.text("cleanup")?,
            warmup: keys.whole("warmup", 0..=u64::MAX)?.unwrap_or(0),
            timeout: keys.read("timeout", value::duration)?,
            environment: variables.iter().map(|text| variable(text)).collect::<Result<_, _>>()?,
            directory: keys.text("dir")?.map(PathBuf::from),
            shell: keys.text("shell")?.unwrap_or_else(|| "auto".to_string()),
            input: keys.text("input")?.map(PathBuf::from),
            show_output: keys.flag("show-output")?,
        })
    }

    /// The commands' standard input.
    fn input(&self) -> Option<(&'static str, &Path)> {
        self.input.as_deref().map(|path| ("input", path))
    }

    /// The metric's name.
    #[must_use]
    pub fn metric_name(&self) -> &str {
        self.metric.as_deref().unwrap_or(DEFAULT_METRIC)
    }

    /// The metric of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn metric(&self) -> Result<Metric, Failure> {
        Metric::parse(self.metric_name()).map_err(|cause| Failure::new(cause, "see `Runs::metric`"))
    }

    /// How to start commands.
    ///
    /// # Errors
    /// If the shell, the directory or the input does not exist.
    pub fn launch(&self) -> Result<Launch, Failure> {
        let shell = match self.shell.as_str() {
            "auto" => Shell::Auto,
            "none" => Shell::None,
            program => {
                let words = words::split(program)
                    .map_err(|cause| Failure::new(cause, "see `Runs::shell`"))?;
                if words.is_empty() {
                    let remedy = "use auto, none or a shell's path";
                    return Err(Failure::new("`Runs::shell` is empty", remedy));
                }
                Shell::Program(words)
            }
        };
        if let Some(folder) = self.directory.as_ref().filter(|folder| !folder.is_dir()) {
            let cause =
                format!("`Runs::directory` {}: there is no such directory", folder.display());
            return Err(Failure::new(cause, "name a directory that exists"));
        }
        if let Some(path) = &self.input {
            File::open(path).map_err(|error| {
                let cause = format!("`Runs::input` {}: {error}", path.display());
                Failure::new(cause, "name a file that can be read")
            })?;
        }
        Ok(Launch {
            shell,
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            timeout: self.timeout,
            input: self.input.clone(),
            show_output: self.show_output,
        })
    }

    /// The commands around the runs of `count` commands.
    ///
    /// # Errors
    /// If one cannot be parsed, or their number does not fit.
    pub fn around(&self, launch: &Launch, count: usize) -> Result<Around, Failure> {
        let lines = Lines {
            setup: self.setup.as_deref(),
            prepare: &self.prepare,
            conclude: &self.conclude,
            cleanup: self.cleanup.as_deref(),
        };
        Around::new(lines, launch, count)
    }
}

/// The longest time for runs of commands, if neither that nor their number is given.
pub const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// When to stop, and what to keep.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest chance of a wrong verdict, over all looks together.
    pub max_error: f64,
    /// Most runs of each command.
    pub max_runs: Option<u64>,
    /// Longest time; none is [`DEFAULT_TIME`] for runs of commands, unless their number is given.
    pub max_time: Option<Duration>,
    /// Where to keep the question and every run.
    pub log: Option<PathBuf>,
}

impl Limits {
    /// From the keys of a suite's table; the error is the suite's.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn from_keys(keys: &mut Keys, max_error: f64) -> Result<Limits, String> {
        Ok(Limits {
            max_error,
            max_runs: keys.whole("max-runs", 1..=u64::MAX)?,
            max_time: keys.read("max-time", value::duration)?,
            log: keys.text("log")?.map(PathBuf::from),
        })
    }

    /// These limits for runs of commands.
    #[must_use]
    pub(crate) fn of_runs(&self) -> Limits {
        let default = self.max_runs.is_none().then_some(DEFAULT_TIME);
        Limits { max_time: self.max_time.or(default), ..self.clone() }
    }

    /// The budget as a sentence.
    #[must_use]
    pub fn sentence(&self, max_runs: Option<u64>) -> String {
        let runs = max_runs.map(|runs| format!(", at most {}", several(runs, "run", "runs")));
        let time = self
            .max_time
            .map(|time| format!(", at most {}", given(time.as_nanos() as f64, Dimension::Time)));
        format!(
            "error at most {}{}{}",
            at_most_percent(self.max_error),
            runs.unwrap_or_default(),
            time.unwrap_or_default()
        )
    }

    /// What a session needs in addition to the question.
    fn setting(
        &self,
        seed: u64,
        most_runs: Option<u64>,
        warnings: Vec<String>,
        keep_runs: bool,
    ) -> Setting<'_> {
        let (most_time, log) = (self.max_time, self.log.as_deref());
        Setting { seed, warnings, most_runs, most_time, log, keep_runs, circumstances: None }
    }
}

/// Reads a variable and its value: `NAME=VALUE`.
///
/// # Errors
/// If it does not have that form.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_string(), value.to_string())),
        _ => Err(format!("'{text}' is not of the form NAME=VALUE")),
    }
}
