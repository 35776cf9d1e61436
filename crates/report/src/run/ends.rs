//! How waits end: without the lock, or not at all.

use serde::{Deserialize, Serialize};

/// Waits that ended without success: they timed out, or were interrupted or cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOut {
    /// How many.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub total: u64,
    /// The longest, in nanoseconds.
    pub max: u64,
}

impl TimedOut {
    /// The sum of two.
    pub(crate) fn and(self, other: TimedOut) -> TimedOut {
        TimedOut {
            count: self.count.saturating_add(other.count),
            total: self.total.saturating_add(other.total),
            max: self.max.max(other.max),
        }
    }
}

/// Waits for a lock that were still in progress when the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How many threads waited, as far as the record distinguishes them (64).
    pub count: u64,
    /// How long the first of them had waited.
    pub longest_ns: u64,
    /// How long the lock had been held, if it was.
    pub held_ns: Option<u64>,
    /// The thread that held it.
    pub holder: Option<u32>,
    /// Whether that thread had ended without a release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holder_ended: bool,
}
