//! Running commands to measure them: fresh processes, one at a time.
//!
//! # Contract
//! A run is a fresh process in a process group of its own, its standard input `/dev/null` unless a file is named. What
//! goes wrong with the *measurement* (no such program, no metric on its output) is a [`Failure`]; what goes wrong with
//! the *program* (a status other than zero, a signal, a time-out) is a [`Run`] that says so.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`, `crates/cli/benches/what_does_a_run_cost.rs`.

use crate::Failure;
use crate::metric::Metric;
use crate::record::{Outcome, Run};
use crate::words;
use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_figures::Dimension;
use uncontended_sys::supervise::{self, Ended};

/// How commands are started.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// Which shell reads command lines.
    pub shell: Shell,
    /// Working directory, if another than ours.
    pub directory: Option<PathBuf>,
    /// Variables added to our environment.
    pub environment: Vec<(String, String)>,
    /// A run that takes longer is killed and has failed.
    pub timeout: Option<Duration>,
    /// What standard input is read from; nothing otherwise.
    pub input: Option<PathBuf>,
    /// Whether what the command prints is shown.
    pub show_output: bool,
}

/// What splits a command line into words.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Shell {
    /// Ourselves where that means the same, else `/bin/sh`.
    #[default]
    Auto,
    /// Ourselves.
    None,
    /// This program with its arguments, then `-c`.
    Program(Vec<String>),
}

/// A command ready to be started any number of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// As the user wrote it.
    pub line: String,
    words: Vec<String>,
    shell: bool,
}

impl Prepared {
    /// A command given as one line.
    pub fn from_line(line: &str, launch: &Launch) -> Result<Prepared, Failure> {
        let shell = match &launch.shell {
            Shell::Auto if words::needs_shell(line) => Some(vec!["/bin/sh".to_string()]),
            Shell::Auto | Shell::None => None,
            Shell::Program(program) => Some(program.clone()),
        };
        let is_shell = shell.is_some();
        let words = match shell {
            Some(mut words) => {
                words.extend(["-c".to_string(), line.to_string()]);
                words
            }
            None => words::split(line).map_err(|cause| Failure::new(cause, ""))?,
        };
        if line.trim().is_empty() || words.is_empty() {
            return Err(Failure::new("a command is empty", "name the program to run"));
        }
        Ok(Prepared { line: line.to_string(), words, shell: is_shell })
    }

    /// A command given as words: no shell ever sees it. A single word is a line.
    pub fn from_words(words: &[String], launch: &Launch) -> Result<Prepared, Failure> {
        match words {
            [line] => Prepared::from_line(line, launch),
            _ => Ok(Prepared { line: words::join(words), words: words.to_vec(), shell: false }),
        }
    }
}

impl Prepared {
    /// Whether its program is nowhere to be found, so that the line is more likely an argument of the one before it.
    pub fn is_no_program(&self, launch: &Launch) -> bool {
        let Some(program) = self.words.first().filter(|_| !self.shell) else { return false };
        if program.contains('/') {
            let folder = launch.directory.clone().unwrap_or_default();
            return !folder.join(program).exists();
        }
        let own = launch.environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map(|(_, path)| path.into()).or_else(|| std::env::var_os("PATH"));
        !std::env::split_paths(&path.unwrap_or_default())
            .any(|folder| folder.join(program).exists())
    }
}

/// Starts commands and reads their metric.
#[derive(Debug)]
pub struct Runner {
    launch: Launch,
    metric: Metric,
    /// The dimension that thresholds have, where the user fixed one.
    dimension: Option<Dimension>,
    run_json: Option<PathBuf>,
    /// When a run in flight is ended, since the trial has had twice its time.
    deadline: Option<Instant>,
}

impl Runner {
    /// A runner of commands for one metric, in the dimension of the threshold (any, if `None`).
    pub fn new(
        launch: Launch,
        metric: Metric,
        dimension: Option<Dimension>,
    ) -> Result<Runner, Failure> {
        let run_json = match metric.reads_run() {
            true => Some(private_folder()?.join("run.json")),
            false => None,
        };
        Ok(Runner { launch, metric, dimension, run_json, deadline: None })
    }

    /// Ends what still runs after twice this time.
    pub fn limit(&mut self, most: Option<Duration>) {
        self.deadline = most.and_then(|most| Instant::now().checked_add(most.saturating_mul(2)));
    }

    /// Whether that time is over: then what was just ended says nothing.
    pub fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs `prepared` once and reads the metric.
    pub fn measure(&mut self, prepared: &Prepared) -> Result<Run, Failure> {
        let mut words = prepared.words.clone();
        if let Some(path) = &self.run_json {
            let own = std::env::current_exe()
                .map_err(|error| Failure::new(format!("cannot find unc itself: {error}"), ""))?;
            let _ = std::fs::remove_file(path);
            let observe = ["run", "--quiet", "--no-history", "--json"].map(String::from);
            let mut observed = vec![own.to_string_lossy().into_owned()];
            observed.extend(observe);
            observed.extend([path.to_string_lossy().into_owned(), "--".to_string()]);
            observed.append(&mut words);
            words = observed;
        }
        let keep = self.metric.reads_output();
        let ended = self.run(prepared, &words, self.launch.timeout, keep)?;
        let status = ended.code.or(ended.signal.map(|signal| 128 + signal)).unwrap_or(0);
        let outcome = match status {
            _ if ended.timed_out => Outcome::TimedOut,
            0 => Outcome::Ok,
            _ if self.metric.is_exit_status() => Outcome::Ok,
            status => Outcome::Failed(status),
        };
        self.refuse_what_never_ran(prepared, status)?;
        let json = self.run_json.as_ref().and_then(|path| std::fs::read(path).ok());
        let value = match self.metric.read(&ended, json.as_deref()) {
            // Where nothing else fixes the dimension, the first run does.
            Ok(read) if *self.dimension.get_or_insert(read.dimension) == read.dimension => {
                Some(read.value)
            }
            _ if outcome != Outcome::Ok => None,
            Ok(_) => {
                return Err(self.no_metric(
                    prepared,
                    "its number has another unit than the threshold or the earlier ones",
                ));
            }
            Err(why) => return Err(self.no_metric(prepared, &why)),
        };
        let wall_ns = Some(u64::try_from(ended.wall.as_nanos()).unwrap_or(u64::MAX));
        Ok(Run { arm: 0, value, outcome, wall_ns, stored: false })
    }

    /// Runs a command around the measured ones; it must succeed.
    pub fn around(&self, role: &str, prepared: &Prepared) -> Result<(), Failure> {
        let ended = self.run(prepared, &prepared.words, None, false)?;
        match (ended.code, ended.signal) {
            (Some(0), _) => Ok(()),
            (Some(code), _) => Err(Failure::new(
                format!("the {role} command '{}' failed with status {code}", prepared.line),
                "see what it prints with --show-output",
            )),
            _ => Err(Failure::new(
                format!("a signal ended the {role} command '{}'", prepared.line),
                "see what it prints with --show-output",
            )),
        }
    }

    fn run(
        &self,
        prepared: &Prepared,
        words: &[String],
        timeout: Option<Duration>,
        keep: bool,
    ) -> Result<Ended, Failure> {
        let failed = |error: io::Error| not_started(&words[0], &prepared.line, &error);
        let input = match &self.launch.input {
            Some(path) => File::open(path)
                .map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))?
                .into(),
            None => Stdio::null(),
        };
        let shown = || if self.launch.show_output { Stdio::inherit() } else { Stdio::null() };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(input).stderr(shown()).process_group(0);
        command.stdout(if keep { Stdio::piped() } else { shown() });
        command.envs(self.launch.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.launch.directory {
            command.current_dir(directory);
        }
        if self.metric.is_max_rss() {
            supervise::start_small(&mut command);
        }
        let started = Instant::now();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(started));
        let timeout = [timeout, left].into_iter().flatten().min();
        let child = command.spawn().map_err(failed)?;
        supervise::supervise(child, started, timeout).map_err(failed)
    }

    /// A shell answers 127 for a program that is not there and 126 for one that cannot be executed, `unc run` likewise,
    /// and 125 for its own failures: that says nothing about the program.
    fn refuse_what_never_ran(&self, prepared: &Prepared, status: i32) -> Result<(), Failure> {
        let why = match status {
            127 => "was not found",
            126 => "cannot be executed",
            125 if self.metric.reads_run() => "could not be observed (see unc run on it)",
            _ => return Ok(()),
        };
        if !prepared.shell && !self.metric.reads_run() || self.metric.is_exit_status() {
            return Ok(());
        }
        Err(Failure::new(
            format!("the program of '{}' {why} (status {status})", prepared.line),
            "check the command line, PATH and --dir",
        ))
    }

    fn no_metric(&self, prepared: &Prepared, why: &str) -> Failure {
        Failure::new(
            format!("'{}' did not show the metric {}: {why}", prepared.line, self.metric.name),
            "run it by hand and compare what it prints with --metric",
        )
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(path) = &self.run_json {
            // It is ours alone; what cannot be removed is left to the system.
            let _ = path.parent().map(std::fs::remove_dir_all);
        }
    }
}

/// A new folder that nobody else can enter.
fn private_folder() -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("unc-{:016x}", crate::seed(None)));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&path)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display()), "see TMPDIR"))?;
    Ok(path)
}

fn not_started(program: &str, line: &str, error: &io::Error) -> Failure {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => format!("'{program}' was not found"),
        io::ErrorKind::PermissionDenied => format!("'{program}' cannot be executed: {error}"),
        _ => format!("'{line}' could not be run: {error}"),
    };
    Failure::new(cause, "check the command line, PATH and --dir")
}
