//! A reader that keeps garbage from being freed.

use crate::garbage::Garbage;
use crate::thread::Reader;
use std::fmt;
use std::time::Duration;

/// A thread that stays pinned while others want to free what it may have found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The thread.
    pub reader: Reader,
    /// How long ago a collection first found that it waits for this pin: the pin is older.
    pub since: Duration,
    /// How many epochs it is behind: 0 or 1.
    pub behind: u64,
    /// What waits in the collector, for this thread and for others that are stalled.
    pub holds: Garbage,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} has been pinned for {} ms or more and keeps {}",
            self.reader,
            self.since.as_millis(),
            self.holds
        )
    }
}
