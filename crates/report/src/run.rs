//! The result of `unc run` as data: schema `uncontended.run/1`.
//!
//! # Contract
//! Field names are the JSON contract of `docs/json.md`: within version 1, fields may be added, never renamed or
//! removed. Times are nanoseconds. A field that is meaningless for a kind of lock is `null`, never zero.
//! # Sources
//! The definitions (blocked, wait, idle, hold, class) are those of ARCHITECTURE.md.

mod blamed;
mod coverage;
mod cycles;
mod ends;
mod join;
mod seen;
mod spans;
mod thread;

pub use blamed::{
    Blame, Blamed, BlamedKind, GAINS, HoldersWaited, Keeper, OnPath, PathTaken, RankedBy, WaitedIn,
    WaitedOn,
};
pub use coverage::{
    Coverage, CutShort, Degraded, FutexSite, HeldThen, NotRecording, StillRunning, Summed,
    SymbolsMismatch,
};
pub use cycles::{Deadlock, Inversion, LockOrder, Nested, Stuck};
pub use ends::{Head, Herd, Hung, Left, TimedOut, Unfinished};
pub use join::Join;
pub use seen::{AttachedTo, Clock, Holds, Source};
pub use spans::{SpanGroup, SpanKind, SpanPart, Spans};
pub use thread::Thread;

use crate::facts::LoadFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of `schema`.
pub const SCHEMA: &str = "uncontended.run/1";

/// Everything about one run of a program.
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
    /// Whether a time limit (`--for`) ended the program, whatever its exit status: it set the run's length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_by_limit: bool,
    /// From the start of the program to its end; of processes that were attached to, the time that they were watched.
    pub wall_ns: u64,
    /// The CPUs that it could use when it started; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Whether the program is still running, and this is what was recorded so far; `exit_status` is 0 then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub so_far: bool,
    /// Where the waiting was seen from.
    #[serde(default)]
    pub source: Source,
    /// The processes that were running already (`unc attach`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedTo>,
    /// The command that used the program, and whose end ended it (`--load`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadFacts>,
    /// The clock behind every time.
    pub clock: Clock,
    /// One entry per program image that ran: each fork and each exec starts a new one.
    pub processes: Vec<Process>,
    /// What the run saw and what it could not see.
    pub coverage: Coverage,
    /// The cost of observing.
    pub observer: Observer,
    /// At most five, each with its evidence.
    pub findings: Vec<Finding>,
    /// The code that caused the waiting at rows of class contention or gate, the most first; at most [`CULPRITS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<Blamed>,
    /// How they are ranked.
    #[serde(default)]
    pub ranked_by: RankedBy,
    /// Which holds `hold_ns` is over; none if no hold was recorded, or by an earlier version, which recorded all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Holds>,
    /// The path that set the length of each process that ended by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathTaken>,
    /// The calls of one function (`--span`), then the spans that the program announces, by name: at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Spans>,
    /// Cycles of threads that waited for each other when the run ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deadlocks: Vec<Deadlock>,
    /// Locks that were taken in two orders; none if that was not recorded (`--lock-order`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_order: Option<LockOrder>,
    /// The pattern of `--only`: locks that do not match it are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// Most culprits of a report.
pub const CULPRITS: usize = 100;

/// One program image: a process between two execs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// One row per lock lifetime (two for a read-write lock).
    pub locks: Vec<Lock>,
    /// One row per thread.
    pub threads: Vec<Thread>,
    /// Waits for other threads to end, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<Join>,
    /// If each of its threads waited when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung: Option<Hung>,
    /// When it ended, from the start of the run, if the run continued after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
}

impl Process {
    /// The sum of its threads' lives in a run of `wall_ns`, less the time that they waited for others to end. A thread
    /// counts the whole run, or what there was of it when the process ended, if its life was not recorded. A process
    /// without a known thread had one.
    pub(crate) fn lived_ns(&self, wall_ns: u64) -> u64 {
        let wall_ns = self.ended_ns.unwrap_or(wall_ns);
        let lives = self.threads.iter().map(|thread| {
            let lived_ns = thread.lived_ns.unwrap_or(wall_ns);
            lived_ns.saturating_sub(thread.joined_ns.unwrap_or(0))
        });
        lives.reduce(u64::saturating_add).unwrap_or(wall_ns).max(1)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// The program's own annotated lock.
    Annotated,
}

/// How to interpret the waiting at a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Threads wait because another uses the resource.
    Contention,
    /// One thread passes the turn to a particular other.
    HandOff,
    /// The long holds of one thread cause the waiting, and those of the others next to none: perhaps on purpose.
    Gate,
    /// Threads wait for work.
    Queue,
    /// The evidence does not show which.
    Unknown,
}

impl Class {
    /// Whether the holders of the lock cause the waiting. A gate's keeper may mean to hold the others up, but it does.
    pub(crate) fn is_caused_by_holders(self) -> bool {
        matches!(self, Class::Contention | Class::Gate)
    }
}

/// What an object without a holder is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Like {
    /// A lock: its waiters wait for the thread that has it.
    Mutex,
    /// A condition: its waiters wait for an event.
    Condition,
    /// A semaphore: its waiters wait for a thread that has it, or for an event, which its class says.
    Semaphore,
}

/// One row: a lock, or one side of a read-write lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// Unique within the run, stable between forms of the same record.
    pub id: u64,
    /// The kind of object.
    pub kind: Kind,
    /// How to interpret its waiting.
    pub class: Class,
    /// What a futex is used for: by the names of the functions that waited, else by which threads wake it. Of a
    /// condition or a semaphore, whether the code of a known lock made its threads sleep on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<Like>,
    /// The name by which people know it (Python's interpreter lock).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// Whether other processes may use it, by its attribute and the memory that it is in.
    #[serde(default)]
    pub shared: bool,
    /// The processes that used it, in the order in which they began, if it is known in all of them; else it is a row of
    /// one process alone, for which no idle time is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<u32>,
    /// Whether the record had no room for each lock alone, so that sums were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summed: Option<Summed>,
    /// The code that the row is grouped by: where it was created, else first taken; where it was waited for the most,
    /// if it is a condition or a semaphore of a lock.
    pub site: Option<Frame>,
    /// The stack where it was created (init), innermost frame first.
    pub created: Vec<Frame>,
    /// The stack where it was first taken.
    pub first_taken: Vec<Frame>,
    /// Its address, as hexadecimal text.
    pub address: String,
    /// The variable that it is or is part of (`table+0x40`), if that stays in one place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// How many earlier locks had this address.
    pub life: u32,
    /// Of a read-write lock, the row of its other side: that of its readers, or of its writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_side: Option<u64>,
    /// All acquisitions (for conditions, barriers and futexes: waits).
    pub acquisitions: u64,
    /// Waits: acquisitions that failed at the first try, and waits that timed out. With the latter it may exceed
    /// `acquisitions`.
    pub blocked: u64,
    /// Those of `blocked` in which the thread slept in the kernel, as far as that is known; none if it is of no wait.
    #[serde(default)]
    pub slept: Option<u64>,
    /// The number of waits of which it is known; none if it is of all or of no wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_known: Option<u64>,
    /// Failed tries (trylock and the like).
    pub try_failed: u64,
    /// The waits among `blocked` that ended without the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<TimedOut>,
    /// How often a waiter got it because its holder had died with it (robust mutexes); at most 255 a thread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub owner_died: u64,
    /// The thread that had it when it ended, if others waited for it after that and none has had it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// Its wakeups that woke several threads at once, some of them for nothing (conditions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub herd: Option<Herd>,
    /// Threads that took it.
    pub threads: u32,
    /// Threads that waited for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiters: u64,
    /// Acquisitions by a different thread than the previous one.
    pub owner_changes: Option<u64>,
    /// Hold divided by wall time.
    pub utilisation: Option<f64>,
    /// Total wait divided by wall time.
    pub mean_queue: Option<f64>,
    /// Total wait divided by the sum of the lives of the process's threads, less the time that they waited for others
    /// to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Over the waits counted in `blocked`.
    pub wait_ns: Option<Distribution>,
    /// The lock was free while a live waiter wanted it.
    pub idle_ns: Option<Distribution>,
    /// The idle time by cause; the rest has an unknown one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_causes: Option<IdleCauses>,
    /// Its total wait before and after the wakeups, if the kernel saw it; waits that no wakeup ended are in neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken: Option<Woken>,
    /// From acquisition to release.
    pub hold_ns: Option<Distribution>,
    /// The longest wait and the threads involved.
    pub worst_wait: Option<WorstWait>,
    /// The longest idle interval and the threads involved.
    pub worst_idle: Option<WorstIdle>,
    /// Waits still in progress when the run ended; they are in no other figure of the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// The thread that those waits are for in the end; none if it is not known, or in a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_behind: Option<Head>,
    /// Its total wait, divided; none for semaphores that are not locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// The code whose holds caused its wait, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<Blamed>,
    /// The thread whose holds cause the waiting, of class gate, or that came last for most of it, where threads meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<Keeper>,
    /// What its holders waited for themselves meanwhile; none if no hold of it is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holders_waited: Option<HoldersWaited>,
    /// The code that ended its waits, the most waiting first: of conditions, barriers and futexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_by: Vec<Blamed>,
    /// The code that waited for it, the most waiting first; at most 17 places a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited_in: Vec<WaitedIn>,
    /// The longest waits, idle intervals and holds with their times; empty if the record lacks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

impl Lock {
    /// Whether it is shared with processes in which it could not be recognised.
    pub(crate) fn is_apart(&self) -> bool {
        self.shared && self.processes.is_empty()
    }

    /// All calls that might wait: acquisitions and, for locks that are taken, waits that ended without the lock.
    pub fn attempts(&self) -> u64 {
        let waits_are_counted = matches!(self.kind, Kind::Condition | Kind::Barrier | Kind::Futex);
        let lost = self.timed_out.filter(|_| !waits_are_counted).map_or(0, |lost| lost.count);
        self.acquisitions.saturating_add(lost)
    }

    /// Whether one thread of many sleeps on it, that waits for a lock of the program's own making.
    pub(crate) fn is_sleepers(&self) -> bool {
        self.kind != Kind::Futex && self.like == Some(Like::Mutex)
    }

    /// Whether its waiters wait for a thread that has it, as far as is known, and not for work or an event.
    pub(crate) fn is_held(&self) -> bool {
        match self.kind {
            Kind::Mutex | Kind::Spin | Kind::Annotated => true,
            Kind::RwlockRead | Kind::RwlockWrite => true,
            Kind::Semaphore | Kind::Condition | Kind::Futex => self.class == Class::Contention,
            Kind::Barrier => false,
        }
    }

    /// Whether a wakeup gives it back, as one does that ends the waiting for a lock of the program's own making.
    pub(crate) fn is_given_back(&self) -> bool {
        self.kind == Kind::Futex || self.is_sleepers()
    }
}

/// One of the longest times of a lock, and when it occurred.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// What it is the duration of.
    pub what: Span,
    /// When it began, from the start of the program.
    pub at_ns: u64,
    /// How long it lasted.
    pub ns: u64,
    /// The thread that waited or held; for an idle interval the one that ended it.
    pub tid: Option<u32>,
    /// Why the lock was idle; only for idle intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<IdleCause>,
}

/// The three kinds of times of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// From the call to the acquisition.
    Wait,
    /// The lock was free while a live waiter wanted it.
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
    /// The histogram: `[low_ns, high_ns, count]` for every nonempty bucket.
    pub buckets: Vec<(u64, u64, u64)>,
}

/// The longest wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstWait {
    /// How long.
    pub ns: u64,
    /// Stack of the thread that waited.
    pub waiter: Vec<Frame>,
    /// Stack of the thread that held the lock, at its release.
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
    /// Why the lock was idle.
    pub cause: IdleCause,
    /// Whether the thread that ended the interval ran on the CPU on which the lock had been released; only if its
    /// waiter got no CPU until then.
    #[serde(default)]
    pub on_releasers_cpu: bool,
}

/// Why a lock was free while a thread waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleCause {
    /// The waiter had not been woken yet.
    NotWoken,
    /// The waiter was runnable but had no CPU.
    NotScheduled,
    /// A thread that had not waited took it.
    Barged,
    /// The evidence does not show why.
    Unknown,
}

/// The idle time of a lock by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IdleCauses {
    /// [`IdleCause::NotWoken`].
    pub not_woken_ns: u64,
    /// [`IdleCause::NotScheduled`].
    pub not_scheduled_ns: u64,
    /// The part of `not_scheduled_ns` after which the waiter ran on the CPU on which the lock had been released.
    #[serde(default)]
    pub releasers_cpu_ns: u64,
    /// [`IdleCause::Barged`].
    pub barged_ns: u64,
}

/// Waiting that wakeups ended, as the kernel saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Woken {
    /// Until the wakeup.
    pub not_woken_ns: u64,
    /// From the wakeup until the waiter ran and its call returned.
    pub not_scheduled_ns: u64,
}

/// One frame of a stack. Stacks of many rows have the same frames: their texts are shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled name.
    pub function: Option<Arc<str>>,
    /// Source file.
    pub file: Option<Arc<str>>,
    /// Line in that file.
    pub line: Option<u32>,
    /// Path of the program or library.
    pub module: Option<Arc<str>>,
    /// Address within the module, as hexadecimal text.
    pub address: Arc<str>,
}

/// The cost of observing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observer {
    /// Added cost of one uncontended lock and unlock, measured on this machine at the start.
    pub cost_ns_per_pair: Option<f64>,
    /// That cost for each time that a lock was taken, summed over all threads: an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<u64>,
    /// What that is of the CPU time of all threads (0 to 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// Events dropped because there was no memory for them.
    pub records_dropped: u64,
    /// The most locks that one thread took, of those with rows of their own.
    #[serde(default)]
    pub most_locks: u64,
}

/// A sentence about the run with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that speaks, such as `gate`; empty in runs kept by earlier versions.
    #[serde(default)]
    pub rule: String,
    /// The sentence.
    pub text: String,
    /// The lock that it is about.
    pub lock: Option<u64>,
    /// The other locks, of the same kind and site, of which it says the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<u64>,
    /// The lock's [`Lock::wait_share`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// The figures behind the sentence, by name.
    pub evidence: BTreeMap<String, f64>,
}
