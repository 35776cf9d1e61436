//! Cycles of waits: those in which the program was stuck, and those that the order of its locks allows.

use super::Frame;
use serde::{Deserialize, Serialize};

/// Threads each of which waits for a lock that the next one holds, and the last for one that the first holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deadlock {
    /// Their process.
    pub pid: u32,
    /// The threads; at least one, which waits for a lock that it holds itself.
    pub threads: Vec<Stuck>,
    /// The other threads that wait for one of them, or for such a thread.
    pub behind: u32,
}

/// A thread of a deadlock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stuck {
    /// Its ID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The lock that it waits for; none if it waits for the end of the next thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<u64>,
    /// Whether it waits to share that lock with other readers.
    pub shared: bool,
    /// Whether its wait has a deadline.
    pub has_deadline: bool,
    /// How long it has waited.
    pub wait_ns: u64,
    /// Where it waits.
    pub stack: Vec<Frame>,
    /// The thread that it waits for: the next one's ID.
    pub holder: u32,
    /// Whether that thread holds the lock; if not, it is a writer that waits for it, before which no reader comes, or
    /// its end is waited for.
    pub holds: bool,
    /// Where that thread took the lock; empty if that was not recorded.
    pub taken: Vec<Frame>,
    /// How long that thread has held it, if known.
    pub held_ns: Option<u64>,
}

/// Which locks were held while others were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockOrder {
    /// How many different sets of locks were seen to be held while another was taken, summed over the threads.
    pub sets: u64,
    /// Acquisitions with locks held that are in no set, because there was no room.
    pub lost: u64,
    /// Whether all sets were compared. There may be too many combinations.
    pub is_complete: bool,
    /// Sets of threads that may wait for each other forever.
    pub inversions: Vec<Inversion>,
}

/// Threads each of which took a lock while it held one that the next thread took, and so on to the first. None of them
/// held another lock that keeps the others away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inversion {
    /// Their process.
    pub pid: u32,
    /// The threads, at least two.
    pub threads: Vec<Nested>,
    /// How many other sets of locks the same code took in these orders.
    pub more: u64,
}

/// A thread that took a lock while it held another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Nested {
    /// Its ID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The lock that it held.
    pub held: u64,
    /// Where it had taken that; empty if that was not recorded.
    pub held_stack: Vec<Frame>,
    /// The lock that it took, which the next thread held.
    pub taken: u64,
    /// Where it took that.
    pub taken_stack: Vec<Frame>,
}
