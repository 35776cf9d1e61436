//! The result of `unc run` as data: schema `uncontended.run/1`.
//!
//! # Contract
//! Field names are the JSON contract of `docs/json.md`: fields may be added, none is renamed or removed within
//! version 1. Times are nanoseconds. A field without meaning for a kind of lock is `null`, never zero.
//! # Sources
//! The definitions (blocked, wait, idle, hold, class) are those of ARCHITECTURE.md.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema`.
pub const SCHEMA: &str = "uncontended.run/1";

/// Everything one run of a program showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The program and its arguments, as given.
    pub command: Vec<String>,
    /// Exit status of the program; 128 + the signal's number if a signal ended it.
    pub exit_status: i32,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// From the start of the program to its end.
    pub wall_ns: u64,
    /// The clock behind every time.
    pub clock: Clock,
    /// One entry for every program image that ran: a fork or an exec begins a new one.
    pub processes: Vec<Process>,
    /// What was seen and what could not be.
    pub coverage: Coverage,
    /// What observing cost.
    pub observer: Observer,
    /// At most five, each with its evidence.
    pub findings: Vec<Finding>,
}

/// The clock behind every time of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `cntvct` or `clock_gettime(CLOCK_MONOTONIC)`.
    pub source: String,
    /// The smallest difference that the clock shows.
    pub step_ns: f64,
}

/// One program image: a process between two execs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// One row for each lock life (two for a read-write lock).
    pub locks: Vec<Lock>,
    /// One row for each thread.
    pub threads: Vec<Thread>,
}

/// What kind of object a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `pthread_mutex_t` and what is built on it.
    Mutex,
    /// The readers of a `pthread_rwlock_t`.
    RwlockRead,
    /// The writers of a `pthread_rwlock_t`.
    RwlockWrite,
    /// `pthread_spinlock_t`.
    Spin,
    /// `pthread_cond_t`.
    Condition,
    /// `sem_t`.
    Semaphore,
    /// `pthread_barrier_t`.
    Barrier,
    /// A futex waited on through `syscall`.
    Futex,
    /// A lock of the program's own, annotated.
    Annotated,
}

/// How the waiting at a lock is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Threads wait because another uses what they want.
    Contention,
    /// One thread passes the turn to a certain other.
    HandOff,
    /// One thread holds the others off for long, on purpose.
    Gate,
    /// Threads wait for work.
    Queue,
    /// The evidence does not tell.
    Unknown,
}

/// One row: a lock, or one side of a read-write lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// Unique within the run, stable between forms of the same record.
    pub id: u64,
    /// What it is.
    pub kind: Kind,
    /// How its waiting is to be read.
    pub class: Class,
    /// The code that the row is grouped by: where it was created, else first taken.
    pub site: Option<Frame>,
    /// The stack where it was created (init), innermost frame first.
    pub created: Vec<Frame>,
    /// The stack where it was first taken.
    pub first_taken: Vec<Frame>,
    /// Its address, as hexadecimal text.
    pub address: String,
    /// How many locks lived at this address before.
    pub life: u32,
    /// All acquisitions (for conditions, barriers and futexes: waits).
    pub acquisitions: u64,
    /// Waits: acquisitions that failed at the first try, and waits that timed out. With the latter it may exceed
    /// `acquisitions`.
    pub blocked: u64,
    /// Tries (trylock and the like) that failed.
    pub try_failed: u64,
    /// The waits among `blocked` that ended without the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<TimedOut>,
    /// Threads that took it.
    pub threads: u32,
    /// Acquisitions by another thread than the one before.
    pub owner_changes: Option<u64>,
    /// Hold divided by wall time.
    pub utilisation: Option<f64>,
    /// Total wait divided by wall time.
    pub mean_queue: Option<f64>,
    /// Over the waits counted in `blocked`.
    pub wait_ns: Option<Distribution>,
    /// Free while a live waiter wanted it.
    pub idle_ns: Option<Distribution>,
    /// From acquisition to release.
    pub hold_ns: Option<Distribution>,
    /// The longest wait and who was involved.
    pub worst_wait: Option<WorstWait>,
    /// The longest idle interval and who was involved.
    pub worst_idle: Option<WorstIdle>,
    /// Waits that had not ended when the run did; they are in no other figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// The longest waits, idle intervals and holds with their place in time; empty where the record does not tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

/// Waits that ended without what they were for: their time ran out, or they were interrupted or cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOut {
    /// How many.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub total: u64,
    /// The longest, in nanoseconds.
    pub max: u64,
}

impl TimedOut {
    /// Those of two together.
    pub(crate) fn and(self, other: TimedOut) -> TimedOut {
        TimedOut {
            count: self.count.saturating_add(other.count),
            total: self.total.saturating_add(other.total),
            max: self.max.max(other.max),
        }
    }
}

impl Lock {
    /// All calls for it that might wait: acquisitions, and for what is taken, waits that ended without it.
    pub fn attempts(&self) -> u64 {
        let waits_are_counted = matches!(self.kind, Kind::Condition | Kind::Barrier | Kind::Futex);
        let lost = self.timed_out.filter(|_| !waits_are_counted).map_or(0, |lost| lost.count);
        self.acquisitions.saturating_add(lost)
    }
}

/// Waits for a lock that had not ended when the run did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How many threads waited, as far as they were told apart (sixteen).
    pub count: u64,
    /// How long the first of them had waited.
    pub longest_ns: u64,
    /// How long the lock had been held, if it was.
    pub held_ns: Option<u64>,
    /// The thread that held it.
    pub holder: Option<u32>,
}

/// One of the longest times of a lock, with its place in the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// What lasted.
    pub what: Span,
    /// When it began, from the start of the program.
    pub at_ns: u64,
    /// How long it lasted.
    pub ns: u64,
    /// The thread that waited or held; for an idle interval the one that ended it.
    pub tid: Option<u32>,
    /// Why the lock stood idle; for idle intervals only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<IdleCause>,
}

/// The three times of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// From the call to the acquisition.
    Wait,
    /// Free while a live waiter wanted it.
    Idle,
    /// From acquisition to release.
    Hold,
}

/// A distribution of times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of times recorded.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// Median, to the histogram's stated error.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest, exact.
    pub max: u64,
    /// The longest four, longest first, exact.
    pub worst: Vec<u64>,
    /// The histogram itself: `[low_ns, high_ns, count]` for every bucket that is not empty.
    pub buckets: Vec<(u64, u64, u64)>,
}

/// The longest wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstWait {
    /// How long.
    pub ns: u64,
    /// Stack of the thread that waited.
    pub waiter: Vec<Frame>,
    /// Stack of the thread that held, at its release.
    pub holder: Vec<Frame>,
}

/// The longest idle interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstIdle {
    /// How long.
    pub ns: u64,
    /// Stack of the thread that had released.
    pub releaser: Vec<Frame>,
    /// Stack of the thread that ended the interval.
    pub waiter: Vec<Frame>,
    /// Why the lock stood idle.
    pub cause: IdleCause,
}

/// Why a lock stood free while somebody wanted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleCause {
    /// The waiter had not been woken yet.
    NotWoken,
    /// The waiter was runnable and got no CPU.
    NotScheduled,
    /// A thread that had not waited took it.
    Barged,
    /// The evidence does not tell.
    Unknown,
}

/// One frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled name.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// Path of the program or library.
    pub module: Option<String>,
    /// Address within the module, as hexadecimal text.
    pub address: String,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Name at its end.
    pub name: String,
    /// Time on a CPU.
    pub cpu_ns: Option<u64>,
    /// Time runnable but not running.
    pub runnable_ns: Option<u64>,
    /// Switches because the thread waited.
    pub voluntary_switches: Option<u64>,
    /// Switches because the scheduler took its CPU.
    pub involuntary_switches: Option<u64>,
    /// Moves to another CPU.
    pub migrations: Option<u64>,
    /// Its acquisitions, of all locks, that were not had at the first try.
    #[serde(default)]
    pub blocked: Option<u64>,
    /// Its total wait for all locks.
    #[serde(default)]
    pub wait_ns: Option<u64>,
    /// Its total wait for other threads to end.
    #[serde(default)]
    pub joined_ns: Option<u64>,
}

/// What was seen and what could not be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Program images that loaded the observer.
    pub processes_observed: u32,
    /// Sentences about what this run could not see; never empty.
    pub unseen: Vec<String>,
    /// Why nothing at all was seen, where that is so.
    pub nothing_seen: Option<String>,
    /// Programs that did not record, and why; those too short to be looked at are missing.
    #[serde(default)]
    pub not_recording: Vec<NotRecording>,
    /// Share (0 to 1) of all futex waiting time that the observer did not account for; needs root.
    pub futex_share_unaccounted: Option<f64>,
    /// Futex waits by call site as the kernel saw them; needs root.
    pub futex_sites: Vec<FutexSite>,
    /// Further figures by name.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// A program that did not record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRecording {
    /// Its process.
    pub pid: u32,
    /// Its arguments.
    pub command: Vec<String>,
    /// Why, in words.
    pub reason: String,
}

/// Futex waits of one call site, as the kernel saw them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FutexSite {
    /// Stack of the wait.
    pub stack: Vec<Frame>,
    /// Number of waits.
    pub waits: u64,
    /// Their total time.
    pub total_ns: u64,
}

/// What observing cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observer {
    /// Cost of one uncontended lock and unlock over the plain ones, measured on this machine at start.
    pub cost_ns_per_pair: Option<f64>,
    /// Events that found no room in the record.
    pub records_dropped: u64,
}

/// A sentence about the run with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// The lock that it is about.
    pub lock: Option<u64>,
    /// Figures that the sentence rests on, by name.
    pub evidence: BTreeMap<String, f64>,
}

impl RunReport {
    /// Keeps only the locks that have `pattern` in their kind, address, or the code of their site, creation or first
    /// use, and what was found about them.
    pub fn keep_matching(&mut self, pattern: &str) {
        for process in &mut self.processes {
            process.locks.retain(|lock| lock.matches(pattern));
        }
        let locks = || self.processes.iter().flat_map(|process| &process.locks);
        let kept = |id| locks().any(|lock| lock.id == id);
        self.findings.retain(|finding| finding.lock.is_none_or(kept));
    }
}

impl Lock {
    fn matches(&self, pattern: &str) -> bool {
        let kind = serde_json::to_value(self.kind).ok();
        let words = [kind.as_ref().and_then(|kind| kind.as_str()), Some(&*self.address)];
        let frames = self.site.iter().chain(&self.created).chain(&self.first_taken);
        let code = frames
            .flat_map(|frame| [&frame.function, &frame.file, &frame.module])
            .map(Option::as_deref);
        words.into_iter().chain(code).flatten().any(|text| text.contains(pattern))
    }
}
