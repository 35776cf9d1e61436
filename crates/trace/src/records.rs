//! What a record says, as plain values.
//!
//! # Contract
//! [`crate::reader`] makes them from bytes. They are the record's own words: ticks, and numbers of stacks.

use crate::layout::{Unit, cause, kind, logged};
use std::cmp::Reverse;
use std::collections::HashMap;

/// One program image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProcessRecord {
    /// Process ID.
    pub pid: u32,
    /// Process ID of its parent.
    pub parent: u32,
    /// Its arguments.
    pub command: Vec<String>,
    /// When it started, in ticks.
    pub start_ticks: u64,
    /// When it called `exit` or the like, or returned from `main`, in ticks; 0 if it ended otherwise, or still runs.
    pub end_ticks: u64,
    /// The number of the thread that ended it; 0 if unknown.
    pub ended_by: Unit,
    /// What its main thread had used before it started.
    pub before: Used,
    /// Its locks, oldest first.
    pub locks: Vec<LockRecord>,
    /// Its threads, oldest first.
    pub threads: Vec<ThreadRecord>,
    /// Lists of return addresses by stack number.
    pub stacks: HashMap<u32, Vec<u64>>,
    /// Programs and libraries that the addresses belong to.
    pub modules: Vec<ModuleRecord>,
}

/// The kernel's figures of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of `cpu_ns` in the kernel.
    pub system_ns: u64,
    /// Time runnable but not running, in nanoseconds.
    pub runnable_ns: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
}

/// One generation of a lock.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LockRecord {
    /// Its number, by which cells refer to it.
    pub unit: u32,
    /// Its address.
    pub address: u64,
    /// One of [`kind`](crate::layout::kind).
    pub kind: u8,
    /// The number of generations at this address before this one.
    pub generation: u32,
    /// Stack of its creation; 0 for none.
    pub created: u32,
    /// Stack of its first acquisition; 0 for none.
    pub first_taken: u32,
    /// The number of the cell of the thread that took it last; 0 if none was seen.
    pub owner: Unit,
    /// Whether it was released since, at a time that the record has.
    pub is_released: bool,
    /// What a semaphore is besides a lock: one of [`crossed`](crate::layout::crossed); else 0.
    pub crossed: u8,
    /// Whether a thread that had taken it gave it back (semaphores).
    pub given_back: bool,
    /// Whether processes share it: one of [`sharing`](crate::layout::sharing).
    pub sharing: u8,
    /// When the threads that still waited for it at the end of the record had arrived, in ticks: at most
    /// [`ARRIVALS`](crate::layout::ARRIVALS).
    pub waiting: Vec<u64>,
}

impl LockRecord {
    /// Whether a thread that took it has it until it gives it back, as far as is known. The taker of a semaphore that
    /// no thread has posted yet may have taken an event.
    pub fn has_holders(&self) -> bool {
        self.kind != kind::SEMAPHORE || self.crossed == 0 && self.given_back
    }
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadRecord {
    /// Its number.
    pub unit: Unit,
    /// The handle by which others wait for its end.
    pub handle: u64,
    /// Thread ID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// When it was first seen, in ticks.
    pub start_ticks: u64,
    /// When it was made, in ticks; 0 if that was not seen.
    pub made_ticks: u64,
    /// The thread that made it; 0 if that was not seen.
    pub creator: Unit,
    /// Stack of the function that it began with; 0 if unknown.
    pub began_in: u32,
    /// When it ended, in ticks; 0 if its end was not seen.
    pub end_ticks: u64,
    /// CPU time at its end, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of `cpu_ns` in the kernel.
    pub system_ns: u64,
    /// Voluntary context switches at its end.
    pub voluntary: u64,
    /// Involuntary context switches at its end.
    pub involuntary: u64,
    /// Acquisitions of any lock that failed at the first try.
    pub blocked: u64,
    /// The sum of all its waits, in ticks.
    pub waited: u64,
    /// The sum of its waits for other threads' ends, in ticks.
    pub joined: u64,
    /// Since when it waits for anything, including another thread's end, in ticks.
    pub asleep_since: Option<u64>,
    /// What it waits for at the end of the record, unless it has slept again or ended since.
    pub wants: Option<WantsRecord>,
    /// Its cells, one for each lock, oldest first.
    pub cells: Vec<CellAt>,
    /// The locks that it took while it held others, oldest first.
    pub nested: Vec<NestedRecord>,
    /// How often it did so without room to record which.
    pub nested_lost: u64,
    /// Its last waits, holds and spans.
    pub log: LogRecord,
    /// The names of its spans.
    pub spans: Vec<SpanNameRecord>,
}

impl ThreadRecord {
    /// When it was made or, if that was not seen, first seen, in ticks.
    pub fn since(&self) -> u64 {
        if self.made_ticks == 0 { self.start_ticks } else { self.made_ticks }
    }
}

/// The spans of one name in a thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpanNameRecord {
    /// Its number: what [`LoggedRecord::lock`] of a span is.
    pub unit: Unit,
    /// The name.
    pub name: String,
    /// How many have ended.
    pub count: u64,
}

/// The last waits, holds and spans of a thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogRecord {
    /// The number of earlier ones, which were not kept.
    pub lost: u64,
    /// All of them, in the order in which they ended.
    pub entries: Vec<LoggedRecord>,
}

impl LogRecord {
    /// The waits.
    pub fn waits(&self) -> impl Iterator<Item = &LoggedRecord> {
        self.entries.iter().filter(|entry| !matches!(entry.what, logged::HOLD | logged::SPAN))
    }

    /// The parts of waits, in ticks, that lie within a wait that ended later: those of signal handlers, which ran
    /// while their thread waited.
    pub fn nested(&self) -> Vec<(&LoggedRecord, u64)> {
        let mut waits: Vec<&LoggedRecord> = self.waits().collect();
        waits.sort_by_key(|wait| (Reverse(wait.ended), wait.began));
        let (mut nested, mut cover) = (Vec::new(), u64::MAX);
        for wait in waits {
            let ticks = wait.ended.saturating_sub(wait.began.max(cover));
            nested.extend((ticks > 0).then_some((wait, ticks)));
            cover = cover.min(wait.began);
        }
        nested
    }

    /// The holds: those for which others waited, and long ones.
    pub fn holds(&self) -> impl Iterator<Item = &LoggedRecord> {
        self.entries.iter().filter(|entry| entry.what == logged::HOLD)
    }

    /// The spans that the program announced.
    pub fn spans(&self) -> impl Iterator<Item = &LoggedRecord> {
        self.entries.iter().filter(|entry| entry.what == logged::SPAN)
    }
}

/// A wait, a hold or a span that ended. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedRecord {
    /// One of [`logged`].
    pub what: u32,
    /// When it began.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// When another thread ended the wait, by a release or a wakeup; 0 if that is unknown.
    pub by_at: u64,
    /// The handle of the thread whose end it was for.
    pub joined: u64,
    /// The part of the wait during which the lock was free.
    pub free: u64,
    /// How long the thread had had the mutex when it continued to wait, at most `u32::MAX`.
    pub between: u32,
    /// The lock, or the name of the span; 0 if it was for another thread's end.
    pub lock: Unit,
    /// Stack of the call that waited or acquired; 0 if unknown.
    pub stack: u32,
    /// The number of the thread that ended the wait, or of that thread's cell; 0 if unknown. Where it was for another
    /// thread's end, the number of that thread in the kernel, or 0 if it had ended before.
    pub by: Unit,
    /// Stack of that thread's acquisition or wakeup, or of the function that it began with; 0 if unknown.
    pub by_stack: u32,
}

/// A wait that is in progress when the record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WantsRecord {
    /// The lock or other object: of a read-write lock, the writers' row; 0 if it waits for a thread's end.
    pub lock: Unit,
    /// The handle of that thread; 0 if it waits for none.
    pub joined: u64,
    /// When the call began, in ticks.
    pub since: u64,
    /// Its stack; 0 if unknown.
    pub stack: u32,
    /// Whether to share the lock (a reader).
    pub shared: bool,
    /// Whether the call has a deadline.
    pub has_deadline: bool,
}

/// The position of a cell in the record; see [`Record::cell`](crate::reader::Record::cell).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellAt {
    /// The number of the lock.
    pub lock: Unit,
    pub(crate) unit: Unit,
}

impl CellAt {
    /// The number of the cell, by which a lock knows its owner.
    pub fn number(self) -> Unit {
        self.unit
    }
}

/// What one thread did to one lock. Times are in ticks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellRecord {
    /// All acquisitions.
    pub acquisitions: u64,
    /// Waits: acquisitions that failed at the first try, and waits that timed out.
    pub blocked: u64,
    /// Those of them that ended without the lock.
    pub timed_out: TimedOutRecord,
    /// Tries that failed.
    pub try_failed: u64,
    /// Waits that ended with the lock of a thread that had died with it; at most 255.
    pub inherited: u64,
    /// Waits of which it is known whether the thread slept.
    pub slept_known: u64,
    /// Those in which it slept.
    pub slept: u64,
    /// Acquisitions that followed another thread's.
    pub owner_changes: u64,
    /// Since when the thread held it at the end of the record, if it did.
    pub held_since: Option<u64>,
    /// Holds; their extremes have no stacks.
    pub hold: TimesRecord,
    /// Waits; the extremes' `other` is the holder.
    pub wait: TimesRecord,
    /// Idle intervals that this thread ended; the extremes' `other` is the releaser.
    pub idle: TimesRecord,
    /// The parts of its waits during which the lock was free.
    pub wait_free: u64,
    /// Sums of the idle intervals by [`cause`], without the unknown one.
    pub idle_by: [u64; cause::KNOWN],
    /// Waiting that its holds caused, by site; in what a waiter that timed out recorded, another thread's holds.
    pub caused: Vec<CausedRecord>,
}

/// A hold that is in progress when the record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldRecord {
    /// When it began, in ticks; none if that was not recorded.
    pub since: Option<u64>,
    /// Stack of its acquisition; 0 if unknown.
    pub site: u32,
}

/// A lock that a thread took while it held others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NestedRecord {
    /// The lock that it took.
    pub lock: Unit,
    /// Stack of the first such acquisition; 0 if unknown.
    pub stack: u32,
    /// The locks that it held, in the order in which they had been taken.
    pub held: Vec<HeldRecord>,
}

/// A lock that a thread held while it took another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldRecord {
    /// The lock.
    pub lock: Unit,
    /// Stack of its acquisition; 0 if unknown.
    pub site: u32,
}

/// Waiting that the holds of one site caused. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CausedRecord {
    /// Stack of the acquisition; 0 if unknown.
    pub stack: u32,
    /// The waiting that fell into these holds, summed over the waiters.
    pub wait: u64,
    /// The waits of which a part fell into these holds, summed over the holds.
    pub waits: u64,
    /// The holds.
    pub holds: u64,
    /// The longest of them.
    pub longest: u64,
    /// Stack of the longest one's release; 0 if unknown.
    pub release: u32,
    /// Stack of the acquisition of another lock for whose holder these holders waited meanwhile; 0 for none.
    pub passed_to: u32,
    /// The part of `wait` that fell into those waits.
    pub passed_on: u64,
}

/// Waits that ended without what they were for. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimedOutRecord {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// The longest.
    pub max: u64,
    /// The part of `total` that went on until a wakeup, in whose share it is.
    pub served: u64,
}

/// A histogram of times in ticks, with its extremes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimesRecord {
    /// Sum of all times.
    pub total: u64,
    /// `(low, high, count)` of every bucket that is not empty.
    pub buckets: Vec<(u64, u64, u64)>,
    /// The longest times, longest first, at most four.
    pub worst: Vec<ExtremeRecord>,
}

impl TimesRecord {
    /// How many times there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, &(_, _, count)| sum.saturating_add(count))
    }
}

/// One of the longest times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtremeRecord {
    /// Its length.
    pub ticks: u64,
    /// When it ended (holds: when the longest began; 0 for the others, which the log may have).
    pub at: u64,
    /// Stack of the thread whose time it is; 0 if unknown.
    pub mine: u32,
    /// Stack of the thread that released; 0 if unknown.
    pub other: u32,
    /// One of [`cause`](crate::layout::cause).
    pub cause: u32,
}

/// A loaded program or library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleRecord {
    /// Its path.
    pub path: String,
    /// What to subtract from an address to get its address in the file.
    pub bias: u64,
    /// Its first address.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// Its build id, from the process's own memory; empty if it has none.
    pub build_id: Vec<u8>,
    /// Its file as the process found it, if it has no build id.
    pub file: Option<FileRecord>,
}

/// What identifies a file, as far as that can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileRecord {
    /// Its length.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified_ns: u64,
    /// Its inode.
    pub inode: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_within_a_longer_wait_is_nested_once() {
        let of =
            |what, began, ended| LoggedRecord { what, began, ended, ..LoggedRecord::default() };
        let wait = |began, ended| of(logged::WAIT, began, ended);
        // A handler waits twice within a wait, and is interrupted by another one; clocks differ at the end of a wait.
        let entries = vec![
            wait(0, 10),
            wait(20, 30),
            wait(45, 50),
            of(logged::HOLD, 40, 60),
            wait(40, 60),
            wait(15, 90),
            wait(89, 95),
        ];
        let log = LogRecord { lost: 0, entries };
        let nested = log.nested();
        let nested = nested.iter().map(|(wait, ticks)| (wait.began, wait.ended, *ticks));
        assert_eq!(
            nested.collect::<Vec<_>>(),
            [(15, 90, 1), (40, 60, 20), (45, 50, 5), (20, 30, 10)]
        );
    }
}
