//! The layout of the record: what lies where, in units of 64 bytes.
//!
//! # Contract
//! One memory file, little-endian, made by `unc` and mapped by every observed process. Everything after the header is
//! allocated once and never freed. Entries refer to each other by unit number ([`Unit`], 0 = none) and form lists whose
//! heads and links are set before the entry is reachable.
//! # State
//! ```text
//! unit 0..64   Header: facts, switches, allocation, counters, head of the processes
//!              Process ─ threads ─ Thread ─ cells ─ Cell ─ cold ─ Cold
//!                 │ │               │             └ caused ─ Caused (one for each site whose holds were waited for)
//!                 │ │               ├ nested ─ Nested (one for each lock and the locks held when it was taken)
//!                 │ │               ├ log ─ LogPart (its waits, holds and spans, the newest kept)
//!                 │ │               ├ spans ─ SpanName
//!                 │ │               └ summed ─ Lock (many locks that this thread took in one place)
//!                 │ ├─── locks ─── Lock ─ waiters ─ WaiterList (one Lock for each generation of an address)
//!                 │ │               └ recent ─ Recent
//!                 │ ├─── stacks ── Stack                       (addresses; each list of addresses once)
//!                 │ └─── modules ─ Module                      (what the addresses lie in)
//!                 └ index: tables of tagged lock units by address
//!              places: table of lists ─ Place (where a lock is that processes share; its current generation)
//! ```
//! A `Cell` is what one thread did to one generation of a lock; only that thread writes it. A lock costs 128 bytes, a
//! cell 384, its part for waits (`Cold`) 2,688, each site that made others wait (`Caused`) 64, a waiter list 640, and
//! the recent holds of a mutex with a condition variable 1,600, a lock taken while others are held 128, 127 entries of
//! a log 8,192, a name of spans 64, the place of a lock that processes share 64, and its address in one of them 128.
//! # Invariants
//! I1: every entry consists of integers for which any bit pattern is a value, so a torn or hostile entry is wrong but
//!     never invalid.
//! I2: a unit number is published after the entry that it names is complete (the edge of its list).

mod blame;
mod code;
mod log;
mod place;
pub mod wants;

pub use blame::*;
pub use code::*;
pub use log::*;
pub use place::*;

use crate::histogram::{COARSE, FINE};
use uncontended_atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Number of a unit of 64 bytes in the record; 0 means none.
pub type Unit = u32;

/// Bytes of a unit.
pub const UNIT: usize = 64;
/// The first bytes of every record.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNCRECRD");
/// Version of this layout. Change it whenever the assertion on the fingerprint fails.
pub const VERSION: u32 = 22;
/// Units that the header takes.
pub const HEADER_UNITS: u32 = 64;
/// Most frames of a stack.
pub const FRAMES: usize = 28;
/// Waiters of one lock whose arrivals its list holds.
pub const ARRIVALS: usize = 64;
/// Most locks held in an entry of [`Nested`].
pub const NESTED: usize = 14;
/// Levels of the index of locks; level `n` has [`level_slots`] slots.
pub const LEVELS: usize = 4;
/// Most locks of a record that have entries of their own ([`sharing::SUMMED`] says what the others have).
pub const OWN_LOCKS: u32 = 1 << 13;
/// Most lives of one address that have entries of their own.
pub const OWN_LIVES: u32 = 64;
/// Most entries of one thread for locks without entries of their own.
pub const SUMS: usize = 64;

/// Slots of a level of the index: 64-bit words, each with the number of a lock and, above it, some bits of its address.
pub const fn level_slots(level: usize) -> usize {
    256 << (3 * level)
}

/// Bits of [`Header::flags`].
pub mod flag {
    /// Holds are not recorded.
    pub const NO_HOLD: u32 = 1;
    /// Which locks are held while another is taken is recorded.
    pub const LOCK_ORDER: u32 = 2;
    /// Of the holds, those are recorded at whose end a thread waited.
    pub const WAITED_HOLDS: u32 = 4;
    /// The kernel tells threads without a system call whether they left their CPU.
    pub const SWITCHES: u32 = 8;
    /// The kernel saw it, from outside the program.
    pub const FROM_KERNEL: u32 = 16;
}

/// Values of [`Header::clock`].
pub mod clock {
    /// The time stamp counter.
    pub const TSC: u32 = 1;
    /// AArch64's virtual counter.
    pub const CNTVCT: u32 = 2;
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    pub const MONOTONIC: u32 = 3;
}

/// The first page.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Bits of [`flag`].
    pub flags: AtomicU32,
    /// 1 while events are recorded; `unc` flips it for `--delay`.
    pub enabled: AtomicU32,
    /// One of [`clock`].
    pub clock: AtomicU32,
    /// Ticks at the start of the program.
    pub start_ticks: AtomicU64,
    /// Nanoseconds of one tick, as the bits of a double.
    pub tick_ns: AtomicU64,
    /// The smallest difference that the clock shows in nanoseconds, as the bits of a double.
    pub step_ns: AtomicU64,
    /// Most units that there may be; lowered when the system refuses memory.
    pub capacity: AtomicU32,
    /// Units with memory behind them; raised as needed.
    pub available: AtomicU32,
    /// Units allocated.
    pub allocated: AtomicU32,
    /// Newest process.
    pub processes: AtomicU32,
    /// Events dropped because there was no room.
    pub dropped_room: AtomicU64,
    /// Events dropped because the thread was recording another one (in a signal handler), or because they came before
    /// its entry was made or after its end.
    pub dropped_busy: AtomicU64,
    /// Time differences that came out negative.
    pub negative: AtomicU64,
    /// Parts of all threads' logs.
    pub log_parts: AtomicU32,
    /// Table of lists of places: [`PLACE_LISTS`] unit numbers.
    pub places: AtomicU32,
    /// When a lock was first counted without an entry of its own; 0 if none was.
    pub summed_since: AtomicU64,
    /// Locks with entries of their own; more once there is no memory for others.
    pub own_locks: AtomicU32,
    /// Keeps the size a multiple of a word.
    pub spare: AtomicU32,
}

/// [`Process::parent`] of an entry that announces an image: `pid` was to execute the file `command` at `start_ticks`.
/// If the observer began in it, it has an entry of its own. `pid` is 0 while nothing is known, and after a failure.
pub const ANNOUNCED: u32 = u32::MAX;

/// One program image: from its start or a fork to its end or an exec.
#[repr(C)]
#[derive(Debug)]
pub struct Process {
    /// Next in the list of processes.
    pub next: AtomicU32,
    /// Process ID, in the PID namespace of `/proc`.
    pub pid: AtomicU32,
    /// Process ID of its parent.
    pub parent: AtomicU32,
    /// Bytes of `command`.
    pub command_bytes: AtomicU32,
    /// When it started.
    pub start_ticks: AtomicU64,
    /// Its arguments, each terminated by NUL.
    pub command: AtomicU32,
    /// Newest thread.
    pub threads: AtomicU32,
    /// Newest lock.
    pub locks: AtomicU32,
    /// Newest stack.
    pub stacks: AtomicU32,
    /// Newest module.
    pub modules: AtomicU32,
    /// Index of stacks: [`STACK_SLOTS`] unit numbers.
    pub stack_index: AtomicU32,
    /// Index of locks by address: level `n` has [`level_slots`] slots.
    pub index: [AtomicU32; LEVELS],
    /// Its last wakeups of futexes.
    pub wakes: AtomicU32,
    /// The thread that called `exit` or returned from `main`; 0 if that was not seen.
    pub ended_by: AtomicU32,
    /// When that was; 0 if the process ended otherwise.
    pub end_ticks: AtomicU64,
    /// Which addresses may be in the index: [`FILTER_WORDS`] words of bits.
    pub filter: AtomicU32,
    /// Keeps what follows at a multiple of a word.
    pub spare: AtomicU32,
    /// What its main thread had used before `start_ticks`: the fields of `records::Used`, in their order.
    pub before: [AtomicU64; 5],
}

/// Words of the filter of addresses.
pub const FILTER_WORDS: usize = 2048;

/// Slots of the index of stacks.
pub const STACK_SLOTS: usize = 4096;

/// One thread of a process.
#[repr(C)]
#[derive(Debug)]
pub struct Thread {
    /// Next in the process's list.
    pub next: AtomicU32,
    /// Thread ID, in the PID namespace of `/proc`, as [`Process::pid`] is.
    pub tid: AtomicU32,
    /// When it was first seen.
    pub start_ticks: AtomicU64,
    /// When it ended; 0 while it is alive.
    pub end_ticks: AtomicU64,
    /// Its CPU time at its end, in nanoseconds.
    pub cpu_ns: AtomicU64,
    /// Voluntary context switches at its end.
    pub voluntary: AtomicU64,
    /// Involuntary context switches at its end.
    pub involuntary: AtomicU64,
    /// Newest cell.
    pub cells: AtomicU32,
    /// The lock that it waits for; 0 if it waits for none.
    pub waits_for: AtomicU32,
    /// Since when it waits for that lock.
    pub waits_since: AtomicU64,
    /// Its name, padded with NUL.
    pub name: [AtomicU8; 16],
    /// Since when it waits for anything, including another thread's end; 0 while it does not wait.
    pub asleep_since: AtomicU64,
    /// Ticks spent waiting for other threads to end.
    pub joined: AtomicU64,
    /// Newest of its sums over locks without entries of their own.
    pub summed: AtomicU32,
    /// How many of these there are.
    pub sums: AtomicU32,
    /// The handle of the thread for whose end it waits, if `wants_how` says that.
    pub wants_end_of: AtomicU64,
    /// The holds that it waited for last; 0 before its first wait.
    pub chain: AtomicU32,
    /// The lock that it waits for, also if it has a slot in the list; read by no other thread.
    pub wants: AtomicU32,
    /// The part of `cpu_ns` in the kernel.
    pub system_ns: AtomicU64,
    /// When the call began that waits for `wants`.
    pub wants_since: AtomicU64,
    /// Stack of that call; 0 if unknown.
    pub wants_stack: AtomicU32,
    /// Parts of [`wants`].
    pub wants_how: AtomicU32,
    /// How often a lock was taken while others were held, without room to record which.
    pub nested_lost: AtomicU64,
    /// Newest of the locks taken while others were held.
    pub nested: AtomicU32,
    /// The thread that made it; 0 if that was not seen.
    pub creator: AtomicU32,
    /// The number of the wakeup that ended its last wait for a futex, plus one; 0 for none.
    pub came_by: AtomicU64,
    /// The handle by which other threads wait for its end.
    pub handle: AtomicU64,
    /// The first part of its log.
    pub log: AtomicU32,
    /// The part that it fills.
    pub log_now: AtomicU32,
    /// How many parts there are.
    pub log_parts: AtomicU32,
    /// Newest of the names of its spans.
    pub spans: AtomicU32,
    /// When it was made; 0 if that was not seen.
    pub made_ticks: AtomicU64,
    /// When it was cancelled first; 0 if that was not seen.
    pub cancelled_at: AtomicU64,
    /// Stack of the function that it began with, without callers; 0 if unknown. After that of C++: what it calls.
    pub began_in: AtomicU32,
    /// Thread ID as the thread itself and its locks know it, in its own PID namespace.
    pub number: AtomicU32,
    /// Keeps the size a multiple of a unit.
    pub spare: [AtomicU32; 10],
}

/// Values of [`Lock::kind`].
pub mod kind {
    /// `pthread_mutex_t`.
    pub const MUTEX: u8 = 1;
    /// The readers of a `pthread_rwlock_t`.
    pub const RWLOCK_READ: u8 = 2;
    /// The writers of a `pthread_rwlock_t`.
    pub const RWLOCK_WRITE: u8 = 3;
    /// `pthread_spinlock_t`.
    pub const SPIN: u8 = 4;
    /// `pthread_cond_t`.
    pub const CONDITION: u8 = 5;
    /// `sem_t`.
    pub const SEMAPHORE: u8 = 6;
    /// `pthread_barrier_t`.
    pub const BARRIER: u8 = 7;
    /// A word that the program waits on with `syscall(SYS_futex, …)`.
    pub const FUTEX: u8 = 8;
    /// A lock of the program's own, annotated.
    pub const ANNOTATED: u8 = 9;
}

/// Parts of [`Lock::attention`], which is 0 while a lock concerns only its holder.
pub mod attention {
    /// The bits that count the waiting threads.
    pub const WAITERS: u32 = MOVED - 1;
    /// An address at which a process had the lock is another one's now, or none's.
    pub const MOVED: u32 = 1 << 27;
    /// A wait has ended during a hold that continues. Of a read-write lock, it may be to be divided among several.
    pub const UNDIVIDED: u32 = 1 << 28;
    /// No lock but many of them ([`sharing::SUMMED`](super::sharing::SUMMED)).
    pub const SUMMED: u32 = 1 << 29;
    /// A thread left the lock to wait for a condition variable.
    pub const AWAY: u32 = 1 << 30;
    /// This generation has ended.
    pub const DEAD: u32 = 1 << 31;
}

/// Set in the address of the row of a read-write lock's readers: both rows have one address.
pub const READERS: u64 = 1 << 63;

/// One generation of a lock.
#[repr(C)]
#[derive(Debug)]
pub struct Lock {
    /// Its address, with [`READERS`] set on the row of a read-write lock's readers.
    pub address: AtomicU64,
    /// Ticks of the last release; 0 while it is held, and after a release that concerned no other thread
    /// ([`attention`]).
    pub release: AtomicU64,
    /// Ticks at which the last contended release had made its wakeup.
    pub woken: AtomicU64,
    /// Since when it has been free and wanted, if a waiter left meanwhile; 0 otherwise.
    pub open_since: AtomicU64,
    /// The release whose stack is `release_stack`.
    pub stack_at: AtomicU64,
    /// The last release at which a thread waited for it.
    pub wanted_at: AtomicU64,
    /// The cell of the thread that took it last; of an [`ALIAS`](sharing::ALIAS), the lock that is meant.
    pub owner: AtomicU32,
    /// Whether its releases concern other threads, and whether this generation has ended: parts of [`attention`].
    pub attention: AtomicU32,
    /// Stack of the last release that concerned other threads; 0 until it is known.
    pub release_stack: AtomicU32,
    /// Threads that hold it, of those seen taking it (read-write locks, semaphores).
    pub holders: AtomicU32,
    /// Its waiter list, from the first waiter on.
    pub waiters: AtomicU32,
    /// Threads that left it to wait for a condition variable and will return; written by its holder.
    pub away: AtomicU32,
    /// Next in the process's list.
    pub next: AtomicU32,
    /// Stack of its creation (init); 0 for a static one.
    pub created: AtomicU32,
    /// Stack of its first acquisition.
    pub first_taken: AtomicU32,
    /// The number of generations at this address before this one.
    pub generation: AtomicU32,
    /// Ticks of the last event that ends waits, by the code of `release_stack`: a signal, an arrival at a barrier, a
    /// wake of a futex.
    pub signalled: AtomicU64,
    /// One of [`kind`].
    pub kind: AtomicU8,
    /// What a semaphore is besides a lock: one of [`crossed`].
    pub crossed: AtomicU8,
    /// Whether threads pass it on by waking (conditions, futexes) or give it back (semaphores): parts of [`passing`].
    pub passing: AtomicU8,
    /// Whether processes share it: one of [`sharing`].
    pub sharing: AtomicU8,
    /// The thread that ended waits at `signalled`; of a read-write lock, the cell of the last thread to leave it.
    pub ended_by: AtomicU32,
    /// Sum of the times from its releases to the next acquisitions, of releases with a timestamp or a waiter.
    pub free: AtomicU64,
    /// When the hold began that its last release with a timestamp ended.
    pub began: AtomicU64,
    /// Its recent holds, from the first one on that is noted.
    pub recent: AtomicU32,
    /// The thread whose wait ended last, by a wakeup (conditions).
    pub came: AtomicU32,
}

/// Values of [`Lock::crossed`].
pub mod crossed {
    /// More than one thread had it at a time: it has several permits.
    pub const SEVERAL: u8 = 1;
    /// A thread that had not taken it released it: it is a signal.
    pub const SIGNAL: u8 = 2;
}

/// Parts of [`Lock::passing`].
pub mod passing {
    /// The last wakeup came from a thread that had what the others waited for.
    pub const PASS: u8 = 1;
    /// The thread of [`Lock::came`](super::Lock::came) has passed it on.
    pub const OVER: u8 = 2;
    /// A thread that had taken the semaphore has posted it.
    pub const BACK: u8 = 4;
}

/// Stacks that [`WaiterList::late`] has room for.
pub const LATE: usize = 6;

/// The waiters of a lock, to compute how long it stood idle.
#[repr(C)]
#[derive(Debug)]
pub struct WaiterList {
    /// When each waiter arrived; 0 marks a free slot.
    pub arrivals: [AtomicU64; ARRIVALS],
    /// Waiters without a slot.
    pub unplaced: AtomicU32,
    /// The next slot of `late` to write.
    pub next_late: AtomicU32,
    /// Stacks of releases that became known only after the release.
    pub late: [Late; LATE],
    /// A bit for each slot: whether its thread wants to share the lock (read-write locks).
    pub shared: AtomicU64,
    /// Its last holds that others waited for; 0 before the first one.
    pub chain: AtomicU32,
    /// One more than the CPU on which the lock was last released while a thread waited; 0 if that is unknown.
    pub released_on: AtomicU32,
    /// When the hold began during which a wait ended without the lock, with the sides of these waits in the low bits.
    pub given_up_in: AtomicU64,
}

/// The former name of [`WaiterList`].
#[deprecated(note = "use `WaiterList`")]
pub type Ledger = WaiterList;

/// The stack of one release, identified by its time.
#[repr(C)]
#[derive(Debug)]
pub struct Late {
    /// The time of the release.
    pub ticks: AtomicU64,
    /// Its stack.
    pub stack: AtomicU64,
}

/// What one thread did to one lock. An uncontended pair touches the first 64 bytes and the bucket of its hold; the
/// buckets of holds below a few thousand ticks come next.
#[repr(C)]
#[derive(Debug)]
pub struct Cell {
    /// Next in the thread's list.
    pub next: AtomicU32,
    /// The lock.
    pub lock: AtomicU32,
    /// The part for contended acquisitions.
    pub cold: AtomicU32,
    /// The current depth of the thread's hold (recursive locks).
    pub depth: AtomicU32,
    /// All acquisitions.
    pub acquisitions: AtomicU64,
    /// Stack of the current hold's acquisition; 0 if it is unknown.
    pub site: AtomicU32,
    /// Newest of the sites whose holds made others wait.
    pub caused: AtomicU32,
    /// Acquisitions that followed another thread's.
    pub owner_changes: AtomicU64,
    /// When the current hold began; 0 if there is none.
    pub hold_start: AtomicU64,
    /// Sum of all holds.
    pub hold_total: AtomicU64,
    /// The fourth longest hold: a longer one is kept.
    pub hold_fourth: AtomicU64,
    /// The number of holds in each bucket of `COARSE`, modulo 2^32.
    pub hold: [AtomicU32; COARSE.buckets],
    /// How often each of those counts passed 2^32.
    pub hold_carry: [AtomicU8; COARSE.buckets],
    /// Waits that ended with the lock of a thread that had died with it, up to 255.
    pub inherited: AtomicU8,
    /// Keeps what follows aligned.
    pub spare: [AtomicU8; 2],
    /// When the longest hold began.
    pub hold_worst_at: AtomicU64,
    /// The three longest holds, longest first.
    pub hold_worst: [AtomicU64; 3],
}

/// The part of a cell for contended acquisitions.
#[repr(C)]
#[derive(Debug)]
pub struct Cold {
    /// Waits: acquisitions that failed at the first try, and waits that timed out.
    pub blocked: AtomicU64,
    /// Sum of all waits.
    pub wait_total: AtomicU64,
    /// Sum of all idle intervals that this thread ended.
    pub idle_total: AtomicU64,
    /// Waits that ended without the lock.
    pub timed_out: AtomicU64,
    /// The four longest waits, longest first.
    pub wait_worst: [Extreme; 4],
    /// The four longest idle intervals, longest first.
    pub idle_worst: [Extreme; 4],
    /// The number of waits in each bucket of `FINE`.
    pub wait: [AtomicU64; FINE.buckets],
    /// The number of idle intervals in each bucket of `FINE`.
    pub idle: [AtomicU64; FINE.buckets],
    /// Sum of the waits that ended without the lock.
    pub timed_out_total: AtomicU64,
    /// The longest of them.
    pub timed_out_max: AtomicU64,
    /// Tries that failed.
    pub try_failed: AtomicU64,
    /// The parts of this thread's waits during which the lock was free.
    pub wait_free: AtomicU64,
    /// Sums of the idle intervals by [`cause`], without the unknown one.
    pub idle_by: [AtomicU64; cause::KNOWN],
    /// Sum of the waits that timed out since the last one that a wakeup ended (conditions).
    pub unserved: AtomicU64,
    /// Since when the thread has the mutex, after its last wait (conditions).
    pub unserved_at: AtomicU64,
    /// Sum of those that went on until a wakeup, in whose share they are (conditions).
    pub served: AtomicU64,
    /// Waits of which it is known whether the thread slept.
    pub slept_known: AtomicU64,
    /// Those in which it slept.
    pub slept: AtomicU64,
    /// Keeps the size a multiple of a unit.
    pub spare: [AtomicU64; 5],
}

/// A lock that a thread took while it held others, by a call that would have waited without a limit. A thread has one
/// entry for each lock and set of locks held.
#[repr(C)]
#[derive(Debug)]
pub struct Nested {
    /// Next in the thread's list.
    pub next: AtomicU32,
    /// The lock that it took.
    pub lock: AtomicU32,
    /// Stack of the first such acquisition.
    pub stack: AtomicU32,
    /// How many locks it held.
    pub count: AtomicU32,
    /// The locks that it held, in the order in which they had been taken.
    pub held: [Held; NESTED],
}

/// A lock that a thread held while it took another.
#[repr(C)]
#[derive(Debug)]
pub struct Held {
    /// The lock.
    pub lock: AtomicU32,
    /// Stack of its acquisition; 0 if unknown.
    pub site: AtomicU32,
}

/// Values of [`Extreme::cause`].
pub mod cause {
    /// The evidence does not show the cause.
    pub const UNKNOWN: u32 = 0;
    /// The waiter had not been woken yet.
    pub const NOT_WOKEN: u32 = 1;
    /// The waiter was runnable but got no CPU.
    pub const NOT_SCHEDULED: u32 = 2;
    /// A thread that had not waited took the lock.
    pub const BARGED: u32 = 3;
    /// As [`NOT_SCHEDULED`], and the waiter then ran on the CPU on which the lock had been released.
    pub const RELEASERS_CPU: u32 = 4;
    /// How many there are, without the unknown one.
    pub const KNOWN: usize = 4;
}

/// One of the longest waits or idle intervals.
#[repr(C)]
#[derive(Debug)]
pub struct Extreme {
    /// Its length in ticks; 0 if there is none.
    pub ticks: AtomicU64,
    /// When it ended.
    pub at: AtomicU64,
    /// The release that preceded its end; identifies the stack in `WaiterList::late` if `other` is 0.
    pub release: AtomicU64,
    /// Stack of the thread that waited, or that ended the idle interval.
    pub mine: AtomicU32,
    /// Stack of the thread that released.
    pub other: AtomicU32,
    /// One of [`cause`] (idle intervals).
    pub cause: AtomicU32,
    /// Keeps the size even.
    pub spare: AtomicU32,
}

/// Units needed by a table of `count` words.
pub const fn word_units(count: usize) -> u32 {
    units(count * size_of::<AtomicU32>())
}

/// Units needed by a table of `count` 64-bit words.
pub const fn wide_units(count: usize) -> u32 {
    units(count * size_of::<AtomicU64>())
}

/// Units needed by `bytes`.
pub const fn units(bytes: usize) -> u32 {
    bytes.div_ceil(UNIT) as u32
}
