//! Kept runs: one plain file each under the XDG state directory.
//!
//! # Contract
//! `<state>/uncontended/runs/<number>.jsonl` holds two lines of JSON: a summary, then the report. Listing reads only
//! summaries. A file appears completely or not at all, a number is never reused while its run is kept, and two `unc`
//! may add at once: each claims a number by creating its file, and replaces that by rename. An empty claim left by a
//! crash does not count as a run and is skipped. At most [`KEEP_RUNS`] runs and [`KEEP_BYTES`] are kept; the oldest are
//! removed first, the newest never. An entry takes at most 2 MiB ([`ENTRY_BYTES`] for its report): rows beyond that are
//! summed in rows of others. Larger ones, which earlier versions kept, are removed before the rest. Directory and files
//! are accessible to the user alone, since command lines may hold secrets.
//!
//! Plain files rather than an embedded database: the only queries are a list and one run by number, and a directory
//! answers both. Other tools can read the files, they outlive this program's versions, and they need no repair and no
//! dependency.
//! # Evidence
//! `tests/history.rs`.
//! # Sources
//! XDG Base Directory Specification 0.8.

mod bound;
mod diff;

pub use bound::{ENTRY_BYTES, OTHERS};
pub use diff::{Change, Diff, Side, diff};

use crate::aggregate::sum;
use crate::run::{Class, RunReport};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most runs that are kept.
pub const KEEP_RUNS: usize = 1_000;
/// The most bytes that all kept runs take together.
pub const KEEP_BYTES: u64 = 512 << 20;
/// The value of a summary's `schema`.
pub const SCHEMA: &str = "uncontended.history/1";

/// One run's entry in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The run's number.
    pub number: u64,
    /// When it began, in seconds since 1970.
    pub started_unix_s: u64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// As in the report.
    pub exit_status: i32,
    /// As in the report.
    pub wall_ns: u64,
    /// Total wait of all rows; none if a version before 0.2.0 kept the run.
    #[serde(default)]
    pub all_wait_ns: Option<u64>,
    /// The longest wait of all rows; none if a version before 0.2.0 kept the run.
    #[serde(default)]
    pub all_longest_wait_ns: Option<u64>,
    /// Total wait of all rows of class contention or gate, whose holders cause it.
    pub wait_ns: u64,
    /// The longest wait of these rows.
    pub longest_wait_ns: u64,
    /// Number of findings.
    pub findings: u64,
}

/// The directory of kept runs.
#[derive(Debug, Clone)]
pub struct History {
    folder: PathBuf,
}

/// Why a run could not be kept or read back.
#[derive(Debug)]
pub enum HistoryError {
    /// Neither `XDG_STATE_HOME` nor `HOME` names an absolute path.
    NoHome,
    /// A file or folder could not be used.
    Io(PathBuf, io::Error),
    /// No run has this number.
    NoSuchRun(u64),
    /// The file of this run is not what this version writes.
    Damaged(PathBuf, String),
}

impl std::fmt::Display for HistoryError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HistoryError::NoHome => {
                write!(out, "neither XDG_STATE_HOME nor HOME names an absolute path")
            }
            HistoryError::Io(path, error) => write!(out, "{}: {error}", path.display()),
            HistoryError::NoSuchRun(number) => write!(out, "there is no run {number}"),
            HistoryError::Damaged(path, why) => write!(out, "{} is damaged: {why}", path.display()),
        }
    }
}

impl std::error::Error for HistoryError {}

impl History {
    /// The user's history. Nothing is created before a run is added.
    ///
    /// # Errors
    /// [`HistoryError::NoHome`].
    pub fn of_user() -> Result<History, HistoryError> {
        Ok(History::at(state_folder()?.join("runs")))
    }

    /// A history in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> History {
        History { folder: folder.into() }
    }

    /// Keeps `report` of a run that began `started_unix_s` seconds after 1970, and returns its number.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if the directory cannot be written; earlier runs are untouched.
    pub fn add(&self, report: &RunReport, started_unix_s: u64) -> Result<u64, HistoryError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| HistoryError::Io(path, error)
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(io(&self.folder))?;
        let number = self.claim()?;
        let path = self.path(number);
        let summary = summary(report, number, started_unix_s);
        let report = bound::bounded(report);
        let summary = Summary { command: report.command.clone(), ..summary };
        let partial = self.folder.join(format!(".{number}.partial"));
        let written =
            write(&partial, &summary, &report).and_then(|()| std::fs::rename(&partial, &path));
        if let Err(error) = written {
            // Remove the claim and the partial file; if even that fails, readers skip an empty claim.
            let _ = (std::fs::remove_file(&partial), std::fs::remove_file(&path));
            return Err(HistoryError::Io(path, error));
        }
        self.prune(number);
        Ok(number)
    }

    /// Summaries of all kept runs, oldest first. Other files are skipped.
    ///
    /// # Errors
    /// [`HistoryError::Io`] if the directory exists but cannot be read.
    pub fn list(&self) -> Result<Vec<Summary>, HistoryError> {
        let numbers = self.numbers()?;
        Ok(numbers
            .into_iter()
            .filter_map(|(number, _)| read_summary(&self.path(number)).ok())
            .collect())
    }

    /// The number of the newest run.
    ///
    /// # Errors
    /// As [`History::list`]; [`HistoryError::NoSuchRun`] if there is none.
    pub fn last(&self) -> Result<u64, HistoryError> {
        let is_run = |&(_, size): &(u64, u64)| size > 0;
        self.numbers()?
            .into_iter()
            .filter(is_run)
            .map(|(number, _)| number)
            .max()
            .ok_or(HistoryError::NoSuchRun(0))
    }

    /// One run.
    ///
    /// # Errors
    /// [`HistoryError::NoSuchRun`], [`HistoryError::Io`], [`HistoryError::Damaged`].
    pub fn load(&self, number: u64) -> Result<(Summary, RunReport), HistoryError> {
        let path = self.path(number);
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => HistoryError::NoSuchRun(number),
            _ => HistoryError::Io(path.clone(), error),
        })?;
        if text.is_empty() {
            return Err(HistoryError::NoSuchRun(number));
        }
        let damaged = |why: String| HistoryError::Damaged(path.clone(), why);
        let (first, second) =
            text.split_once('\n').ok_or_else(|| damaged("the report is missing".to_owned()))?;
        let summary: Summary =
            serde_json::from_str(first).map_err(|error| damaged(error.to_string()))?;
        let report: RunReport =
            serde_json::from_str(second).map_err(|error| damaged(error.to_string()))?;
        Ok((summary, report))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.jsonl"))
    }

    /// Claims the next number by creating its file.
    fn claim(&self) -> Result<u64, HistoryError> {
        let mut number = self.numbers()?.last().map_or(0, |&(number, _)| number);
        loop {
            number += 1;
            let path = self.path(number);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(_) => return Ok(number),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(HistoryError::Io(path, error)),
            }
        }
    }

    /// Numbers and sizes of all files, ascending; none if there is no directory yet.
    fn numbers(&self) -> Result<Vec<(u64, u64)>, HistoryError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(HistoryError::Io(self.folder.clone(), error)),
            Ok(entries) => entries,
        };
        let mut numbers: Vec<(u64, u64)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let number = entry.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok()?;
                Some((number, entry.metadata().ok()?.len()))
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Removes the oldest runs until the rest is within bounds. A file that cannot be removed stays.
    fn prune(&self, newest: u64) {
        let Ok(numbers) = self.numbers() else { return };
        let (mut runs, mut bytes) =
            (numbers.len(), numbers.iter().map(|&(_, size)| size).sum::<u64>());
        let is_large = |size: u64| size > 2 * ENTRY_BYTES as u64;
        let (large, others): (Vec<_>, Vec<_>) =
            numbers.into_iter().partition(|&(_, size)| is_large(size) && bytes > KEEP_BYTES);
        for (number, size) in large.into_iter().chain(others) {
            if runs <= KEEP_RUNS && bytes <= KEEP_BYTES {
                return;
            }
            if number >= newest {
                continue;
            }
            if std::fs::remove_file(self.path(number)).is_ok() {
                runs -= 1;
                bytes -= size;
            }
        }
    }
}

/// The user's folder for what is kept.
pub(crate) fn state_folder() -> Result<PathBuf, HistoryError> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Ok(state.ok_or(HistoryError::NoHome)?.join("uncontended"))
}

fn summary(report: &RunReport, number: u64, started_unix_s: u64) -> Summary {
    let waits = |wanted: fn(Class) -> bool| {
        let locks = report.processes.iter().flat_map(|process| &process.locks);
        locks.filter(move |lock| wanted(lock.class)).filter_map(|lock| lock.wait_ns.as_ref())
    };
    let total = |wanted: fn(Class) -> bool| sum(waits(wanted).map(|wait| wait.total));
    let is_contention: fn(Class) -> bool = Class::is_caused_by_holders;
    Summary {
        schema: SCHEMA.to_owned(),
        number,
        started_unix_s,
        command: report.command.clone(),
        exit_status: report.exit_status,
        wall_ns: report.wall_ns,
        all_wait_ns: Some(total(|_| true)),
        wait_ns: total(is_contention),
        all_longest_wait_ns: Some(waits(|_| true).map(|wait| wait.max).max().unwrap_or(0)),
        longest_wait_ns: waits(is_contention).map(|wait| wait.max).max().unwrap_or(0),
        findings: report.findings.len() as u64,
    }
}

fn write(path: &Path, summary: &Summary, report: &RunReport) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut out = io::BufWriter::new(file);
    serde_json::to_writer(&mut out, summary)?;
    out.write_all(b"\n")?;
    serde_json::to_writer(&mut out, report)?;
    out.write_all(b"\n")?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    // The rename must not reach the disk before the content.
    file.sync_data()
}

fn read_summary(path: &Path) -> io::Result<Summary> {
    let mut line = String::new();
    BufReader::new(File::open(path)?).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
