//! The log of a thread's waits, holds and spans: when each was, and what ended the waits.

use uncontended_atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Entries of one part of a log.
pub const LOGGED: usize = 127;
/// Most parts of one thread's log.
pub const LOG_PARTS: u32 = 256;
/// Most parts of all logs. A thread without any gets one beyond that, up to twice as many.
pub const ALL_LOG_PARTS: u32 = 4096;

/// Bytes of a span's name.
pub const SPAN_NAME: usize = 40;

/// A part of a thread's log. The thread fills one part after another; when it may have no more, the oldest.
#[repr(C)]
#[derive(Debug)]
pub struct LogPart {
    /// The part to fill after this one; after the last one, the first.
    pub after: AtomicU32,
    /// How many of its entries are written.
    pub noted: AtomicU32,
    /// The number of its first entry.
    pub first: AtomicU64,
    /// Keeps what follows aligned.
    pub spare: [AtomicU64; 6],
    /// Its entries.
    pub entries: [Logged; LOGGED],
}

/// Values of [`Logged::what`].
pub mod logged {
    /// A wait for a lock.
    pub const WAIT: u32 = 0;
    /// A hold for which others waited, or a long one.
    pub const HOLD: u32 = 1;
    /// A wait for another thread's end.
    pub const JOIN: u32 = 2;
    /// A wait for a condition that continues the thread's last one for it, which timed out or was ended for nothing:
    /// it has not given up the mutex in between.
    pub const CONTINUED: u32 = 3;
    /// A span that the program announced.
    pub const SPAN: u32 = 4;
}

/// A wait, a hold or a span that ended.
#[repr(C)]
#[derive(Debug)]
pub struct Logged {
    /// When it began.
    pub began: AtomicU64,
    /// When it ended.
    pub ended: AtomicU64,
    /// When another thread ended the wait, by a release or a wakeup; 0 if that is unknown.
    pub by_at: AtomicU64,
    /// The handle of the thread whose end it was for.
    pub joined: AtomicU64,
    /// The part of the wait during which the lock was free.
    pub free: AtomicU64,
    /// The lock, or the [`SpanName`]; 0 if it was for another thread's end.
    pub lock: AtomicU32,
    /// Stack of the call that waited or acquired; 0 if unknown.
    pub stack: AtomicU32,
    /// The thread that ended the wait, or that thread's cell of the lock; 0 if unknown. Where it was for another
    /// thread's end, the number of that thread in the kernel, or 0 if it had ended before.
    pub by: AtomicU32,
    /// Stack of that thread's acquisition or wakeup, or of the function that it began with; 0 if unknown.
    pub by_stack: AtomicU32,
    /// One of [`logged`].
    pub what: AtomicU32,
    /// How long the thread had had the mutex when it continued to wait, in ticks, at most `u32::MAX`.
    pub between: AtomicU32,
}

/// The spans of one name in a thread.
#[repr(C)]
#[derive(Debug)]
pub struct SpanName {
    /// Next in the thread's list.
    pub next: AtomicU32,
    /// Keeps what follows aligned.
    pub spare: AtomicU32,
    /// Where the program keeps the name.
    pub at: AtomicU64,
    /// How many spans have ended.
    pub count: AtomicU64,
    /// The name, padded with NUL.
    pub text: [AtomicU8; SPAN_NAME],
}
