//! What happened at a lock, from what each thread noted of its own acquisitions.
//!
//! # Contract
//! Each thread notes when it called, when it had the lock, and just before it gave it back. Nothing is computed while
//! the lock is held. Afterwards, of the acquisitions in their order:
//! * *wait*: from the call to the acquisition;
//! * *idle*: how long the lock was free while some thread had called for it: from the last release, or from the
//!   earliest call of those that do not have it yet, whichever is later, to the acquisition;
//! * *hand-off*: from a release to the acquisition by a thread that had called before that release;
//! * *overtaken*: how often a thread that waited saw one that called later have the lock before.
//!
//! A holder's own notes are outside its critical section as the others see it: the release is noted before, the
//! acquisition after, so idle times contain two clock readings.
//! # Evidence
//! tests/ledger.rs: schedules made by hand.

/// By how much the clocks of two CPUs may differ.
const CLOCKS_NS: u64 = 100;

/// One acquisition, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When the thread called for the lock.
    pub called: u64,
    /// When it had it.
    pub acquired: u64,
    /// Just before it gave it back.
    pub released: u64,
}

/// What happened at a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Acquisitions.
    pub acquisitions: u64,
    /// From the first call to the last release.
    pub span_ns: u64,
    /// All waits together, and the longest.
    pub wait_ns: u64,
    /// The longest wait.
    pub longest_wait_ns: u64,
    /// All idle times together.
    pub idle_ns: u64,
    /// The longest idle time.
    pub longest_idle_ns: u64,
    /// Every hand-off.
    pub hand_offs_ns: Vec<u64>,
    /// How often a waiter was overtaken, in all but a hundredth of the hand-offs. (A thread that loses its CPU between
    /// its note and its call is overtaken at any lock.)
    pub overtaken_p99: u64,
    /// Two threads had the lock at once, as far as their notes tell: from when, and until when.
    pub both: Option<(u64, u64)>,
}

impl Ledger {
    /// From the notes of all threads.
    #[must_use]
    pub fn of(notes: &[Vec<Span>]) -> Ledger {
        let mut spans: Vec<Span> = notes.iter().flatten().copied().collect();
        spans.sort_unstable_by_key(|span| span.acquired);
        let first = spans.iter().map(|span| span.called).min().unwrap_or(0);
        let last = spans.iter().map(|span| span.released).max().unwrap_or(0);
        let (acquisitions, span_ns) = (spans.len() as u64, last - first);
        let mut ledger = Ledger { acquisitions, span_ns, ..Ledger::default() };
        // From the end: the earliest call among those that do not have the lock yet.
        let mut earliest = vec![u64::MAX; spans.len() + 1];
        for (at, span) in spans.iter().enumerate().rev() {
            earliest[at] = earliest[at + 1].min(span.called);
        }
        let mut overtaken = Vec::new();
        // The calls of those that have had the lock, sorted.
        let mut calls: Vec<u64> = Vec::with_capacity(spans.len());
        for (at, span) in spans.iter().enumerate() {
            let earlier = calls.partition_point(|&called| called <= span.called);
            let later = calls.len() - earlier;
            calls.insert(earlier, span.called);
            let wait = span.acquired - span.called.min(span.acquired);
            ledger.wait_ns += wait;
            ledger.longest_wait_ns = ledger.longest_wait_ns.max(wait);
            let Some(last) = at.checked_sub(1).map(|before| spans[before]) else { continue };
            if last.released > span.acquired + CLOCKS_NS {
                ledger.both.get_or_insert((span.acquired, last.released));
                continue;
            }
            let free = last.released.min(span.acquired);
            let idle = span.acquired - free.max(earliest[at]).min(span.acquired);
            ledger.idle_ns += idle;
            ledger.longest_idle_ns = ledger.longest_idle_ns.max(idle);
            if span.called < free {
                ledger.hand_offs_ns.push(span.acquired - free);
                overtaken.push(later as u64);
            }
        }
        ledger.overtaken_p99 = p99(overtaken);
        ledger
    }
}

/// The value that all but a hundredth are at most.
fn p99(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get((values.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0)
}
