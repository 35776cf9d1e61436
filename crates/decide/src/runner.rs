//! Runs commands to measure them: fresh processes, one at a time.
//!
//! # Contract
//! A run is a fresh process in its own process group, with `/dev/null` as standard input unless a file is named. A
//! problem with the *measurement* (no such program, no metric in its output) is a [`Failure`]; a problem with the
//! *program* (nonzero status, signal, timeout) is a [`Run`] that says so.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`, `crates/cli/benches/what_does_a_run_cost.rs`.

use crate::Failure;
use crate::metric::Metric;
use crate::record::{Outcome, Run, Shown, Usage, whole_ns};
use crate::words;
use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use uncontended_figures::{Dimension, Quantity};
use uncontended_sys::background::Background;
use uncontended_sys::counters::Counter;
use uncontended_sys::supervise::{self, Ended};

/// How to start commands.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// Which shell reads command lines.
    pub shell: Shell,
    /// Working directory, if different from ours.
    pub directory: Option<PathBuf>,
    /// Variables added to our environment.
    pub environment: Vec<(String, String)>,
    /// When to kill a run, which then counts as failed.
    pub timeout: Option<Duration>,
    /// The file for standard input; none means empty.
    pub input: Option<PathBuf>,
    /// Whether to show what the command prints.
    pub show_output: bool,
}

/// What splits a command line into words.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Shell {
    /// We do if that means the same as a shell would, else `/bin/sh`.
    #[default]
    Auto,
    /// We do.
    None,
    /// This program with its arguments, then `-c`.
    Program(Vec<String>),
}

/// A parsed command, ready to be started any number of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// As the user wrote it.
    pub line: String,
    words: Vec<String>,
    shell: bool,
    /// Where it runs, if not where all do.
    directory: Option<PathBuf>,
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
        Ok(Prepared { line: line.to_string(), words, shell: is_shell, directory: None })
    }

    /// A command given as words, which no shell sees. A single word is a command line.
    pub fn from_words(words: &[String], launch: &Launch) -> Result<Prepared, Failure> {
        match words {
            [line] => Prepared::from_line(line, launch),
            _ => Ok(Prepared {
                line: words::join(words),
                words: words.to_vec(),
                shell: false,
                directory: None,
            }),
        }
    }
}

impl Prepared {
    /// The program, or the shell with the line, and its arguments; never empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The same in a directory of its own.
    #[must_use]
    pub fn within(self, directory: PathBuf) -> Prepared {
        Prepared { directory: Some(directory), ..self }
    }

    /// Whether its program cannot be found, which suggests that the line is an argument of the previous command.
    pub fn is_no_program(&self, launch: &Launch) -> bool {
        let Some(program) = self.words.first().filter(|_| !self.shell) else { return false };
        if program.contains('/') {
            let own = self.directory.as_ref().or(launch.directory.as_ref());
            let folder = own.cloned().unwrap_or_default();
            return !folder.join(program).exists();
        }
        let own = launch.environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map(|(_, path)| path.into()).or_else(|| std::env::var_os("PATH"));
        !std::env::split_paths(&path.unwrap_or_default())
            .any(|folder| folder.join(program).exists())
    }
}

/// A metric to read.
#[derive(Debug)]
struct Reading {
    metric: Metric,
    /// The dimension of its values: that of the threshold, or else of the first run.
    dimension: Option<Dimension>,
    /// What printed values are compared with, if that is known.
    threshold: Option<Quantity>,
}

/// Starts commands and reads their metrics.
#[derive(Debug)]
pub struct Runner {
    launch: Launch,
    /// At least one.
    readings: Vec<Reading>,
    run_json: Option<PathBuf>,
    /// When to end a run in progress: at twice the trial's time.
    deadline: Option<Instant>,
}

impl Runner {
    /// A runner of commands for one metric, in the dimension of the threshold (any, if `None`).
    pub fn new(
        launch: Launch,
        metric: Metric,
        dimension: Option<Dimension>,
    ) -> Result<Runner, Failure> {
        let readings = vec![Reading { metric, dimension, threshold: None }];
        Runner { launch, readings, run_json: None, deadline: None }.with_run_json()
    }

    /// The same with a threshold, whose unit a number has that is printed without one.
    #[must_use]
    pub fn for_threshold(mut self, threshold: Quantity) -> Runner {
        for reading in &mut self.readings {
            reading.threshold = Some(threshold);
        }
        self
    }

    /// Also reads these metrics from each run.
    pub fn also(mut self, metrics: Vec<Metric>) -> Result<Runner, Failure> {
        let more =
            metrics.into_iter().map(|metric| Reading { metric, dimension: None, threshold: None });
        self.readings.extend(more);
        self.with_run_json()
    }

    /// With a place for the JSON of `unc run`, if a metric reads it.
    fn with_run_json(mut self) -> Result<Runner, Failure> {
        if self.run_json.is_none() && self.reads(Metric::reads_run) {
            self.run_json = Some(private_folder()?.join("run.json"));
        }
        Ok(self)
    }

    fn reads(&self, kind: fn(&Metric) -> bool) -> bool {
        self.readings.iter().any(|reading| kind(&reading.metric))
    }

    /// Sets the time limit; ends a run in progress at twice that time.
    pub fn limit(&mut self, most: Option<Duration>) {
        self.deadline = most.and_then(|most| Instant::now().checked_add(most.saturating_mul(2)));
    }

    /// Whether that time is over; if so, the run that was just ended does not count.
    pub fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs `prepared` once and reads the metrics.
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
        let keep = self.reads(Metric::reads_output);
        let ended = self.run(prepared, &words, self.launch.timeout, keep)?;
        let status = ended.code.or(ended.signal.map(|signal| 128 + signal)).unwrap_or(0);
        let outcome = match status {
            _ if ended.timed_out => Outcome::TimedOut,
            0 => Outcome::Ok,
            _ if self.reads(Metric::is_exit_status) => Outcome::Ok,
            status => Outcome::Failed(status),
        };
        self.refuse_what_never_ran(prepared, status)?;
        let json = self.run_json.as_ref().and_then(|path| std::fs::read(path).ok());
        let read = |reading: &mut Reading| {
            let read = reading.read(&ended, json.as_deref());
            match (read, outcome) {
                (Ok(value), _) => Ok(Shown { value: Some(value), unit: reading.unit() }),
                (Err(_), Outcome::Failed(_) | Outcome::TimedOut) => Ok(Shown::default()),
                (Err(why), Outcome::Ok) => Err(reading.is_missing(prepared, &why)),
            }
        };
        let values: Result<Vec<_>, Failure> = self.readings.iter_mut().map(read).collect();
        let mut more = values?;
        let Shown { value, unit } = more.remove(0);
        let (wall_ns, usage) = (Some(whole_ns(ended.wall)), Some(Usage::from(&ended)));
        Ok(Run { arm: 0, value, unit, outcome, wall_ns, usage, stored: false, more })
    }

    /// Runs a setup, prepare, conclude or cleanup command; it must succeed.
    pub fn around(&self, role: &str, prepared: &Prepared) -> Result<(), Failure> {
        let ended = self.run(prepared, &prepared.words, None, false)?;
        match (ended.code, ended.signal) {
            (Some(0), _) => Ok(()),
            (Some(code), _) => Err(Failure::new(
                format!("the {role} command '{}' failed with status {code}", prepared.line),
                "see what it prints with `Runs::show_output`",
            )),
            _ => Err(Failure::new(
                format!("a signal ended the {role} command '{}'", prepared.line),
                "see what it prints with `Runs::show_output`",
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
        let mut command = self.command(prepared, words);
        command.stdin(input).process_group(0);
        if keep {
            command.stdout(Stdio::piped());
        }
        if self.reads(Metric::is_max_rss) {
            supervise::start_small(&mut command);
        }
        let counters = self.counters()?;
        let started = Instant::now();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(started));
        let timeout = [timeout, left].into_iter().flatten().min();
        let child = command.spawn().map_err(failed)?;
        supervise::supervise(child, started, timeout, &counters).map_err(failed)
    }

    /// A counter of the next command for each metric that needs one.
    fn counters(&self) -> Result<Vec<Counter>, Failure> {
        let open = |reading: &Reading| {
            let event = reading.metric.event()?;
            Some(Counter::open(event).map_err(|error| cannot_count(&reading.metric.name, &error)))
        };
        self.readings.iter().filter_map(open).collect()
    }

    /// These words in the place and with the variables of the command, without input.
    fn command(&self, prepared: &Prepared, words: &[String]) -> Command {
        let shown = || if self.launch.show_output { Stdio::inherit() } else { Stdio::null() };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(shown()).stderr(shown());
        command.envs(self.launch.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = prepared.directory.as_ref().or(self.launch.directory.as_ref()) {
            command.current_dir(directory);
        }
        command
    }

    /// Starts a command that runs in the background of the measured ones.
    pub(crate) fn background(&self, prepared: &Prepared) -> Result<Background, Failure> {
        Background::start(&mut self.command(prepared, &prepared.words))
            .map_err(|error| not_started(&prepared.words[0], &prepared.line, &error))
    }

    /// Whether a command, which is ended after `limit`, succeeds.
    pub(crate) fn succeeds(&self, prepared: &Prepared, limit: Duration) -> Result<bool, Failure> {
        let ended = self.run(prepared, &prepared.words, Some(limit), false)?;
        Ok(ended.code == Some(0) && !ended.timed_out)
    }

    /// A shell exits with 127 for a program that does not exist and 126 for one that cannot be executed, as `unc run`
    /// does; `unc run` exits with 125 for its own failures. None of these says anything about the program.
    fn refuse_what_never_ran(&self, prepared: &Prepared, status: i32) -> Result<(), Failure> {
        let why = match status {
            127 => "was not found",
            126 => "cannot be executed",
            125 if self.reads(Metric::reads_run) => "could not be observed (see unc run on it)",
            _ => return Ok(()),
        };
        let is_measured = self.reads(Metric::is_exit_status);
        if !prepared.shell && !self.reads(Metric::reads_run) || is_measured {
            return Ok(());
        }
        Err(Failure::new(
            format!("the program of '{}' {why} (status {status})", prepared.line),
            "check the command line, PATH and `Runs::directory`",
        ))
    }
}

impl Reading {
    /// The value, in the dimension of the earlier ones.
    fn read(&mut self, ended: &Ended, run_json: Option<&[u8]>) -> Result<f64, String> {
        let mut read = self.metric.read(ended, run_json)?;
        let is_printed = self.metric.dimension().is_none();
        if let Some(threshold) = self.threshold.filter(|_| is_printed) {
            read = read.in_unit_of(threshold)?;
        }
        if *self.dimension.get_or_insert(read.dimension) != read.dimension {
            let why = "its number has a different unit than the threshold or the earlier values";
            return Err(why.to_owned());
        }
        Ok(read.value)
    }

    /// The base unit of its values, if they show it themselves.
    fn unit(&self) -> Option<String> {
        let printed = self.dimension.filter(|_| self.metric.dimension().is_none())?;
        (printed != Dimension::Number).then(|| printed.unit().to_owned())
    }

    fn is_missing(&self, prepared: &Prepared, why: &str) -> Failure {
        let name = &self.metric.name;
        Failure::new(
            format!("'{}' did not show the metric {name}: {why}", prepared.line),
            "run it by hand and compare what it prints with `Runs::metric`",
        )
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(path) = &self.run_json {
            // It is private; leave it to the system if it cannot be removed.
            let _ = path.parent().map(std::fs::remove_dir_all);
        }
    }
}

/// A new directory that no other user can enter.
pub(crate) fn private_folder() -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("unc-{:016x}", crate::seed(None)));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&path)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display()), "see TMPDIR"))?;
    Ok(path)
}

fn cannot_count(metric: &str, error: &io::Error) -> Failure {
    let (why, remedy) = match error.kind() {
        io::ErrorKind::PermissionDenied => (
            "the kernel does not permit it".to_owned(),
            "run as root, or set kernel.perf_event_paranoid to 1 or less",
        ),
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => (
            "this machine has no such counter, as most virtual machines have none".to_owned(),
            "use another `Runs::metric`, such as user or cpu",
        ),
        _ => (error.to_string(), "use another `Runs::metric`"),
    };
    Failure::new(format!("{metric} cannot be counted: {why}"), remedy)
}

fn not_started(program: &str, line: &str, error: &io::Error) -> Failure {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => format!("'{program}' was not found"),
        io::ErrorKind::PermissionDenied => format!("'{program}' cannot be executed: {error}"),
        _ => format!("'{line}' could not be run: {error}"),
    };
    Failure::new(cause, "check the command line, PATH and `Runs::directory`")
}
