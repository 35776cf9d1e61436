//! `unc report`: renders a trace that `unc run --trace` kept.

use super::flags::ViewFlags;
use crate::console::complain;
use crate::emit;
use crate::files::{self, why};
use crate::symbols::ElfSymbols;
use crate::view::View;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use uncontended_decide::Failure;
use uncontended_report::tracefile;

const EXAMPLES: &str = "\
Examples:
  unc report run.unc                      the report on the terminal
  COLUMNS=140 unc report run.unc > run    as wide as that, in a file
  unc report run.unc --json -             the same as data, on stdout
  unc report run.unc --html run.html      the same as one page
  unc report run.unc --folded -           waits by stack, for flame graphs
  unc report run.unc --perfetto run.json  for ui.perfetto.dev

FILE may be `-`, standard output.

Exit status: 0; 2 if the trace cannot be read or an output cannot be written.";

/// Render a report from a trace that `unc run --trace` kept
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Print no report
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    view: ViewFlags,
}

impl Arguments {
    pub(crate) fn execute(self) -> ExitCode {
        match write(&self.trace, &self.view.plan(), self.quiet) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                complain(&failure);
                ExitCode::from(2)
            }
        }
    }
}

/// Writes what `view` asks for. The report is printed if nothing else is written, unless it is to be `quiet`.
fn write(trace: &Path, view: &View, quiet: bool) -> Result<(), Failure> {
    let mut forms = view.open(&[], &[("TRACE", Some(trace))])?;
    let refused = |error: &dyn std::fmt::Display| unreadable(trace, error);
    let bytes = std::fs::read(trace).map_err(|error| refused(&why(&error)))?;
    let (record, mut facts) = tracefile::decode(&bytes).map_err(|error| refused(&error))?;
    facts.skip_frames.extend_from_slice(&view.skip_frames);
    let mut symbols = ElfSymbols::new(&view.debug_dirs).with_names(&facts.names);
    let of_record = |failure: Failure| refused(&failure.cause);
    let timelines = forms.timelines(record, &facts, &mut symbols).map_err(of_record)?;
    let mut report = emit::report(record, facts, &mut symbols).map_err(of_record)?;
    view.narrow(&mut report);
    if !view.is_written() && !quiet {
        let text = emit::text(&report, view.top, &std::io::stdout());
        files::write(Path::new("-"), text)?;
    }
    forms.write(&report, &timelines, view.top)
}

fn unreadable(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    let remedy = "keep a trace with `unc run --trace FILE -- PROGRAM`";
    Failure::new(format!("{} cannot be read as a trace: {cause}", path.display()), remedy)
}
