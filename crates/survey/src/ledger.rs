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
//! [`Ledger::until`] looks at what happened until a time, at which threads stop to call for the lock. A wait or an idle
//! time that is not over then is *cut*: had the others continued, it might have lasted longer or ended otherwise. It
//! counts as far as that time, and is marked if it is the longest. Hand-offs count that began before.
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
    /// Acquisitions in that time.
    pub acquisitions: u64,
    /// From the first call to the last release, or to that time.
    pub span_ns: u64,
    /// All waits together, and the longest.
    pub wait_ns: u64,
    /// The longest wait.
    pub longest_wait_ns: u64,
    /// Whether it was not over: it lasted at least as long.
    pub longest_wait_is_cut: bool,
    /// All idle times together.
    pub idle_ns: u64,
    /// The longest idle time.
    pub longest_idle_ns: u64,
    /// Whether it was not over: it lasted at least as long.
    pub longest_idle_is_cut: bool,
    /// Every hand-off.
    pub hand_offs_ns: Vec<u64>,
    /// The 99th percentile, over hand-offs, of how often the waiter had been overtaken. (A thread that loses its CPU
    /// between its note and its call is overtaken at any lock.)
    pub overtaken_p99: u64,
    /// Two threads had the lock at once, as far as their notes tell: from when, and until when.
    pub both: Option<(u64, u64)>,
}

impl Ledger {
    /// From the notes of all threads.
    #[must_use]
    pub fn of(notes: &[Vec<Span>]) -> Ledger {
        Ledger::until(u64::MAX, notes)
    }

    /// The same, of what happened until `end`. (Whether two threads had the lock at once is asked of all notes.)
    #[must_use]
    pub fn until(end: u64, notes: &[Vec<Span>]) -> Ledger {
        let mut spans: Vec<Span> = notes.iter().flatten().copied().collect();
        spans.sort_unstable_by_key(|span| span.acquired);
        let first = spans.iter().map(|span| span.called).min().unwrap_or(0);
        let last = spans.iter().map(|span| span.released).max().unwrap_or(0);
        let acquisitions = spans.iter().filter(|span| span.acquired <= end).count() as u64;
        let span_ns = last.min(end).saturating_sub(first);
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
            let is_cut = span.acquired > end;
            let wait = span.acquired.min(end).saturating_sub(span.called);
            ledger.wait_ns += wait;
            if wait > ledger.longest_wait_ns {
                (ledger.longest_wait_ns, ledger.longest_wait_is_cut) = (wait, is_cut);
            }
            let Some(last) = at.checked_sub(1).map(|before| spans[before]) else { continue };
            if last.released > span.acquired + CLOCKS_NS {
                ledger.both.get_or_insert((span.acquired, last.released));
                continue;
            }
            let free = last.released.min(span.acquired);
            let idle = span.acquired.min(end).saturating_sub(free.max(earliest[at]));
            ledger.idle_ns += idle;
            if idle > ledger.longest_idle_ns {
                (ledger.longest_idle_ns, ledger.longest_idle_is_cut) = (idle, is_cut);
            }
            if span.called < free && free < end {
                ledger.hand_offs_ns.push(span.acquired - free);
                overtaken.push(later as u64);
            }
        }
        ledger.overtaken_p99 = p99(overtaken);
        ledger
    }

    /// The time that this many percent of the hand-offs take at most; none without any.
    #[must_use]
    pub fn hand_off_ns(&self, percent: usize) -> Option<u64> {
        at_most(self.hand_offs_ns.clone(), percent)
    }
}

/// The value that all but a hundredth are at most.
fn p99(values: Vec<u64>) -> u64 {
    at_most(values, 99).unwrap_or(0)
}

/// The value that this many percent are at most.
fn at_most(mut values: Vec<u64>, percent: usize) -> Option<u64> {
    values.sort_unstable();
    values.get((values.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}
