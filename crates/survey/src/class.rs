//! Scheduling classes of threads.

use serde::{Serialize, Serializer};
use std::fmt;
use std::io;
use uncontended_sys::scheduling::{self, Policy};

/// The scheduling class of the threads of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// That of ordinary threads.
    #[default]
    Other,
    /// Ordinary threads that preempt no other on waking.
    Batch,
    /// Real-time threads that take turns.
    RoundRobin,
    /// Real-time threads that run until they wait.
    Fifo,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 4] = [Class::Other, Class::Batch, Class::RoundRobin, Class::Fifo];

    /// Its name.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Class::Other => "OTHER",
            Class::Batch => "BATCH",
            Class::RoundRobin => "RR",
            Class::Fifo => "FIFO",
        }
    }

    /// Whether its threads stop all ordinary ones on their CPU.
    #[must_use]
    pub fn is_real_time(self) -> bool {
        matches!(self, Class::RoundRobin | Class::Fifo)
    }

    /// Puts the calling thread into it. It ends with the thread.
    ///
    /// # Errors
    /// Those of `sched_setscheduler`: usually missing permission.
    pub fn enter(self) -> io::Result<()> {
        scheduling::set(match self {
            Class::Other => Policy::Other,
            Class::Batch => Policy::Batch,
            Class::RoundRobin => Policy::RoundRobin,
            Class::Fifo => Policy::Fifo,
        })
    }

    /// Why threads may not be put into it; none if they may.
    #[must_use]
    pub fn refusal(self) -> Option<String> {
        let tried = std::thread::spawn(move || self.enter()).join();
        tried.ok()?.err().map(|error| error.to_string())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}
