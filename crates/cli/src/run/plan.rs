//! What `unc run` is to do, without a word about flags.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// One run: the program, how long it is watched, and what is told and kept of it.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program and its arguments; never empty.
    pub(crate) command: Vec<OsString>,
    /// When the program is ended.
    pub(crate) limit: Option<Duration>,
    /// When recording begins.
    pub(crate) delay: Option<Duration>,
    /// Whether hold times are left out.
    pub(crate) no_hold: bool,
    /// Where the report goes as JSON.
    pub(crate) json: Option<PathBuf>,
    /// Where it goes as a page.
    pub(crate) html: Option<PathBuf>,
    /// Where the record goes.
    pub(crate) trace: Option<PathBuf>,
    /// What locks must have in their kind, address or code to be shown.
    pub(crate) only: Option<String>,
    /// How many locks are shown.
    pub(crate) top: usize,
    /// Whether the run is left out of the history.
    pub(crate) no_history: bool,
    /// Whether nothing is shown.
    pub(crate) quiet: bool,
}

impl Plan {
    /// Whether anything is to be told or kept of the run.
    pub(crate) fn wants_report(&self) -> bool {
        let files = [&self.json, &self.html, &self.trace];
        !self.quiet || !self.no_history || files.into_iter().any(Option::is_some)
    }
}

/// Why there is no program whose status could be passed through.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) failure: Failure,
    /// 125, 126 or 127.
    pub(crate) status: u8,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal { failure, status: 125 }
    }
}
