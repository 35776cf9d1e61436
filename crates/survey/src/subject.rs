//! A lock as a subject of a benchmark: threads that want it, what they note, and what it has to do whatever it costs.
//!
//! # Contract
//! A block lasts [`BLOCK_NS`]. Each thread notes its own acquisitions; what they come to is computed afterwards
//! ([`ledger`](crate::ledger)). A lock that lets two threads in, loses a change, or breaks the order that it promises
//! fails its row.
//! # Evidence
//! tests/planted.rs.

use crate::Class;
use crate::counted::Worst;
use crate::guarded::{Guarding, Inside, Work};
use crate::ledger::{Ledger, Span};
use std::sync::OnceLock;
use std::time::Duration;
use uncontended_atomic::CachePadded;
use uncontended_bench::Block;
use uncontended_locks::{Mutex, Order, RawLock};
use uncontended_sys::clock::monotonic_ns;

/// How long threads acquire a lock in a block, and how often each at most.
pub(crate) const BLOCK_NS: u64 = 10_000_000;
const MOST_NOTES: usize = 1 << 18;
/// A block that takes longer hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The threads of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crew {
    pub(crate) threads: usize,
    pub(crate) class: Class,
}

impl Crew {
    pub(crate) fn name(self) -> String {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        match self.class {
            Class::Other => format!("{} {threads}", self.threads),
            class => format!("{} {threads}, {class}", self.threads),
        }
    }
}

/// A lock as a subject of a benchmark.
#[derive(Debug)]
pub struct Subject {
    run: fn(&mut Subject, &mut Block),
    crew: Crew,
    work: Work,
    worst: Worst,
    order: Order,
    /// What each thread noted; kept for its memory.
    notes: Vec<Vec<Span>>,
}

impl Subject {
    /// A lock of this type, wanted by `threads` ordinary threads.
    #[must_use]
    pub fn of<L: RawLock + 'static>(threads: usize, work: Work) -> Subject {
        Subject::of_guarding::<Mutex<Inside, L>>(threads, work)
    }

    /// The same of anything that guards.
    #[must_use]
    pub fn of_guarding<G: Guarding + Send>(threads: usize, work: Work) -> Subject {
        let crew = Crew { threads, class: Class::Other };
        Subject::new::<G>(crew, work, Worst::default())
    }

    pub(crate) fn new<G: Guarding + Send>(crew: Crew, work: Work, worst: Worst) -> Subject {
        let (order, notes) = (Order::Barging, vec![Vec::new(); crew.threads]);
        Subject { run: run::<G>, crew, work, worst, order, notes }
    }

    /// The same of a lock that promises this order: a block in which it does not keep it fails.
    #[must_use]
    pub fn promising(self, order: Order) -> Subject {
        Subject { order, ..self }
    }

    /// Runs a block.
    pub fn run(&mut self, block: &mut Block) {
        (self.run)(self, block);
    }
}

/// A block: for [`BLOCK_NS`], every thread acquires the lock as often as it can. A block by count would never end where
/// each hand-off takes a time slice.
fn run<G: Guarding + Send>(subject: &mut Subject, block: &mut Block) {
    let lock = CachePadded::new(G::around(Inside::new(subject.work)));
    let (work, class, end) = (subject.work, subject.crew.class, OnceLock::new());
    let threads = subject.notes.iter_mut().map(|notes| {
        let (lock, end) = (&*lock, &end);
        notes.clear();
        notes.reserve_exact(MOST_NOTES);
        Box::new(move || {
            // It was tried before.
            let _ = class.enter();
            acquire(lock, *end.get_or_init(|| monotonic_ns() + BLOCK_NS), work, notes);
        }) as Box<dyn FnOnce() + Send>
    });
    block.team(|| {}, threads.collect());
    // On a busy machine, the first acquisition may come later than the end.
    let first = subject.notes.iter().flatten().map(|span| span.acquired).min();
    let end = end.get().copied().max(first).unwrap_or(u64::MAX);
    let ledger = Ledger::until(end, &subject.notes);
    let noted = subject.notes.iter().map(|notes| notes.len() as u64).sum();
    check(&ledger, noted, lock.with(|inside| inside.changes));
    check_order(&ledger, subject.order, subject.crew.threads);
    subject.worst.add(
        (ledger.longest_wait_ns, ledger.longest_wait_is_cut),
        (ledger.longest_idle_ns, ledger.longest_idle_is_cut),
    );
    let mean = |ns: u64| ns as f64 / ledger.acquisitions.max(1) as f64;
    block.counts(ledger.span_ns, ledger.acquisitions);
    block.figure("wait_ns", mean(ledger.wait_ns));
    block.figure("idle_ns", mean(ledger.idle_ns));
    block.figure("longest_wait_ns", ledger.longest_wait_ns as f64);
    block.figure("longest_idle_ns", ledger.longest_idle_ns as f64);
    let flag = |is_cut: bool| f64::from(u8::from(is_cut));
    block.figure("longest_wait_is_cut", flag(ledger.longest_wait_is_cut));
    block.figure("longest_idle_is_cut", flag(ledger.longest_idle_is_cut));
    for (name, percent) in [("hand_off_p50_ns", 50), ("hand_off_p99_ns", 99)] {
        if let Some(ns) = ledger.hand_off_ns(percent) {
            block.figure(name, ns as f64);
        }
    }
    block.figure("overtaken_p99", ledger.overtaken_p99 as f64);
    block.latencies_ns(ledger.hand_offs_ns.iter().copied());
}

fn acquire(lock: &impl Guarding, end: u64, work: Work, notes: &mut Vec<Span>) {
    let mut own = vec![CachePadded::new(0_u64); work.outside];
    loop {
        let called = monotonic_ns();
        let (acquired, released) = lock.with(|inside| {
            let acquired = monotonic_ns();
            inside.change();
            (acquired, monotonic_ns())
        });
        notes.push(Span { called, acquired, released });
        own.iter_mut().for_each(|line| **line = std::hint::black_box(**line + 1));
        if released >= end || notes.len() == MOST_NOTES {
            return;
        }
    }
}

/// What a lock has to do, whatever it costs.
///
/// # Panics
/// Panics if it did not: the row says so.
fn check(ledger: &Ledger, noted: u64, changes: u64) {
    if let Some((from, until)) = ledger.both {
        panic!("two threads had the lock at once, for {} ns: it does not lock", until - from);
    }
    assert!(
        changes == noted,
        "{noted} changes were made, and {changes} are there: it does not lock"
    );
}

/// A waiter of a lock in order of arrival may be overtaken where it loses its CPU between its note and its call. That
/// is rare among this many hand-offs.
const ENOUGH_HAND_OFFS: usize = 1000;

/// # Panics
/// Panics if waiters were overtaken more often than the lock promises: the row says so.
fn check_order(ledger: &Ledger, order: Order, threads: usize) {
    let most = match order {
        Order::Arrival => threads,
        // Reciprocating: once by each other thread; `Bounded`: the n-th of the queue by n times 64.
        Order::Bounded => 64 * threads + threads,
        Order::Barging | Order::ArrivalOfRunning => return,
    };
    assert!(
        ledger.hand_offs_ns.len() < ENOUGH_HAND_OFFS || ledger.overtaken_p99 <= most as u64,
        "waiters were overtaken up to {} times: it does not keep the order that it promises",
        ledger.overtaken_p99
    );
}
