//! `unc history`: the runs that `unc run` kept.

use crate::console::complain;
use crate::emit;
use crate::files;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_figures::read::whole;
use uncontended_report::history::{History, HistoryError, diff};
use uncontended_report::{html, terminal};

const EXAMPLES: &str = "\
Examples:
  unc history                        the newest runs
  unc history show last              the report of the newest run
  unc history show 12 --html a.html  the report of run 12, as a page
  unc history diff 12 last           what changed since run 12

Runs are kept in $XDG_STATE_HOME/uncontended/runs (~/.local/state by default), one file of JSON \
lines each, readable only by you: at most 1000 runs and 512 MiB, after which the oldest are removed. \
`unc run --no-history` keeps none.

Exit status: 0; 2 if a run does not exist or cannot be read.";

/// List, show and compare the runs that `unc run` kept
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Write the list as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show the N newest runs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>(1..=u64::MAX))]
    top: usize,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the report of one run
    Show {
        /// Its number, or `last`
        #[arg(value_name = "N")]
        run: Which,
        /// Write the report as JSON (`-` for stdout)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Write the report as a self-contained HTML page (`-` for stdout)
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Show the N costliest locks
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1..=u64::MAX))]
        top: usize,
    },
    /// Show what changed from one run to another
    Diff {
        /// The earlier run: its number, or `last`
        #[arg(value_name = "N")]
        before: Which,
        /// The later run: its number, or `last`
        #[arg(value_name = "M")]
        after: Which,
        /// Write the difference as JSON (`-` for stdout)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Show the N locks that changed most
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<usize>(1..=u64::MAX))]
        top: usize,
    },
}

/// A run as named on the command line.
#[derive(Debug, Clone, Copy)]
enum Which {
    Number(u64),
    Last,
}

impl std::str::FromStr for Which {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "last" => Ok(Which::Last),
            _ => text.parse().map(Which::Number).map_err(|_| "name a run by its number, or `last`"),
        }
    }
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        match self.answer() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }

    fn answer(self) -> Result<(), Failure> {
        let history = History::of_user().map_err(failure)?;
        let number = |which| match which {
            Which::Number(number) => Ok(number),
            Which::Last => history.last().map_err(failure),
        };
        match self.what {
            None => list(&history, self.json.as_deref(), self.top),
            Some(What::Show { run, json, html, top }) => {
                let (_, report) = history.load(number(run)?).map_err(failure)?;
                if let Some(path) = &json {
                    files::write(path, &emit::json(&report)?)?;
                }
                if let Some(path) = &html {
                    files::write(path, html::run_page(&report))?;
                }
                if json.is_none() && html.is_none() {
                    print(&emit::text(&report, top, &std::io::stdout()))?;
                }
                Ok(())
            }
            Some(What::Diff { before, after, json, top }) => {
                let (one, earlier) = history.load(number(before)?).map_err(failure)?;
                let (two, later) = history.load(number(after)?).map_err(failure)?;
                let found = diff(&earlier, &later);
                match json {
                    Some(path) => files::write(&path, &emit::json(&found)?),
                    None => print(&terminal::difference(
                        &one,
                        &two,
                        &found,
                        &emit::look(top, &std::io::stdout()),
                    )),
                }
            }
        }
    }
}

fn list(history: &History, json: Option<&Path>, top: usize) -> Result<(), Failure> {
    let runs = history.list().map_err(failure)?;
    match json {
        Some(path) => files::write(path, &emit::json(&runs)?),
        None => print(&terminal::history(&runs, &emit::look(top, &std::io::stdout()))),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    files::write(Path::new("-"), text.as_bytes())
}

fn failure(error: HistoryError) -> Failure {
    let remedy = match &error {
        HistoryError::NoHome => "Set HOME.",
        HistoryError::Io(..) => "Set XDG_STATE_HOME or HOME to a folder that you may use.",
        HistoryError::NoSuchRun(_) => "`unc history` lists the runs that are kept.",
        HistoryError::Damaged(..) => "Remove the file; the other runs are not affected.",
    };
    let cause = match &error {
        HistoryError::NoSuchRun(0) => "no run is kept".to_owned(),
        HistoryError::Io(path, error) => format!("{}: {}", path.display(), files::why(error)),
        _ => error.to_string(),
    };
    Failure::new(cause, remedy)
}
