//! How a run was seen: from where, with which clock, and which holds.

use serde::{Deserialize, Serialize};

/// Which holds are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Those at whose end a thread waited for the lock, or for a condition variable that is used with it.
    Waited,
    /// All (`--all-holds`).
    All,
}

/// Where waiting is seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The observer, loaded into the program.
    #[default]
    Preload,
    /// The kernel, from outside the program: all futex waits and nothing else.
    Kernel,
}

/// The processes that were attached to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AttachedTo {
    /// Their process ids.
    pub pids: Vec<u32>,
    /// Those that ended while they were watched.
    pub ended: Vec<u32>,
    /// Those that executed another program, up to which they were watched.
    pub executed: Vec<u32>,
    /// Processes that these forked meanwhile, which called a futex or still ran at the end.
    #[serde(default)]
    pub forked: Vec<u32>,
}

/// The clock behind every time of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `cntvct` or `clock_gettime(CLOCK_MONOTONIC)`.
    pub source: String,
    /// The smallest difference that the clock shows.
    pub step_ns: f64,
}
