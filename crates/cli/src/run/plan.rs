//! What `unc run` is to do.

use super::load::LoadPlan;
use super::record::Kinds;
use super::source::Source;
use crate::files::Named;
use crate::view::View;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uncontended_decide::Failure;
use uncontended_trace::setup::Holds;

/// One run: the program, how long to watch it, and what to report and keep.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program and its arguments; never empty.
    pub(crate) command: Vec<OsString>,
    /// After how long to end the program.
    pub(crate) limit: Option<Duration>,
    /// After how long to start recording.
    pub(crate) delay: Option<Duration>,
    /// How often to report what was recorded so far.
    pub(crate) every: Option<Duration>,
    /// From where to watch; as the program needs it, if none.
    pub(crate) source: Option<Source>,
    /// Which holds to record.
    pub(crate) holds: Holds,
    /// Whether to record which locks are held while another is taken.
    pub(crate) lock_order: bool,
    /// What of the report to show, and the files to write it to.
    pub(crate) view: View,
    /// Where to keep the record.
    pub(crate) trace: Option<PathBuf>,
    /// The function whose calls are watched.
    pub(crate) span: Option<String>,
    /// The load whose end ends the program.
    pub(crate) load: Option<LoadPlan>,
    /// Whether to leave the run out of the history.
    pub(crate) no_history: bool,
    /// Whether to print nothing.
    pub(crate) quiet: bool,
}

impl Plan {
    /// What is recorded besides waits.
    pub(crate) fn kinds(&self) -> Kinds {
        Kinds { holds: self.holds, lock_order: self.lock_order }
    }

    /// Whether a report so far is shown or written.
    pub(crate) fn wants_report_so_far(&self) -> bool {
        !self.quiet || self.view.is_written()
    }

    /// Whether any report is shown, written or kept.
    pub(crate) fn wants_report(&self) -> bool {
        !self.quiet || !self.no_history || self.view.is_written() || self.trace.is_some()
    }
}

/// Why `unc` has no program's status to pass on.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) failure: Failure,
    /// The exit status: 125, 126, 127, or 128 plus a signal that came before the start.
    pub(crate) status: u8,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal { failure, status: 125 }
    }
}

/// Refuses `-` for files that may not be standard output.
pub(crate) fn refuse_stdout(named: &[Named<'_>], why: &str) -> Result<(), Failure> {
    let of = named.iter().find(|(_, path)| *path == Some(Path::new("-")));
    of.map_or(Ok(()), |(flag, _)| {
        let remedy = "name a file instead; /dev/stderr is one, and ./- is one of that name";
        Err(Failure::new(format!("{flag} - is refused: {why}"), remedy))
    })
}
