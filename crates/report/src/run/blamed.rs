//! The code that waited, and what its waits were for.

use super::Frame;
use serde::{Deserialize, Serialize};

/// The total wait of a row, divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Blame {
    /// While a thread held the lock.
    pub held_ns: u64,
    /// Until a thread, or its deadline, ended the wait, for what is not held.
    pub ended_ns: u64,
    /// While the lock was free. Each waiter's time counts, unlike in [`Lock::idle_ns`](super::Lock::idle_ns), which is
    /// the lock's.
    pub idle_ns: u64,
    /// The rest: its holder was not seen.
    pub unknown_ns: u64,
}

/// What a wait was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlamedKind {
    /// A thread held the lock.
    Hold,
    /// Another thread's wakeup ended the wait.
    Wake,
    /// The lock was free.
    Idle,
}

/// Code that caused waiting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blamed {
    /// The function to open; none if it is unknown, or if the lock was free.
    pub site: Option<Frame>,
    /// The stack of the acquisition with the most waiting, innermost frame first.
    pub stack: Vec<Frame>,
    /// What it did.
    pub kind: BlamedKind,
    /// The waiting it caused, summed over the waiters.
    pub wait_ns: u64,
    /// Of the row's total wait; in `culprits`, of that of all rows of class contention or gate.
    pub share: f64,
    /// The waits of which a part is its, summed over its holds.
    pub waits: u64,
    /// Its holds that a thread waited for.
    pub holds: u64,
    /// The longest of them; of the idle intervals, if the lock was free.
    pub longest_ns: u64,
    /// The part of `wait_ns` during which the holder itself waited for another lock's holder. In `culprits`, it is in
    /// the other holder's entry instead, and this is 0.
    #[serde(default)]
    pub passed_on_ns: u64,
    /// The part of `wait_ns` of threads that a signal woke while it held the lock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub woken_into_ns: u64,
    /// The locks; only in `culprits`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<u64>,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Code that waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitedIn {
    /// The function to open; none if it is unknown.
    pub site: Option<Frame>,
    /// One of its stacks, innermost frame first.
    pub stack: Vec<Frame>,
    /// How long its threads waited.
    pub wait_ns: u64,
    /// Of the row's total wait.
    pub share: f64,
    /// How often.
    pub waits: u64,
    /// The longest of these waits.
    pub longest_ns: u64,
}
