//! The raw log: the question, then every run, then why the trial ended. One JSON object per line.
//!
//! # Contract
//! The head is written before the first run, so nothing about the question can depend on the data. Numbers are written
//! in the shortest form that reads back as the same double. A log without an end line was cut short; its runs still
//! count.
//! # Evidence
//! `crates/cli/tests/decide_verdict.rs`, `fuzz/fuzz_targets/verdict_log.rs`.

use crate::Failure;
use crate::circumstances::Circumstances;
use crate::fingerprint::Fingerprint;
use crate::origin::Origin;
use crate::question::Question;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;
use uncontended_sys::supervise::Ended;

/// The value of `schema` in the head.
pub const SCHEMA: &str = "uncontended.verdict-log/1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What is asked.
    pub hypothesis: Question,
    /// Seed of all randomness, as text since it may exceed 2^53.
    pub seed: String,
    /// Warnings that apply whatever the data say.
    pub warnings: Vec<String>,
    /// The machine that wrote the log, when it began; none in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fingerprint>,
    /// When and of what revision; none in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The settings of the commands that were run; none in older logs, or if there were no commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circumstances: Option<Circumstances>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which command; 0 in `slo`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arm: usize,
    /// The metric in its base unit; none if the run failed without reporting it.
    pub value: Option<f64>,
    /// The base unit, if it is printed with the value and so is not known before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Wall time, if a command ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// What it used, if a command ran; none in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the value was stored in an earlier trial, not run with the others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stored: bool,
    /// The further metrics, where several are asked about; a log is about one.
    #[serde(skip)]
    pub more: Vec<Shown>,
}

impl Run {
    /// A successful run of command `arm` that reported `value`.
    #[must_use]
    pub fn of(arm: usize, value: f64) -> Run {
        Run {
            arm,
            value: Some(value),
            unit: None,
            outcome: Outcome::Ok,
            wall_ns: None,
            usage: None,
            stored: false,
            more: Vec::new(),
        }
    }
}

/// The value of a metric, with its unit as in [`Run::unit`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// The value.
    pub value: Option<f64>,
    /// The unit.
    pub unit: Option<String>,
}

/// What the processes of a run used, as the kernel counts it for those that were waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// The largest resident set of any of them.
    pub max_rss_bytes: u64,
}

impl From<&Ended> for Usage {
    fn from(ended: &Ended) -> Usage {
        Usage {
            user_ns: whole_ns(ended.user),
            system_ns: whole_ns(ended.system),
            max_rss_bytes: ended.max_rss_bytes,
        }
    }
}

/// A time in nanoseconds.
pub(crate) fn whole_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// By itself, with status 0 (or any status, if that is the metric).
    Ok,
    /// With another status, or 128 + the signal that ended it.
    Failed(i32),
    /// It was killed at its time limit.
    TimedOut,
}

/// Why no more runs were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The claim is decided.
    Decided,
    /// The budget of runs is spent.
    MaxRuns,
    /// The budget of time is spent.
    MaxTime,
    /// There is no more input.
    EndOfInput,
    /// The user interrupted it.
    Interrupted,
    /// A run failed, or could not be made.
    Failed,
    /// The log breaks off.
    LogCut,
}

/// Refuses a path that cannot hold a log.
///
/// # Errors
/// If it is `-`: standard output is for the verdict.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        let remedy = "name a file; /dev/stderr is one";
        return Err(Failure::new(
            "`Limits::log` - is refused: standard output is for the verdict",
            remedy,
        ));
    }
    Ok(())
}

/// Whether there is a file with something in it, which a new log would replace.
#[must_use]
pub fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0)
}

impl Stop {
    /// The words in JSON and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Decided => "decided",
            Stop::MaxRuns => "max-runs",
            Stop::MaxTime => "max-time",
            Stop::EndOfInput => "end-of-input",
            Stop::Interrupted => "interrupted",
            Stop::Failed => "failed",
            Stop::LogCut => "log-cut",
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first.
    Head(Box<Head>),
    /// One for each run.
    Run(Run),
    /// The last, with the verdict that was given.
    End {
        /// Why no more runs were made.
        stop: Stop,
        /// The verdict that was given.
        verdict: String,
        /// How many resamples a permutation test made: it has no runs of its own.
        #[serde(rename = "dealings", default, skip_serializing_if = "Option::is_none")]
        resamples: Option<u64>,
    },
}

/// A log read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// What was asked.
    pub head: Head,
    /// Every run in order.
    pub runs: Vec<Run>,
    /// Why it ended, and the verdict given; none if the log was cut short.
    pub end: Option<(Stop, String)>,
    /// How many resamples a finished permutation test made.
    pub resamples: Option<u64>,
}

/// Writes one line with a single write.
pub fn write(out: &mut impl Write, line: &Line) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    out.write_all(text.as_bytes())
}

/// Why a line is not one of ours: the parser's message without the number of the line, which is always 1.
fn cause(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", ", at column")
}

/// Reads a log.
///
/// # Errors
/// The number of the first line that is wrong, and why.
pub fn read(source: impl BufRead) -> Result<Log, String> {
    let mut log: Option<Log> = None;
    let mut lines = source.lines().enumerate().peekable();
    while let Some((index, text)) = lines.next() {
        let bad = |why: String| format!("line {}: {why}", index + 1);
        let text = text.map_err(|error| format!("cannot be read: {error}"))?;
        let line = match serde_json::from_str(&text) {
            Ok(line) => line,
            // The writer died in the middle of its last line.
            Err(error) if error.is_eof() && log.is_some() && lines.peek().is_none() => break,
            Err(error) if error.is_data() => {
                return Err(bad(format!("not a line of a log: {}", cause(&error))));
            }
            Err(error) => return Err(bad(format!("not JSON: {}", cause(&error)))),
        };
        match (line, &mut log) {
            (Line::Head(head), None) if head.schema == SCHEMA => {
                log = Some(Log { head: *head, runs: Vec::new(), end: None, resamples: None });
            }
            (Line::Head(head), None) => {
                return Err(bad(format!("its schema is {}, not {SCHEMA}", head.schema)));
            }
            (Line::Head(_), Some(_)) => return Err(bad("a second head".to_string())),
            (_, None) => return Err(bad("no head before it".to_string())),
            (_, Some(Log { end: Some(_), .. })) => return Err(bad("after the end".to_string())),
            (Line::Run(run), Some(log)) => {
                log.head.hypothesis.learn_unit(run.unit.as_deref());
                log.runs.push(run);
            }
            (Line::End { stop, verdict, resamples }, Some(log)) => {
                (log.end, log.resamples) = (Some((stop, verdict)), resamples);
            }
        }
    }
    log.ok_or_else(|| "there is nothing in it".to_string())
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}
