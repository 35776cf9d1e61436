//! Threads that wait for the ends of others.

use super::Frame;
use serde::{Deserialize, Serialize};

/// A wait of one thread for the end of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// The thread that waited.
    pub tid: u32,
    /// The thread that it waited for.
    pub of: u32,
    /// That thread's name at its end, or the last one known; empty if none is.
    pub name: String,
    /// The code that it ran, if its stacks or the function that it began with show that.
    pub body: Option<Frame>,
    /// From the call to the end of the wait.
    pub wait_ns: u64,
}
