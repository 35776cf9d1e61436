//! `unc track`: keeps the figures of verdicts, and says whether the newest shows a change.

use super::verdict::recomputed;
use crate::console::{complain, say, tell};
use crate::deliver::{refuse, write_failure};
use crate::emit;
use crate::files::{self, Named};
use crate::github::{self, Level};
use crate::settings;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use uncontended_decide::origin::revision;
use uncontended_decide::{Failure, value};
use uncontended_figures::read::whole;
use uncontended_report::history::HistoryError;
use uncontended_report::terminal;
use uncontended_report::track::{self, About, Kept, Newest, Tracked, Verdicts};
use uncontended_stats::MaxError;
use uncontended_sys::filelock::exclusive;

pub(crate) use uncontended_report::track::SCHEMA;

const EXAMPLES: &str = "\
Examples:
  unc slo --quantile p90 --at-most 5ms --log v.log -- ./request && unc track v.log
  unc compare --log v.log -- ./reference ./new; unc track v.log
  unc record -o r.log -- ./request && unc track r.log
  unc track                           every series, with its last change
  unc track --show 2                  one series: its changes and its newest verdicts
  unc track --html history.html       a page with a chart of each series

Of `unc slo` and `unc record` the median is kept (or the percentile asked about), of `unc compare` the ratio to the baseline. Verdicts \
form a series if the command, the figure and the machine's processor are the same; --name names it instead of the \
command. A change is a shift of the figures, noticed by their ranks: whatever their distribution, a series that does not \
change has on average at most --max-error false changes per verdict. After a change the comparison starts again. A series \
that wanders is not covered.

Verdicts are kept in $XDG_STATE_HOME/uncontended/verdicts.jsonl (~/.local/state by default), one line each, readable only \
by you, and never removed. In CI, keep the file of --file between jobs.

Exit status of `unc track LOG` and `unc track --show`: 0 no change, or one for the better; 1 with the newest verdict a \
change for the worse was noticed; 3 too little history for a change to be noticed; 2 a file cannot be read or written. Of \
several series, 1 comes before 3. The list alone: 0.";

/// Keep the figures of verdicts, and say whether the newest shows a change
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Logs of verdicts to add, as --log and `unc record` write them, oldest first
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Name the series, instead of by its command
    #[arg(long, value_name = "NAME", requires = "logs")]
    name: Option<String>,
    /// The revision that was measured [default: the one in the log; for older logs, the commit that git has checked out
    /// here]
    #[arg(long, value_name = "REV", requires = "logs")]
    revision: Option<String>,
    /// Which figure of a comparison to follow
    #[arg(long, value_enum, default_value_t, requires = "logs")]
    follow: Follow,
    /// Show one series: its number in the list
    #[arg(long, value_name = "N", conflicts_with = "logs", value_parser = whole::<usize>(1..=u64::MAX))]
    show: Option<usize>,
    /// Show the N newest verdicts of a series
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1..=u64::MAX))]
    top: usize,
    /// Most false changes per verdict, on average
    #[arg(long, value_name = "E", default_value = "0.001", value_parser = value::rate, allow_hyphen_values = true)]
    max_error: f64,
    /// Keep verdicts in this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the series as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with a chart of each series (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// In a step of GitHub Actions: append the series to the job's summary, and annotate the run
    #[arg(long)]
    github: bool,
}

/// How long others may write the file; adding takes them milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A figure of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Follow {
    /// The ratio to the baseline: what slows both commands cancels.
    #[default]
    Ratio,
    /// The candidate's own median.
    Median,
}

impl Flags {
    /// Adds what is to be added, shows it, and returns the exit status.
    pub(crate) fn execute(&self) -> ExitCode {
        let logs = self.logs.iter().map(|log| ("LOG", Some(log.as_path())));
        let read: Vec<Named<'_>> = logs.chain([("--file", self.file.as_deref())]).collect();
        let written = [("--json", self.json.as_deref()), ("--html", self.html.as_deref())];
        if let Err(failure) = files::distinct(&written, &read) {
            return refuse(SCHEMA, &failure, self.json.as_deref());
        }
        match self.answer() {
            Ok(status) => ExitCode::from(status),
            Err(failure) => {
                complain(&failure);
                // The failure itself is what counts; a second one while reporting it adds nothing.
                let _ = write_failure(SCHEMA, &failure, self.json.as_deref());
                ExitCode::from(2)
            }
        }
    }

    fn answer(&self) -> Result<u8, Failure> {
        files::writable([&self.json, &self.html].into_iter().filter_map(|path| path.as_deref()))?;
        if self.github {
            github::summary()?;
        }
        let max_error = MaxError::new(self.max_error)
            .map_err(|error| Failure::new(error.to_string(), "--max-error is between 0 and 1"))?;
        let verdicts = match &self.file {
            Some(path) => Verdicts::at(path),
            None => Verdicts::of_user().map_err(|error| self.failure(&error))?,
        };
        let mut added: Vec<Kept> = Vec::new();
        for log in &self.logs {
            added.extend(self.figures(log)?);
        }
        self.add(&verdicts, &added)?;
        let lines = verdicts.read().map_err(|error| self.failure(&error))?;
        let all = track::tracked(lines, max_error);
        if let Some(path) = &self.html {
            files::write(path, track::page(&all))?;
        }
        let shown = match self.show {
            Some(number) if number > all.series.len() => return Err(no_series(number)),
            Some(number) => all.only(|series| series.number == number),
            None if self.logs.is_empty() => all,
            None => all.only(|series| added.iter().any(|kept| kept.of == series.of)),
        };
        if let Some(path) = &self.json {
            files::write(path, &emit::json(&shown)?)?;
        }
        self.print(&shown)?;
        self.tell_github(&shown)?;
        Ok(if self.is_list() { 0 } else { shown.newest.exit_status() })
    }

    /// Adds figures to those that are kept, one process at a time: what is there already is not added again.
    fn add(&self, verdicts: &Verdicts, figures: &[Kept]) -> Result<(), Failure> {
        if figures.is_empty() {
            return Ok(());
        }
        if let (Some(_), false) = (&self.file, verdicts.path().exists()) {
            self.begin(verdicts.path())?;
        }
        // Locked until it is closed.
        let file = verdicts.open().map_err(|error| self.failure(&error))?;
        let path = verdicts.path().display();
        let is_ours = exclusive(&file, PATIENCE).map_err(|error| {
            let remedy = "name a file on a local file system with --file";
            Failure::new(format!("{path} cannot be locked: {}", files::why(&error)), remedy)
        })?;
        if !is_ours {
            let remedy = "try again once it has ended; `fuser FILE` tells which one it is";
            let cause = format!("{path} is being written by another process");
            return Err(Failure::new(cause, remedy));
        }
        let new = verdicts.add(figures).map_err(|error| self.failure(&error))?;
        if new < figures.len() {
            let again = told_again(figures.len() - new);
            tell(&format!("{again} is not added again: it is kept already\n"));
        }
        Ok(())
    }

    /// Says that a named file is new: a typo would start another history.
    fn begin(&self, path: &Path) -> Result<(), Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let (path, folder) = (path.display(), folder.display());
            return Err(Failure::new(
                format!("{path}: there is no folder {folder}"),
                "make it, or correct --file: a history that is kept elsewhere would not be seen",
            ));
        }
        tell(&format!("{} is new: its history begins here\n", path.display()));
        Ok(())
    }

    fn is_list(&self) -> bool {
        self.logs.is_empty() && self.show.is_none()
    }

    /// The figures of a log's verdict.
    fn figures(&self, path: &Path) -> Result<Vec<Kept>, Failure> {
        let (verdict, head) = recomputed(path).map_err(settings::failure)?;
        let measured = || match &head.origin {
            Some(origin) => origin.revision.clone(),
            None => revision(Path::new(".")),
        };
        let about = About {
            name: self.name.clone(),
            own_value: self.follow == Follow::Median,
            revision: self.revision.clone().or_else(measured),
            machine: head.machine.clone(),
            now_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
            log: track::log_name(&verdict),
        };
        track::figures(&verdict, &about).map_err(|lacks| {
            Failure::new(
                format!("{} cannot be followed: {lacks}", path.display()),
                "give logs of `unc slo`, `unc record` or `unc compare` whose runs have values",
            )
        })
    }

    /// Annotates a run of GitHub Actions with each series, and appends to its summary, if that was asked for.
    fn tell_github(&self, shown: &Tracked) -> Result<(), Failure> {
        if !self.github {
            return Ok(());
        }
        for series in &shown.series {
            let level = if series.newest == Newest::Worse { Level::Error } else { Level::Notice };
            say(&github::note(level, &series.said()), self.takes_stdout())?;
        }
        github::append(&track::markdown(shown))
    }

    fn takes_stdout(&self) -> bool {
        [&self.json, &self.html].iter().any(|path| path.as_deref() == Some(Path::new("-")))
    }

    fn print(&self, shown: &Tracked) -> Result<(), Failure> {
        let taken = self.takes_stdout();
        let look = match taken {
            true => emit::look(self.top, &std::io::stderr()),
            false => emit::look(self.top, &std::io::stdout()),
        };
        if self.is_list() {
            return say(&terminal::track(shown, &look), taken);
        }
        let each = shown.series.iter().map(|series| terminal::one_series(series, shown, &look));
        say(&each.collect::<Vec<_>>().join("\n"), taken)
    }

    fn failure(&self, error: &HistoryError) -> Failure {
        let flag = "name the file that keeps them with --file";
        match error {
            HistoryError::NoHome => {
                Failure::new(error.to_string(), "set HOME, or name a file with --file")
            }
            HistoryError::Io(path, error) => {
                Failure::new(format!("{}: {}", path.display(), files::why(error)), flag)
            }
            HistoryError::Damaged(path, why) => {
                Failure::new(format!("{}: {why}", path.display()), flag)
            }
            HistoryError::NoSuchRun(_) => Failure::new(error.to_string(), ""),
        }
    }
}

fn told_again(verdicts: usize) -> String {
    match verdicts {
        1 => "a verdict".to_owned(),
        several => format!("each of {several} verdicts"),
    }
}

fn no_series(number: usize) -> Failure {
    Failure::new(format!("there is no series {number}"), "`unc track` lists the series")
}
