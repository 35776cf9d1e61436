//! The calls of a function or the spans of a name, and what the slowest of them waited for.

use super::{BlamedKind, Frame};
use serde::{Deserialize, Serialize};

/// Where spans come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// They are the calls of a function (`--span`).
    Function,
    /// The program announces them.
    Annotation,
}

/// The calls of a function, or the spans of a name that the program announces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spans {
    /// The function, as given, or the name.
    pub name: String,
    /// Which of the two.
    pub kind: SpanKind,
    /// How many calls are known from their beginning to their end, with all that they waited for.
    pub count: u64,
    /// How many are not: those before the oldest wait or span that is kept, and those of processes not observed.
    pub not_kept: u64,
    /// Calls and returns that came too fast to follow.
    pub lost: u64,
    /// What watching added to a call, measured at the start.
    pub cost_ns: Option<u64>,
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The slowest hundredth, at least one.
    pub slowest: SpanGroup,
    /// As many around the median.
    pub median: SpanGroup,
}

/// Some of the calls. Times are means per call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SpanGroup {
    /// How many.
    pub count: u64,
    /// How long they took.
    pub ns: u64,
    /// The parts of their paths in culprits, the most first.
    pub parts: Vec<SpanPart>,
    /// The rest of the time in threads that did not wait.
    pub own_ns: u64,
    /// The rest of the time from a release or a wakeup until its waiter went on.
    pub handed_over_ns: u64,
    /// Waits whose ends have no known cause.
    pub unknown_ns: u64,
}

/// A culprit's part of some calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanPart {
    /// The culprit's position in `culprits`; none if `--only` leaves it out.
    pub culprit: Option<u64>,
    /// The culprit's function to open; none if it is unknown.
    pub site: Option<Frame>,
    /// What it did.
    pub kind: BlamedKind,
    /// The time per call.
    pub ns: u64,
}
