//! `unc report`: renders a trace that `unc run --trace` kept.

use crate::console::complain;
use crate::emit;
use crate::files::{self, distinct};
use crate::symbols::ElfSymbols;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_report::aggregate::{Timeline, timeline};
use uncontended_report::facts::Facts;
use uncontended_report::run::RunReport;
use uncontended_report::{folded, html, perfetto, tracefile};

const EXAMPLES: &str = "\
Examples:
  unc report run.unc                      the report on the terminal
  COLUMNS=140 unc report run.unc > run    as wide as that, in a file
  unc report run.unc --json -             the same as data, on stdout
  unc report run.unc --html run.html      the same as one page
  unc report run.unc --folded -           waits by stack, for flame graphs
  unc report run.unc --perfetto run.json  for ui.perfetto.dev

Exit status: 0; 2 if the trace cannot be read or an output cannot be written.";

/// Render a report from a trace that `unc run --trace` kept
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Write the report as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as a self-contained HTML page (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write total waits by stack, in the folded format of flame graphs (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Write the newest waits, holds and spans of each thread as a trace for Perfetto (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Show only locks whose number (#3), kind, class, code or address matches PATTERN
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Name locks and stacks by the code outside functions, files and modules that match PATTERN, in which `*` stands
    /// for any characters (repeatable)
    #[arg(long, value_name = "PATTERN")]
    skip_frames: Vec<String>,
    /// Look for debug information, or for what ran, in DIR as well as in /usr/lib/debug (repeatable)
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    /// Show the N costliest locks
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        match self.write() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }

    fn write(&self) -> Result<(), Failure> {
        let written = [
            ("--json", self.json.as_deref()),
            ("--html", self.html.as_deref()),
            ("--folded", self.folded.as_deref()),
            ("--perfetto", self.perfetto.as_deref()),
        ];
        distinct(&written, &[("TRACE", Some(&self.trace))])?;
        let mut report = self.report()?;
        if let Some(pattern) = &self.only {
            emit::keep_only(&mut report, pattern);
        }
        let forms: [(&Option<PathBuf>, Form); 3] = [
            (&self.json, emit::json),
            (&self.html, |report| Ok(html::run_page(report).into_bytes())),
            (&self.folded, |report| Ok(folded::render(report).into_bytes())),
        ];
        let mut written = self.perfetto.is_some();
        if let Some(path) = &self.perfetto {
            files::write(path, &emit::json(&perfetto::render(&report, &self.timelines()?))?)?;
        }
        for (path, form) in forms {
            if let Some(path) = path {
                files::write(path, &form(&report)?)?;
                written = true;
            }
        }
        if !written {
            files::write(
                Path::new("-"),
                emit::text(&report, self.top, &std::io::stdout()).as_bytes(),
            )?;
        }
        Ok(())
    }

    fn report(&self) -> Result<RunReport, Failure> {
        self.read(|record, facts| {
            let mut symbols = self.symbols(&facts);
            emit::report(record, facts, &mut symbols).map_err(|failure| failure.cause.to_string())
        })
    }

    fn timelines(&self) -> Result<Vec<Timeline>, Failure> {
        self.read(|record, facts| {
            timeline(record, &facts, &mut self.symbols(&facts)).map_err(|error| error.to_string())
        })
    }

    fn symbols(&self, facts: &Facts) -> ElfSymbols {
        ElfSymbols::new(&self.debug_dir).with_names(&facts.names)
    }

    /// What `make` makes of the trace.
    fn read<T>(&self, make: impl FnOnce(&[u8], Facts) -> Result<T, String>) -> Result<T, Failure> {
        let refused = |error: &dyn std::fmt::Display| unreadable(&self.trace, &error.to_string());
        let bytes = std::fs::read(&self.trace).map_err(|error| refused(&error))?;
        let (record, mut facts) = tracefile::decode(&bytes).map_err(|error| refused(&error))?;
        facts.skip_frames.extend_from_slice(&self.skip_frames);
        make(record, facts).map_err(|cause| refused(&cause))
    }
}

/// Writes one form of a report.
type Form = fn(&RunReport) -> Result<Vec<u8>, Failure>;

fn unreadable(path: &Path, cause: &str) -> Failure {
    let remedy = "keep a trace with `unc run --trace FILE -- PROGRAM`";
    Failure::new(format!("{} cannot be read as a trace: {cause}", path.display()), remedy)
}
