//! Facts that the record cannot contain because they are outside the program: its exit, and the kernel's figures.

use crate::run::{FutexSite, SpanKind, StillRunning, Thread};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What `unc` itself observed of a run; a trace file keeps it with the record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The program and its arguments, as given.
    pub command: Vec<String>,
    /// Its process id.
    pub pid: Option<u32>,
    /// Exit status of the program; 128 + the signal's number if a signal ended it.
    pub exit_status: i32,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// Whether a time limit (`--for`) ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_by_limit: bool,
    /// From the start of the program to its end, or to now.
    pub wall_ns: u64,
    /// Whether the program is still running, and this is what was recorded so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub so_far: bool,
    /// When the run began, in seconds since 1970.
    pub started_unix_s: u64,
    /// The kernel's figures for every thread that was sampled.
    pub threads: Vec<ThreadFacts>,
    /// How long after the start recording began.
    #[serde(default)]
    pub delay_ns: u64,
    /// Processes that the program left running, if `still_running` does not list them.
    #[serde(default)]
    pub left_running: u32,
    /// Processes that the program left running.
    #[serde(default)]
    pub still_running: Vec<StillRunning>,
    /// The names of the addresses in use, by module: the files may change. Only in a kept trace.
    #[serde(default)]
    pub names: Vec<ModuleNames>,
    /// Processes that ran as another user for some time.
    #[serde(default)]
    pub other_users: u32,
    /// When processes were first seen to have ended, or to run a program that does not record.
    #[serde(default)]
    pub ends: Vec<ProcessEnd>,
    /// Programs that were sampled without the record mapped.
    #[serde(default)]
    pub unrecorded: Vec<Unrecorded>,
    /// The CPUs that it may use from its start on, if that is known.
    #[serde(default)]
    pub cpus: Option<u32>,
    /// Added cost of one observed uncontended lock and unlock.
    pub cost_ns_per_pair: Option<f64>,
    /// The CPU time of the program and of the children that it waited for, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Why the program could not be observed, if its file shows that.
    pub unobserved: Option<String>,
    /// Whether it uses an OpenMP runtime whose waits only the kernel sees, and that did not watch.
    #[serde(default)]
    pub openmp_unseen: bool,
    /// Futex waiting as the kernel saw it; needs root.
    pub futex: Option<FutexFacts>,
    /// The load whose end ended the program.
    #[serde(default)]
    pub load: Option<LoadFacts>,
    /// What the kernel saw of it from outside, if it did; the record is made of that.
    #[serde(default)]
    pub seen: Option<SeenFacts>,
    /// Patterns of functions, files and modules that implement locks (`--skip-frames`).
    #[serde(default)]
    pub skip_frames: Vec<String>,
    /// The calls of one function (`--span`).
    #[serde(default)]
    pub spans: Option<SpanFacts>,
}

/// The names that a module's file had for addresses in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModuleNames {
    /// Its path.
    pub module: String,
    /// Its build id, in hexadecimal; empty if it has none.
    pub build_id: String,
    /// If it has none, length, time (in nanoseconds since 1970) and inode of its file, if known.
    #[serde(default)]
    pub file: Option<[u64; 3]>,
    /// The frames at each address, innermost first.
    pub frames: Vec<(u64, Vec<NamedFrame>)>,
    /// The variables in which locks are, by the addresses of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(u64, String)>,
}

/// A frame without its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFrame {
    /// Demangled name.
    pub function: Option<Arc<str>>,
    /// Source file.
    pub file: Option<Arc<str>>,
    /// Line in that file.
    pub line: Option<u32>,
}

/// What the kernel saw of processes from outside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenFacts {
    /// The processes that were running already; none if `unc` started the program.
    pub attached: Vec<u32>,
    /// Those of them that ended before `unc` did.
    pub ended: Vec<u32>,
    /// Processes that executed another program, up to which they were watched.
    pub executed: Vec<u32>,
    /// Programs that the processes executed, each watched from then on.
    #[serde(default)]
    pub followed: u64,
    /// How long one of these ran before it was watched, at most.
    #[serde(default)]
    pub late_ns: u64,
    /// How long the program that `unc` started ran before it was watched, at most; none if it was watched later on
    /// purpose, or ran already.
    #[serde(default)]
    pub unseen_ns: Option<u64>,
    /// Child processes that ran already, and are not watched.
    #[serde(default)]
    pub children: Vec<u32>,
    /// Those of the processes that were stopped (state T) when watching began.
    #[serde(default)]
    pub stopped: Vec<u32>,
    /// Waits that found no room, and are in no figure.
    pub lost_waits: u64,
    /// Their time.
    pub lost_ns: u64,
    /// Waits whose stacks found no room when they were met; what they waited for is in the figures.
    pub lost_stacks: u64,
    /// Waits that a thread of a process which is not watched ended.
    pub woken_by_others: u64,
    /// Futex calls, of any process, at which the kernel left its programs out.
    #[serde(default)]
    pub missed: u64,
    /// Waiting that is summed by the innermost functions, since these have too many callers.
    #[serde(default)]
    pub summed_ns: u64,
    /// Waiting without code, since there are too many such functions.
    #[serde(default)]
    pub rest_ns: u64,
    /// Processes that were forked meanwhile, and watched.
    #[serde(default)]
    pub forked: u64,
    /// Those of them that called a futex, or still ran at the end.
    #[serde(default)]
    pub forked_kept: Vec<u32>,
    /// Those of them that executed another program, up to which they were watched.
    #[serde(default)]
    pub forked_executed: u64,
    /// The first of these.
    #[serde(default)]
    pub forked_executed_pids: Vec<u32>,
    /// Processes that were forked meanwhile, and not watched, for lack of room.
    #[serde(default)]
    pub forked_unwatched: u64,
}

/// The calls of one function, or the spans of a name that the program announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanFacts {
    /// The function, as given, or the name.
    pub name: String,
    /// Which of the two.
    pub kind: SpanKind,
    /// The newest ones that have ended, those of a thread in the order of their ends.
    pub spans: Vec<SpanFact>,
    /// How many there were before these.
    pub earlier: u64,
    /// Calls and returns that came too fast to follow.
    pub lost: u64,
    /// What watching adds to a call, measured at the start.
    #[serde(default)]
    pub cost_ns: Option<u64>,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanFact {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// From the start of the program to the call.
    pub began_ns: u64,
    /// From the start of the program to the return.
    pub ended_ns: u64,
}

/// A command that used the program, and whose end ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadFacts {
    /// The command line, as given.
    pub command: String,
    /// The command line that succeeded once the program was ready for it; none if it began at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Its exit status; 128 + the signal's number if a signal ended it.
    pub exit_status: i32,
    /// From the start of the program to the start of the load.
    pub begun_ns: u64,
    /// From the start of the program to the end of the load.
    pub ended_ns: u64,
}

/// A program that did not record when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    /// Its process.
    pub pid: u32,
    /// Its arguments.
    pub command: Vec<String>,
    /// Whether the observer was loaded into it.
    pub loaded: bool,
    /// Whether its root directory is another one than `unc`'s.
    #[serde(default)]
    pub elsewhere: bool,
}

/// The end of a program in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// The process.
    pub pid: u32,
    /// From the start of the program that `unc` started to when this one was first seen to have ended.
    pub ended_ns: u64,
    /// What ended it.
    #[serde(default)]
    pub by: EndedBy,
}

/// What ended a program in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The kernel did not say.
    #[default]
    Unknown,
    /// Its process executed another one.
    Exec,
    /// The program itself.
    Exit,
    /// This signal.
    Signal(i32),
}

/// The kernel's figures for one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadFacts {
    /// Its process.
    pub pid: u32,
    /// Its figures.
    pub thread: Thread,
}

/// Futex waiting as the kernel saw it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FutexFacts {
    /// Waits of all threads.
    pub waits: u64,
    /// Their total time.
    pub total_ns: u64,
    /// Threads and processes that found no room, and calls that were left out.
    pub lost: u64,
    /// The longest call sites, longest first.
    pub sites: Vec<FutexSite>,
    /// The same by thread.
    pub threads: Vec<FutexThread>,
}

/// Futex waiting of one thread, as the kernel saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FutexThread {
    /// Its process.
    pub pid: u32,
    /// Its id.
    pub tid: u32,
    /// The total time of its waits.
    pub total_ns: u64,
}
