//! Where a running program's threads wait: every futex wait of a process, summed in the kernel.
//!
//! # Contract
//! [`Attach::new`] has the kernel take the programs; [`Attach::begin`] names the process; [`Attach::finish`]
//! detaches and
//! gives what was seen as a part of a record (`uncontended_trace::compose`). The process is never stopped, and nothing
//! of it is changed: its memory is read, and the kernel counts. What finds no room is counted as lost.
//! # State
//! [`programs`] run in the kernel and fill its tables; [`modules`] knows the mapped files, [`unwind`] the call chains.
//! # Evidence
//! `crates/cli/tests/attach.rs`: programs that know how they wait, seen by this and by the preloaded observer.
#![forbid(unsafe_code)]

mod cannot;
mod conditions;
mod gather;
mod modules;
mod programs;
mod seed;
mod unwind;
mod words;

pub use cannot::Cannot;
pub use gather::Seen;

use modules::Modules;
use programs::{StackTop, Tables, counter};
use std::collections::{BTreeMap, HashMap};
use uncontended_sys::bpf::{Assembler, Attached, Program};
use uncontended_sys::clock;
use uncontended_sys::tracefs::Tracefs;
use unwind::Unwinder;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The one key of a table with one entry.
const ONLY: [u8; 4] = [0; 4];

/// What was lost, and what the process did meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Waits that are in no sum.
    pub waits: u64,
    /// Their time, as far as it is known.
    pub waited_ns: u64,
    /// Stacks that could not be copied when they were met.
    pub stacks: u64,
    /// Futex calls, of any process, at which the kernel left the programs out.
    pub missed: u64,
}

/// Programs in the kernel that watch one process.
pub struct Attach {
    /// Whether a wait is missing where one is left out, and the programs.
    running: Vec<(bool, Attached)>,
    missed: u64,
    tables: Tables,
    pid: u32,
    began_ns: u64,
    modules: Modules,
    unwinder: Unwinder,
    /// The call chains of the stacks by number.
    chains: HashMap<u64, Vec<u64>>,
    /// The threads that were met, by number.
    lives: BTreeMap<u32, Life>,
    command: Vec<String>,
}

/// A thread, as it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    name: String,
    /// When it was met first, and last.
    met: [u64; 2],
}

impl std::fmt::Debug for Attach {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Attach").field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl Attach {
    /// Arms the tracepoints, for no process yet.
    ///
    /// # Errors
    /// Missing permission, or a kernel that lacks what is needed.
    pub fn new() -> Result<Self, Cannot> {
        cannot::check()?;
        let tables = Tables::new().map_err(|error| Cannot::from_error(&error))?;
        let events = Tracefs::open().map_err(|error| Cannot::from_tracing(&error))?;
        let waking = "sched/sched_waking";
        let woken = events.offset(waking, "pid").map_err(|error| Cannot::from_tracing(&error))?;
        // The return first: a call whose entry was seen is seen to its end.
        let programs = [
            ("syscalls/sys_exit_futex", programs::exit(&tables)),
            ("sched/sched_process_exec", programs::executed(&tables)),
            (waking, programs::waking(&tables, woken)),
            ("syscalls/sys_enter_futex", programs::enter(&tables)),
        ];
        let mut running = Vec::new();
        for (tracepoint, code) in programs {
            let is_call = tracepoint.starts_with("syscalls");
            running.push((is_call, arm(&events, tracepoint, code)?));
        }
        let (modules, unwinder) = (Modules::default(), Unwinder::new());
        Ok(Attach {
            running,
            missed: 0,
            tables,
            pid: 0,
            began_ns: 0,
            modules,
            unwinder,
            chains: HashMap::new(),
            lives: BTreeMap::new(),
            command: Vec::new(),
        })
    }

    /// Watches the process `pid` from now on. Waits that are in progress count from now on, too.
    pub fn begin(&mut self, pid: u32) {
        self.pid = pid;
        self.began_ns = clock::monotonic_ns();
        self.command = seed::command(pid);
        self.look_at_files();
        self.tables.target.set(&ONLY, &u64::from(pid).to_le_bytes(), false);
        seed::waiting(&self.tables, pid, self.began_ns);
        self.look_at_threads();
    }

    /// When [`Attach::begin`] was called, on CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Reads the lists of files and the stacks that are new. Call it from time to time: files may be unmapped.
    pub fn look(&mut self) {
        self.look_at_files();
        self.look_at_threads();
        for key in self.tables.stacks.keys() {
            let number = words::at(&key, 0);
            if self.chains.contains_key(&number) {
                continue;
            }
            if let Some(value) = self.tables.stacks.get(&key) {
                let chain = self.unwinder.chain(&StackTop::from_value(&value));
                self.chains.insert(number, chain);
            }
        }
    }

    /// Whether the process has executed another program. It is not watched any more since.
    pub fn has_executed(&self) -> bool {
        self.counter(counter::EXECUTED) > 0
    }

    /// What was seen so far.
    pub fn so_far(&mut self) -> Seen {
        let now_ns = clock::monotonic_ns();
        self.count_missed();
        self.look();
        gather::seen(self, now_ns)
    }

    fn count_missed(&mut self) {
        self.missed = self.running.iter().filter(|one| one.0).map(|one| one.1.missed()).sum();
    }

    /// Detaches, and gives what was seen.
    pub fn finish(&mut self) -> Seen {
        let ended_ns = clock::monotonic_ns();
        self.count_missed();
        self.tables.target.set(&ONLY, &0u64.to_le_bytes(), false);
        self.running.clear();
        self.look();
        gather::seen(self, ended_ns)
    }

    fn look_at_threads(&mut self) {
        if self.has_executed() {
            return;
        }
        let now = clock::monotonic_ns();
        for tid in seed::threads(self.pid) {
            let life = self.lives.entry(tid);
            let life = life.or_insert_with(|| Life { name: String::new(), met: [now, now] });
            life.met[1] = now;
            if life.name.is_empty() {
                life.name = seed::name(self.pid, tid);
            }
        }
    }

    fn look_at_files(&mut self) {
        // After an exec, the lists are another program's.
        if self.has_executed() || !self.modules.look(self.pid) {
            return;
        }
        let ranges: Vec<u8> =
            self.modules.ranges().into_iter().flat_map(u64::to_le_bytes).collect();
        self.tables.ranges.set(&ONLY, &ranges, false);
        self.unwinder.look(&self.modules);
    }

    fn counter(&self, place: i16) -> u64 {
        let counters = self.tables.counters.get(&ONLY).unwrap_or_default();
        words::at(&counters, usize::from(place.unsigned_abs()))
    }

    fn losses(&self) -> Losses {
        Losses {
            waits: self.counter(counter::WAITS) + self.counter(counter::THREADS),
            waited_ns: self.counter(counter::WAITED),
            stacks: self.counter(counter::STACKS),
            missed: self.missed,
        }
    }
}

fn arm(events: &Tracefs, tracepoint: &str, code: Assembler) -> Result<Attached, Cannot> {
    let id = events.event_id(tracepoint).map_err(|error| Cannot::from_tracing(&error))?;
    let program =
        Program::load(code).map_err(|refused| Cannot::from_refusal(tracepoint, &refused))?;
    program.attach(id).map_err(|error| Cannot::from_error(&error))
}
