//! What a run saw, and what it could not see.

use super::{Frame, is_zero};
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
    /// Processes that ended before the program, by a signal or in a way that is not known; and the program itself, if
    /// a signal ended it while it held locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_short: Vec<CutShort>,
    /// Modules of which other files are in place, or none, so that their functions have no names.
    #[serde(default)]
    pub symbols_mismatch: Vec<SymbolsMismatch>,
    /// What was summed because there were too many locks; none if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Degraded>,
    /// Share (0 to 1) of all futex waiting time that the observer did not account for; needs root.
    pub futex_share_unaccounted: Option<f64>,
    /// All futex waiting time, as the kernel saw it; needs root.
    #[serde(default)]
    pub futex_wait_ns: Option<u64>,
    /// Futex waits by call site as the kernel saw them, the longest ones; needs root.
    pub futex_sites: Vec<FutexSite>,
    /// Waits that found no room in the kernel's tables and are in no row, if the kernel was the source.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_waits: u64,
    /// How long they took, as far as that is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_wait_ns: u64,
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

/// A process that did not end itself, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutShort {
    /// Its process id.
    pub pid: u32,
    /// Its arguments.
    pub command: Vec<String>,
    /// When it was first seen to have ended, from the start of the run.
    pub ended_ns: u64,
    /// The signal that ended it; null if it is not known what did.
    pub signal: Option<i32>,
    /// The locks that its threads held then, as far as is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldThen>,
}

/// A lock that a thread held when its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldThen {
    /// The thread.
    pub tid: u32,
    /// The lock's `id`.
    pub lock: u64,
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

/// Futex waits of one call site, as the kernel saw them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FutexSite {
    /// Stack of the wait.
    pub stack: Vec<Frame>,
    /// Number of waits.
    pub waits: u64,
    /// Their total time.
    pub total_ns: u64,
}

/// How a row is known of which the record does not have each lock's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summed {
    /// The row is the sum over many locks of one kind, by where they were taken.
    Many,
    /// The row is one lock, of which what some threads did is in such sums.
    Part,
}

/// What was summed because there were too many locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// What, in words.
    pub what: String,
    /// What would record it in full, in words.
    pub remedy: String,
    /// Since when, from the start of the program.
    pub from_ns: u64,
    /// The rows that are sums ([`Summed::Many`]).
    pub rows: u64,
    /// Their acquisitions.
    pub acquisitions: u64,
    /// Their waits.
    pub blocked: u64,
    /// The rows with a part in such sums ([`Summed::Part`]).
    pub in_part: u64,
}
