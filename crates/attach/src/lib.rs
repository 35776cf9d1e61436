//! Where a running program's threads wait: every futex wait of a process, summed in the kernel.
//!
//! # Contract
//! [`Attach::new`] has the kernel take the programs; [`Attach::begin`] names a process, of one or several;
//! [`Attach::stop`] ends all counting at one instant; [`Attach::finish`] gives what was seen of them, and of the
//! processes that they forked meanwhile, as parts of a record (`uncontended_trace::compose`). The programs stay until
//! the [`Attach`] is dropped. No process is ever stopped, and nothing of it is changed: its memory is read, and the
//! kernel counts. What finds no room is counted as lost.
//! # State
//! [`programs`] run in the kernel and fill its tables; [`process`] knows the files and the call chains of each process.
//! # Evidence
//! `crates/cli/tests/attach.rs`: programs that know how they wait, seen by this and by the preloaded observer.
#![forbid(unsafe_code)]

mod cannot;
mod conditions;
mod gather;
mod jumps;
mod modules;
mod process;
mod programs;
mod seed;
mod shared;
mod totals;
mod unwind;
mod words;

pub use cannot::Cannot;
pub use gather::Seen;
pub use totals::{Counted, FRAMES, SiteTotal, ThreadTotal, Totals};

use process::Process;
use programs::{Call, StackTop, State, Tables, counter, processes};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use uncontended_sys::bpf::{Assembler, Attached, Program};
use uncontended_sys::clock;
use uncontended_sys::tracefs::Tracefs;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The one key of a table with one entry.
const ONLY: [u8; 4] = [0; 4];

/// The system calls that wait for futexes, by their names.
const CALLS: [(&str, Call); 3] =
    [("futex", Call::Futex), ("futex_wait", Call::Wait), ("futex_waitv", Call::WaitV)];

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

/// The processes that were forked meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forked {
    /// How many were watched.
    pub count: u64,
    /// Those of them that called a futex, or still run.
    pub kept: Vec<u32>,
    /// Those of them that executed another program, up to which they were watched: the first [`Forked::NAMED`].
    pub executed: Vec<u32>,
    /// How many did.
    pub executed_count: u64,
    /// How many were not watched, for lack of room.
    pub without_room: u64,
}

impl Forked {
    /// Processes that are named.
    pub const NAMED: usize = 100;

    fn forget(&mut self, state: &State) {
        if state.has_executed {
            self.executed_count += 1;
            if self.executed.len() < Self::NAMED {
                self.executed.push(state.pid);
            }
        }
    }

    /// With those that are not forgotten.
    fn with(&self, states: &[State], count: u64, without_room: u64) -> Self {
        let mut all = Forked { count, without_room, ..self.clone() };
        for state in states.iter().filter(|state| state.parent != 0) {
            // The kernel tells the end of a process some time after it.
            if state.has_called || seed::runs(state.pid) {
                all.kept.push(state.pid);
            }
            all.forget(state);
        }
        all
    }
}

/// Programs in the kernel that watch processes, and those that they fork.
pub struct Attach {
    /// Whether a wait is missing where one is left out, and the programs.
    running: Vec<(bool, Attached)>,
    missed: u64,
    tables: Tables,
    /// Those that were named.
    pids: Vec<u32>,
    /// When watching of the first began.
    began_ns: u64,
    /// When it was stopped; 0 if it was not.
    stopped_ns: u64,
    processes: BTreeMap<u32, Process>,
    forked: Forked,
    /// Whether the programs that the processes execute are watched, too.
    follows: bool,
    /// What was seen of those that a process ran before it executed another one.
    earlier: Vec<gather::Image>,
    /// How many programs were executed, and are watched.
    followed: u64,
    /// How long one of these ran before it was, at most.
    late_ns: u64,
}

impl std::fmt::Debug for Attach {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Attach").field("pids", &self.pids).finish_non_exhaustive()
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
        let offset = |tracepoint, field| {
            events.offset(tracepoint, field).map_err(|error| Cannot::from_tracing(&error))
        };
        let (waking, forked) = ("sched/sched_waking", "task/task_newtask");
        let freed = "sched/sched_process_free";
        let exited = processes::exited(&tables);
        let child = [offset(forked, "pid")?, offset(forked, "clone_flags")?];
        let others = [
            ("sched/sched_process_exec", processes::executed(&tables)),
            ("sched/sched_process_exit", exited),
            (freed, processes::freed(&tables, offset(freed, "pid")?)),
            (forked, processes::forked(&tables, child)),
            (waking, programs::waking(&tables, offset(waking, "pid")?)),
        ];
        let calls = CALLS.into_iter().filter(|(name, call)| {
            // An older kernel may not have the others.
            *call == Call::Futex || events.event_id(&format!("syscalls/sys_enter_{name}")).is_ok()
        });
        let mut running = Vec::new();
        // The return first: a call whose entry was seen is seen to its end.
        for (name, call) in calls.clone() {
            let code = programs::exit(&tables, call);
            running.push((true, arm(&events, &format!("syscalls/sys_exit_{name}"), code)?));
        }
        let (restart, again) = ("restart_syscall", programs::exit(&tables, Call::Futex));
        running.push((true, arm(&events, &format!("syscalls/sys_exit_{restart}"), again)?));
        for (tracepoint, code) in others {
            running.push((false, arm(&events, tracepoint, code)?));
        }
        let again = programs::restart(&tables);
        running.push((true, arm(&events, &format!("syscalls/sys_enter_{restart}"), again)?));
        for (name, call) in calls {
            let code = programs::enter(&tables, call);
            running.push((true, arm(&events, &format!("syscalls/sys_enter_{name}"), code)?));
        }
        let (processes, forked) = (BTreeMap::new(), Forked::default());
        let pids = Vec::new();
        let (missed, began_ns, stopped_ns) = (0, 0, 0);
        let (follows, earlier, followed, late_ns) = (false, Vec::new(), 0, 0);
        Ok(Attach {
            running,
            missed,
            tables,
            pids,
            began_ns,
            stopped_ns,
            processes,
            forked,
            follows,
            earlier,
            followed,
            late_ns,
        })
    }

    /// Watches the process `pid` from now on, and those that it forks. Waits in progress count from now on, too.
    pub fn begin(&mut self, pid: u32) {
        self.pids.push(pid);
        let now_ns = clock::monotonic_ns();
        if self.began_ns == 0 {
            self.began_ns = now_ns;
        }
        self.begin_image(Process::new(pid, now_ns));
        self.look();
    }

    /// The same, and watches the programs, too, that it and those that it forks execute, from when that is noticed.
    pub fn begin_and_follow(&mut self, pid: u32) {
        self.follows = true;
        self.begin(pid);
        self.tables.forget(std::process::id());
    }

    /// From now on until [`Attach::begin_and_follow`], what the processes fork that we start is watched, too.
    pub fn expect(&mut self) {
        self.tables.expect_forks(std::process::id());
    }

    fn begin_image(&mut self, mut process: Process) {
        let (pid, now_ns) = (process.pid, process.began_ns);
        // First of all: it may fork meanwhile. Its waits count once its ranges of code are known.
        self.tables.watch(pid, process.parent, now_ns, self.follows);
        process.modules.look(pid, || self.tables.is_watched(pid));
        self.tables.tell_ranges(pid, process.modules.ranges());
        process.read_files();
        process.look(&self.tables);
        self.processes.insert(pid, process);
        seed::met(&self.tables, pid, now_ns);
        seed::waiting(&self.tables, pid, now_ns);
    }

    /// Watches the program that a process has executed. What was seen of the one before is kept.
    fn follow(&mut self, state: &State) {
        self.keep(self.tables.stacks.keys());
        let Some(mut before) = self.processes.remove(&state.pid) else { return };
        let now_ns = clock::monotonic_ns();
        // Threads end with their program. Those of the one that is watched from now on are met below.
        let lives = self.tables.end_lives(state.pid, now_ns);
        before.ended_ns = lives.get(&state.pid).map_or(now_ns, |life| life[1]);
        let unwatched_since_ns =
            if before.ended_ns < now_ns { before.ended_ns } else { state.began_ns };
        if state.has_called || lives.len() > 1 {
            self.earlier.extend(gather::image(&self.tables, &mut before, lives, &self.processes));
            self.tables.clear(state.pid);
        }
        self.tables.ranges.remove(&state.pid.to_le_bytes());
        self.followed += u64::from(!state.is_unmet);
        let mut process = Process::new(state.pid, now_ns);
        process.parent = before.parent;
        process.earlier = before.earlier;
        process.earlier.extend(before.chains);
        self.begin_image(process);
        let late_ns = clock::monotonic_ns().saturating_sub(unwatched_since_ns);
        self.late_ns = self.late_ns.max(if state.is_unmet { 0 } else { late_ns });
    }

    /// When [`Attach::begin`] was first called, on CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Reads the lists of processes and files and the stacks that are new. Call it from time to time: files may be
    /// unmapped.
    pub fn look(&mut self) {
        // Those of a process that is new since then are left for the next time.
        let stacks = self.tables.stacks.keys();
        let states = self.tables.processes();
        states.iter().for_each(|state| self.look_at(state));
        let are: BTreeSet<u32> = states.iter().map(|state| state.pid).collect();
        self.processes.retain(|pid, _| are.contains(pid));
        self.keep(stacks);
    }

    /// Keeps the call chains of the stacks with these keys.
    fn keep(&mut self, stacks: Vec<Vec<u8>>) {
        for key in stacks {
            let Some(value) = self.tables.stacks.get(&key) else { continue };
            let top = StackTop::from_value(&value);
            if let Some(process) = self.processes.get_mut(&top.process) {
                process.keep(words::at(&key, 0), &top);
                self.tables.stacks.remove(&key);
            }
        }
    }

    fn look_at(&mut self, state: &State) {
        if !self.processes.contains_key(&state.pid) {
            let Some(parent) = self.processes.get(&state.parent) else { return };
            self.processes.insert(state.pid, parent.forked(state.pid, state.began_ns));
        }
        let follows = self.follows && state.has_executed && self.stopped_ns == 0;
        if follows && seed::runs(state.pid) {
            self.follow(state);
            return;
        }
        let Some(process) = self.processes.get_mut(&state.pid) else { return };
        process.has_executed = state.has_executed;
        process.ended_ns = state.ended_ns;
        // After the end, an exec is not noted any more.
        if self.stopped_ns == 0 && process.look(&self.tables) {
            self.tables.tell_ranges(process.pid, process.modules.ranges());
        }
        // There is no more to tell of it, and another one can have its room.
        if state.has_executed && state.ended_ns != 0 && !state.has_called && state.parent != 0 {
            self.tables.forget(state.pid);
            self.forked.forget(state);
        }
    }

    /// The mapped files that can be opened only as long as the processes live: they were deleted, or are in another
    /// mount namespace.
    pub fn files(&self) -> Vec<File> {
        let modules = self.processes.values().flat_map(|process| process.modules.known.values());
        let open = modules.filter_map(|module| module.open.as_ref());
        // Forked processes share them.
        let open: BTreeMap<_, _> = open.map(|file| (file.as_raw_fd(), file)).collect();
        open.into_values().filter_map(|file| file.try_clone().ok()).collect()
    }

    /// Those of the named processes that have executed another program. They are not watched any more since.
    pub fn executed(&self) -> Vec<u32> {
        let states = self.tables.processes();
        let executed = states.iter().filter(|state| state.has_executed).map(|state| state.pid);
        executed.filter(|pid| self.pids.contains(pid)).collect()
    }

    /// The processes that were watched at the last look, forked ones included.
    pub fn watched(&self) -> Vec<u32> {
        let watched = self.processes.iter().filter(|(_, process)| process.is_watched());
        watched.map(|(&pid, _)| pid).collect()
    }

    /// Whether a process is watched, and has not executed another program.
    pub fn is_watched(&self, pid: u32) -> bool {
        self.tables.is_watched(pid)
    }

    /// The processes that are watched and run, forked ones included.
    pub fn running(&self) -> Vec<u32> {
        let states = self.tables.processes();
        let watched = states.iter().filter(|state| !state.has_executed && state.ended_ns == 0);
        watched.map(|state| state.pid).filter(|&pid| seed::runs(pid)).collect()
    }

    /// What was seen so far.
    pub fn so_far(&mut self) -> Seen {
        self.count_missed();
        self.look();
        gather::seen(self, clock::monotonic_ns())
    }

    fn count_missed(&mut self) {
        self.missed =
            self.running.iter().filter(|one| one.0).map(|one| one.1.counts().missed).sum();
    }

    /// Ends all counting, now.
    pub fn stop(&mut self) {
        if self.stopped_ns == 0 {
            self.tables.stop();
            self.stopped_ns = clock::monotonic_ns();
        }
    }

    /// Ends all counting, and gives what was seen.
    pub fn finish(&mut self) -> Seen {
        if self.stopped_ns == 0 {
            self.look();
        }
        self.stop();
        self.count_missed();
        self.look();
        gather::seen(self, self.stopped_ns)
    }

    /// Drops it, without waiting for the kernel, which takes about a second: another process does that.
    pub fn close(self) {
        let running = self.running.into_iter().map(|(_, attached)| attached);
        Attached::close_aside(running.collect());
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
