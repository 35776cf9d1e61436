//! When the program's processes end, those that a signal kills too.
//!
//! # Contract
//! [`Ends::look`] notes the processes of the record that have ended since the last look. A process is taken for one of
//! the record's if it or its parent is known to be one of the program's: in a PID namespace of its own, a process
//! records other numbers than `unc` sees. The program itself is left out: its end is the run's. Once the program was
//! asked to end, its processes count as alive until it does ([`Ends::stop`]). Every process is looked at in each look:
//! its descriptor is or, where the kernel gives none, what `/proc` says of it.
//! # Evidence
//! `tests/programs`: `ends.c`, `shared_killed.c`.

use super::heirs;
use super::record::{Entry, Record};
use super::threads::is_alive;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};
use uncontended_report::facts::{EndedBy, ProcessEnd};
use uncontended_sys::process::{Ending, Other};
use uncontended_trace::layout::ANNOUNCED;

const NO_PROCESS: i32 = 3; // ESRCH

/// A process that had not ended.
#[derive(Debug)]
enum Alive {
    Open(Other),
    /// When it started. So known where the kernel gives no descriptors of processes (before 5.3), or may not be asked.
    Since(u64),
}

impl Alive {
    /// The process `pid`, with the answer to opening it; none if it has ended.
    fn new(pid: u32, opened: io::Result<Other>) -> Option<Self> {
        match opened {
            Ok(other) => Some(Alive::Open(other)),
            Err(error) if error.raw_os_error() == Some(NO_PROCESS) => None,
            Err(_) => heirs::started(pid).filter(|_| is_alive(pid)).map(Alive::Since),
        }
    }

    fn has_ended(&self, pid: u32) -> bool {
        match self {
            Alive::Open(other) => other.has_ended(),
            Alive::Since(started) => heirs::started(pid) != Some(*started) || !is_alive(pid),
        }
    }

    /// What ended it, as far as the kernel says.
    fn ended_by(&self) -> EndedBy {
        match self {
            Alive::Open(other) => other.ending().map_or(EndedBy::Unknown, |ending| match ending {
                Ending::ByItself => EndedBy::Exit,
                Ending::BySignal(signal) => EndedBy::Signal(signal),
            }),
            Alive::Since(_) => EndedBy::Unknown,
        }
    }
}

/// Most descriptors in use at a time. The processes beyond are looked at when there are fewer.
const MOST: usize = 256;
/// A look takes a microsecond for each process; without processes but the program itself, it reads one word.
const SHORTEST: Duration = Duration::from_millis(5);
/// Of very many processes.
const LONGEST: Duration = Duration::from_millis(20);
/// Between these, looks take at most one part in this many of the time.
const SHARE: u32 = 100;

/// Notes the ends of processes.
#[derive(Debug)]
pub(crate) struct Ends {
    main: u32,
    start: Instant,
    /// The newest entry of the record that was read.
    newest: u32,
    /// The processes of the program that it records.
    known: BTreeSet<u32>,
    /// Those that had not ended, once they have been opened.
    alive: BTreeMap<u32, Option<Alive>>,
    ended: Vec<ProcessEnd>,
    due: Instant,
    is_over: bool,
}

impl Ends {
    /// Of the program `main`, the start of whose run was at `start`.
    pub(crate) fn new(main: u32, start: Instant) -> Self {
        Ends {
            main,
            start,
            newest: 0,
            known: BTreeSet::from([main]),
            alive: BTreeMap::new(),
            ended: Vec::new(),
            due: Instant::now() + SHORTEST,
            is_over: false,
        }
    }

    /// When to call [`Ends::look`] next; if no process is known that can end, at any time.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.is_over && !self.alive.is_empty()).then_some(self.due)
    }

    /// The program was asked to end: its processes end with it.
    pub(crate) fn stop(&mut self) {
        self.is_over = true;
    }

    /// The program that `pid` ran has ended.
    pub(crate) fn note(&mut self, pid: u32, by: EndedBy) {
        if !self.is_over {
            let ended_ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.ended.push(ProcessEnd { pid, ended_ns, by });
        }
    }

    /// Notes the processes of `record` that have ended. `descendants`: the processes of the program that `unc` sees.
    pub(crate) fn look(&mut self, record: &Record, descendants: &BTreeSet<u32>) {
        if self.is_over {
            return;
        }
        let begun = Instant::now();
        let fresh = record.processes_since(self.newest);
        self.newest = fresh.last().map_or(self.newest, |entry| entry.unit);
        for Entry { pid, parent, .. } in fresh.into_iter().filter(|of| of.parent != ANNOUNCED) {
            let is_ours = |pid: &u32| self.known.contains(pid) || descendants.contains(pid);
            if is_ours(&pid) || is_ours(&parent) {
                self.known.insert(pid);
                self.alive.insert(pid, None);
            }
        }
        self.alive.remove(&self.main);
        let mut open = self.alive.values().flatten().count();
        let mut ended = Vec::new();
        for (&pid, process) in &mut self.alive {
            if process.is_none() && open < MOST {
                match Alive::new(pid, Other::open(pid)) {
                    None => ended.push((pid, EndedBy::Unknown)),
                    known => *process = known,
                }
                open += usize::from(process.is_some());
            }
            if let Some(process) = process.as_ref().filter(|process| process.has_ended(pid)) {
                ended.push((pid, process.ended_by()));
            }
        }
        for (pid, by) in ended {
            self.alive.remove(&pid);
            self.note(pid, by);
        }
        let now = Instant::now();
        self.due = now + ((now - begun) * SHARE).clamp(SHORTEST, LONGEST);
    }

    /// The ends noted.
    pub(crate) fn facts(&self) -> Vec<ProcessEnd> {
        self.ended.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_end_is_noticed_where_the_kernel_opens_no_processes() {
        let refused = || Err(io::Error::from(io::ErrorKind::Unsupported));
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let alive = Alive::new(child.id(), refused()).unwrap();
        assert!(matches!(alive, Alive::Since(_)) && !alive.has_ended(child.id()));
        child.kill().unwrap();
        // Its parent has not reaped it, then has; then another one may have its number.
        while !alive.has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(Alive::new(child.id(), refused()).is_none());
        child.wait().unwrap();
        assert!(alive.has_ended(child.id()) && Alive::new(child.id(), refused()).is_none());
        assert!(Alive::Since(0).has_ended(std::process::id()));
    }
}
