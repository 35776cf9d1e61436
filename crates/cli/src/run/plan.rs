//! What `unc run` is to do, as plain data without flags.

use super::load::LoadPlan;
use super::record::Kinds;
use std::ffi::OsString;
use std::path::PathBuf;
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
    /// Which holds to record.
    pub(crate) holds: Holds,
    /// Whether to record which locks are held while another is taken.
    pub(crate) lock_order: bool,
    /// Where to write the report as JSON.
    pub(crate) json: Option<PathBuf>,
    /// Where to write it as a page.
    pub(crate) html: Option<PathBuf>,
    /// Where to write it as text, instead of the terminal.
    pub(crate) report: Option<PathBuf>,
    /// Where to keep the record.
    pub(crate) trace: Option<PathBuf>,
    /// Shows only locks whose kind, address or code contains this.
    pub(crate) only: Option<String>,
    /// Patterns of functions, files and modules that implement locks.
    pub(crate) skip_frames: Vec<String>,
    /// Where else to look for debug information.
    pub(crate) debug_dirs: Vec<PathBuf>,
    /// The function whose calls are watched.
    pub(crate) span: Option<String>,
    /// The load whose end ends the program.
    pub(crate) load: Option<LoadPlan>,
    /// How many locks to show.
    pub(crate) top: usize,
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

    /// Whether any report is shown, written or kept.
    pub(crate) fn wants_report(&self) -> bool {
        let files = [&self.json, &self.html, &self.report, &self.trace];
        !self.quiet || !self.no_history || files.into_iter().any(Option::is_some)
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
