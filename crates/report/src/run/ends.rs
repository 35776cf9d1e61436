//! How waits end: without the lock, or not at all.

use super::Frame;
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

/// A thread that ended while it had a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Its ID.
    pub tid: u32,
    /// What others waited for the lock after its end, as far as the log has it.
    pub wait_ns: u64,
}

/// Wakeups of a condition's threads, as far as the log has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Herd {
    /// How often a thread was woken.
    pub wakeups: u64,
    /// How often for nothing: it waited again straight away, with the mutex all along, while another thread that was
    /// woken with it did not.
    pub for_nothing: u64,
    /// What threads that were woken for nothing waited for the mutex, before they looked.
    pub wait_ns: u64,
    /// That mutex (a lock's `id`); none if they did not wait for one.
    pub mutex: Option<u64>,
}

/// That each thread of a process waited when the run ended, for locks, other objects or each other's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hung {
    /// How many.
    pub threads: u64,
    /// How long the last one to begin had waited.
    pub since_ns: u64,
}

/// Waits for a lock that were still in progress when the run or their processes ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How many threads waited, as far as the record distinguishes them (64).
    pub count: u64,
    /// How long the first of them had waited.
    pub longest_ns: u64,
    /// How long all of them had waited, summed.
    #[serde(default)]
    pub total_ns: u64,
    /// How long the lock had been held, if it was.
    pub held_ns: Option<u64>,
    /// The thread that held it.
    pub holder: Option<u32>,
    /// Whether that thread had ended without a release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holder_ended: bool,
    /// Whether the processes of those threads ended before the run did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiters_ended: bool,
}

/// The thread for which those that still wait for a lock wait in the end: its holder, or the one that this waits for,
/// and so on. It waits for no thread that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its ID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The lock that it holds.
    pub lock: u64,
    /// Where it took that; empty if that was not recorded.
    pub taken: Vec<Frame>,
    /// How long it has held it, if known.
    pub held_ns: Option<u64>,
    /// How many threads are between it and those that wait: 0 if it is the holder.
    pub through: u32,
    /// How many threads wait for it, directly or through others.
    pub behind: u32,
    /// Whether it was asleep for something itself, such as a condition or another thread's end.
    pub is_asleep: bool,
}
