//! The kernel's counters of a command that this thread is about to start.
//!
//! # Contract
//! A [`Counter`] counts the next child that this thread starts, from its exec on, and that child's descendants as they
//! end. It counts nothing else, however many threads this process has. Events of the processor are counted in user mode
//! only, so that a figure does not depend on who may count what.
//! # Why it holds
//! The event is of this thread, disabled, inherited by what it forks, and enabled on exec, which this thread never
//! does. The kernel adds a child's count to ours before the child can be reaped.
//! # Evidence
//! `crates/cli/tests/decide_runner.rs`.
//! # Sources
//! perf_event_open(2).

use std::io;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Instructions that were retired.
    Instructions,
    /// Cycles of the CPU.
    Cycles,
    /// Branches that were retired.
    Branches,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// Accesses to the last level of cache.
    CacheReferences,
    /// Those that it did not have.
    CacheMisses,
    /// Moves of a thread to another CPU.
    Migrations,
}

impl Event {
    /// Each with its name.
    pub const ALL: [(&str, Event); 7] = [
        ("instructions", Event::Instructions),
        ("cycles", Event::Cycles),
        ("branches", Event::Branches),
        ("branch-misses", Event::BranchMisses),
        ("cache-references", Event::CacheReferences),
        ("cache-misses", Event::CacheMisses),
        ("cpu-migrations", Event::Migrations),
    ];
}

/// A counter that is ready for the next command.
#[derive(Debug)]
pub struct Counter {
    /// What it counts.
    pub event: Event,
    #[cfg(target_os = "linux")]
    file: std::fs::File,
}

#[cfg(target_os = "linux")]
impl Counter {
    /// Opens it.
    ///
    /// # Errors
    /// Those of `perf_event_open`: `ENOENT` and the like if the machine has no such counter, `EACCES` or `EPERM` if it
    /// is not permitted.
    pub fn open(event: Event) -> io::Result<Counter> {
        crate::perf::open_counter(event).map(|file| Counter { event, file })
    }

    /// What it counted.
    ///
    /// # Errors
    /// Those of `read`; [`io::ErrorKind::ResourceBusy`] if it did not count all the time, because the processor has
    /// fewer counters than are in use.
    pub fn read(&self) -> io::Result<u64> {
        use std::io::Read as _;
        let mut words = [[0; 8]; 3];
        (&self.file).read_exact(words.as_flattened_mut())?;
        let [count, enabled_ns, running_ns] = words.map(u64::from_ne_bytes);
        if running_ns < enabled_ns { Err(io::ErrorKind::ResourceBusy.into()) } else { Ok(count) }
    }
}

#[cfg(not(target_os = "linux"))]
impl Counter {
    /// Only Linux has them.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: Event) -> io::Result<Counter> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What it counted.
    ///
    /// # Errors
    /// Always.
    pub fn read(&self) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
