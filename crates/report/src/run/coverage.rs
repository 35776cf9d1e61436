//! What a run saw, and what it could not see.

use super::FutexSite;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the run saw and what it could not see.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Program images that loaded the observer.
    pub processes_observed: u32,
    /// Sentences about what this run could not see; never empty.
    pub unseen: Vec<String>,
    /// Why nothing at all was seen, if so.
    pub nothing_seen: Option<String>,
    /// Programs that did not record, and why, except those too short to be sampled.
    #[serde(default)]
    pub not_recording: Vec<NotRecording>,
    /// Processes that outlived the program; the report has what they did up to its end.
    #[serde(default)]
    pub still_running: Vec<StillRunning>,
    /// Modules of which other files are in place, or none, so that their functions have no names.
    #[serde(default)]
    pub symbols_mismatch: Vec<SymbolsMismatch>,
    /// Share (0 to 1) of all futex waiting time that the observer did not account for; needs root.
    pub futex_share_unaccounted: Option<f64>,
    /// Futex waits by call site as the kernel saw them; needs root.
    pub futex_sites: Vec<FutexSite>,
    /// Further figures by name.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// A process that outlived the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StillRunning {
    /// Its process id.
    pub pid: u32,
    /// Its arguments.
    pub command: Vec<String>,
}

/// A module whose file is not the one that ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SymbolsMismatch {
    /// Its path.
    pub module: String,
    /// The build id of what ran, in hexadecimal; null if it had none.
    pub build_id: Option<String>,
    /// What is wrong with the file, in words.
    pub reason: String,
}

/// A program that did not record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRecording {
    /// Its process id.
    pub pid: u32,
    /// Its arguments.
    pub command: Vec<String>,
    /// Why, in words.
    pub reason: String,
}
