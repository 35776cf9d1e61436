//! How long threads wait for a lock, and how long it stands idle: each lock of the library, next to std's mutex.
//!
//! # Sources
//! Document 003: longest waits and longest idle times of mutexes and spinlocks, under several schedulers.

use crate::counted::Worst;
use crate::findings::findings;
use crate::ledger::{Ledger, Span};
use crate::{Class, Plan, Slowed, Topic, bystander, fast_path};
use std::sync::OnceLock;
use std::time::Duration;
use uncontended_atomic::CachePadded;
use uncontended_bench::{Bench, Block, Place};
use uncontended_locks::{Mutex, Order, RawLock, Visit, Waits, each};
use uncontended_sys::c_mutex::CMutex;
use uncontended_sys::clock::monotonic_ns;

pub(crate) const QUESTION: &str =
    "how long do threads wait for a lock, and how long does it stand idle while some want it";
/// What the locks are compared with.
pub(crate) const BASELINE: &str = "std";
const C_LIBRARY: &str = "pthread";
/// In less time than this, only [`FEW`] are measured: the intervals of all would be wide.
const FOR_ALL: Duration = Duration::from_secs(30);
/// Those that most people ask about.
const FEW: [&str; 9] = [
    "pthread",
    "tas",
    "ttas",
    "ttas-backoff",
    "ttas-yield",
    "futex",
    "bounded",
    "ticket",
    "mcs-park",
];
/// How long threads acquire a lock in a block, and how often each at most.
const BLOCK_NS: u64 = 10_000_000;
const MOST_NOTES: usize = 1 << 18;
/// A block that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// The work of a thread, in cache lines that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// With the lock; all threads change the same.
    pub inside: usize,
    /// Between two acquisitions; each thread changes its own.
    pub outside: usize,
}

impl Default for Work {
    fn default() -> Work {
        Work { inside: 1, outside: 8 }
    }
}

/// What the lock guards.
#[derive(Debug, Default)]
pub struct Inside {
    lines: Vec<CachePadded<u64>>,
    /// How often it was changed: the number of acquisitions, if the lock is one.
    pub changes: u64,
}

impl Inside {
    pub(crate) fn new(work: Work) -> Inside {
        Inside { lines: vec![CachePadded::new(0); work.inside], changes: 0 }
    }

    pub(crate) fn change(&mut self) {
        self.changes += 1;
        self.lines.iter_mut().for_each(|line| **line += 1);
    }
}

/// A lock around [`Inside`].
pub trait Guarding: Sync {
    /// A free lock around `inside`.
    fn around(inside: Inside) -> Self;
    /// Runs `f` with the lock.
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R;
}

impl<L: RawLock> Guarding for Mutex<Inside, L> {
    fn around(inside: Inside) -> Self {
        Mutex::with(L::default(), inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        f(&mut self.lock())
    }
}

impl Guarding for std::sync::Mutex<Inside> {
    fn around(inside: Inside) -> Self {
        std::sync::Mutex::new(inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        f(&mut self.lock().expect("no holder panics"))
    }
}

impl Guarding for CMutex<Inside> {
    fn around(inside: Inside) -> Self {
        CMutex::new(inside)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut Inside) -> R) -> R {
        CMutex::with(self, f)
    }
}

/// What to do with each lock that is measured.
pub(crate) trait Guards {
    fn add<G: Guarding + Send + 'static>(&mut self, name: &'static str, order: Order, waits: Waits);
}

/// Calls `guards` for std's mutex, and for every other lock, or those named.
pub(crate) fn every(only: &[&'static str], guards: &mut impl Guards) {
    struct Library<'g, G>(&'g mut G, &'g [&'static str]);
    impl<G: Guards> Library<'_, G> {
        fn add<L: Guarding + Send + 'static>(
            &mut self,
            name: &'static str,
            order: Order,
            waits: Waits,
        ) {
            if self.1.is_empty() || self.1.contains(&name) {
                self.0.add::<L>(name, order, waits);
            }
        }
    }
    impl<G: Guards> Visit for Library<'_, G> {
        fn visit<L: RawLock + 'static>(&mut self, name: &'static str, order: Order, waits: Waits) {
            self.add::<Mutex<Inside, L>>(name, order, waits);
        }
    }
    guards.add::<std::sync::Mutex<Inside>>(BASELINE, Order::Barging, Waits::Parks);
    let mut library = Library(guards, only);
    library.add::<CMutex<Inside>>(C_LIBRARY, Order::Barging, Waits::Parks);
    each(&mut library);
}

/// Every lock by its name, and what it does.
#[must_use]
pub fn list() -> Vec<(&'static str, String)> {
    struct List(Vec<(&'static str, String)>);
    impl Visit for List {
        fn visit<L: RawLock + 'static>(&mut self, name: &'static str, order: Order, waits: Waits) {
            let order = match order {
                Order::Barging => "who comes first takes it",
                Order::Bounded => "who comes first takes it, a bounded number of times",
                Order::Arrival => "in order of arrival",
                Order::ArrivalOfRunning => "in order of arrival, of those with a CPU",
            };
            let waits = match waits {
                Waits::Spins => "waiters spin",
                Waits::Yields => "waiters spin, then yield",
                Waits::Parks => "waiters sleep",
            };
            self.0.push((name, format!("{order}; {waits}")));
        }
    }
    let mut list = List(vec![
        (BASELINE, "std's mutex, with which they are compared".to_owned()),
        (C_LIBRARY, "the C library's mutex".to_owned()),
    ]);
    each(&mut list);
    list.0
}

/// The threads of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crew {
    threads: usize,
    class: Class,
}

impl Crew {
    fn name(self) -> String {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        format!("{} {threads}, {}", self.threads, self.class)
    }
}

/// The parts of the time for what a lock costs the thread that takes it alone, and those that want none.
const FAST_PATH_SHARE: f64 = 0.1;
const BYSTANDER_SHARE: f64 = 0.2;

/// Measures every lock.
pub(crate) fn measure(plan: &Plan) -> Topic {
    let cpus = uncontended_bench::Cpu::allowed().map_or(1, |cpus| cpus.len());
    let is_few = plan.locks.is_empty() && !plan.full && plan.budget < FOR_ALL;
    let locks = if is_few { FEW.to_vec() } else { plan.locks.clone() };
    let plan = &Plan { locks, ..plan.clone() };
    let share = |share| Plan { budget: plan.budget.mul_f64(share), ..plan.clone() };
    let mut topic = contended(&share(1.0 - FAST_PATH_SHARE - BYSTANDER_SHARE), cpus);
    if is_few {
        let others = list().len() - 1 - FEW.len();
        topic.not_measured.push(format!(
            "{others} more locks: `unc survey locks` has the time for all, or name some with --lock"
        ));
    }
    let (found, left_out) = findings(&topic.rows, cpus);
    topic.findings = found;
    topic.not_measured.extend(left_out);
    let fast = fast_path::measure(&share(FAST_PATH_SHARE));
    add_fast_path(&mut topic, &fast);
    if cpus == 1 {
        let why = "only one CPU is allowed, which the threads would share";
        topic.not_measured.push(format!("work that wants no lock: {why}"));
    } else {
        add_bystander(&mut topic, bystander::measure(&share(BYSTANDER_SHARE), cpus), cpus);
    }
    topic.notes.push(format!(
        "an acquisition includes three readings of the clock and the work: {} changed with the lock, {} without; the \
         fast path includes neither",
        lines(plan.work.inside),
        lines(plan.work.outside)
    ));
    topic
}

/// Adds what a lock and its release cost to the rows of one thread, and a note on the yield.
fn add_fast_path(topic: &mut Topic, fast: &Topic) {
    let of = |name: &str| fast.rows.iter().find(|row| row.name == name).and_then(|row| row.ns);
    for row in topic.rows.iter_mut().filter(|row| row.threads == 1 && row.class == Class::Other) {
        row.fast_path_ns = of(&row.name);
    }
    if let Some(ns) = of(fast_path::YIELD) {
        topic.notes.push(format!(
            "a yield costs {} here, and as much more as other threads want the CPU. Measured on a Ryzen 7 1700: 130 ns, and 7 and 14 ns for \
             the fast paths of a spinlock and a mutex",
            uncontended_figures::duration_f(ns)
        ));
    }
}

/// Adds how much a bystander is slowed to the rows of as many threads as CPUs.
fn add_bystander(topic: &mut Topic, bystander: Topic, cpus: usize) {
    for row in topic.rows.iter_mut().filter(|row| row.threads == cpus && row.class == Class::Other)
    {
        let found = bystander.rows.iter().find(|other| other.name == row.name);
        row.bystander = found.and_then(Slowed::of);
    }
    topic.notes.push(format!(
        "bystander: how much longer a thread takes to multiply matrices, next to {cpus} threads that want the lock, on \
         the CPUs that it shares with them"
    ));
    topic.warnings.extend(bystander.warnings.iter().map(|why| format!("bystander: {why}")));
    topic.not_measured.extend(bystander.not_measured);
}

/// Measures every lock, wanted by one thread and by several.
fn contended(plan: &Plan, cpus: usize) -> Topic {
    let (crews, mut not_measured) = crews(plan, cpus);
    let mut bench = Bench::new("locks", QUESTION).places([Place::Free]).per("acquisition");
    bench = bench.limit(LIMIT).baseline(BASELINE);
    let mut rows = Rows {
        bench: Some(bench),
        crew: crews[0],
        cpus,
        plan,
        worst: Vec::new(),
        left_out: Vec::new(),
    };
    for &crew in &crews {
        rows.crew = crew;
        rows.bench = rows.bench.take().map(|bench| bench.case(crew.name()));
        every(&plan.locks, &mut rows);
    }
    not_measured.append(&mut rows.left_out);
    let bench = rows.bench.take().expect("it is put back after each row");
    let report = bench.until(plan.is_over).run(&plan.options());
    let crew_of = |case: &str, _: &str| {
        let crew = crews.iter().find(|crew| crew.name() == case).copied();
        crew.map_or((1, Class::Other), |crew| (crew.threads, crew.class))
    };
    let mut topic = Topic::of(("locks", QUESTION), &report, crew_of);
    for row in &mut topic.rows {
        let key = (row.name.as_str(), row.threads, row.class);
        let found =
            rows.worst.iter().find(|(name, crew, _)| (*name, crew.threads, crew.class) == key);
        if let Some((_, _, worst)) = found {
            let (waits, idles) = worst.read();
            (row.worst_wait_ns, row.worst_idle_ns) = (Some(waits), Some(idles));
        }
    }
    topic.not_measured.extend(not_measured);
    topic
}

fn lines(count: usize) -> String {
    if count == 1 { "1 cache line".to_owned() } else { format!("{count} cache lines") }
}

/// The crews to measure, and what is left out and why.
fn crews(plan: &Plan, cpus: usize) -> (Vec<Crew>, Vec<String>) {
    let most = plan.threads.unwrap_or(2 * cpus);
    let mut counts: Vec<usize> =
        [1, cpus, 2 * cpus, most].into_iter().filter(|&n| n <= most).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut left_out = Vec::new();
    if cpus == 1 {
        left_out.push("two threads at once: only one CPU is allowed".to_owned());
    }
    let classes = if plan.full { &Class::ALL[..] } else { &Class::ALL[..1] };
    if !plan.full {
        left_out.push("scheduling classes other than OTHER: --full measures them".to_owned());
    }
    let permitted = |class: &&Class| match class.refusal() {
        None => true,
        Some(why) => {
            left_out.push(format!("scheduling class {class}: {why}"));
            false
        }
    };
    let classes: Vec<Class> = classes.iter().filter(permitted).copied().collect();
    let of_class = |&class: &Class| {
        counts.iter().map(move |&threads| Crew { threads, class }).collect::<Vec<_>>()
    };
    (classes.iter().flat_map(of_class).collect(), left_out)
}

/// Adds a row to a benchmark for each lock.
struct Rows<'p> {
    bench: Option<Bench>,
    crew: Crew,
    cpus: usize,
    plan: &'p Plan,
    worst: Vec<(&'static str, Crew, Worst)>,
    left_out: Vec<String>,
}

impl Guards for Rows<'_> {
    fn add<G: Guarding + Send + 'static>(
        &mut self,
        name: &'static str,
        order: Order,
        waits: Waits,
    ) {
        // Real-time threads that spin would keep the holder off its CPU forever.
        let locks_up = self.crew.class.is_real_time() && self.crew.threads > self.cpus;
        if locks_up && waits != Waits::Parks {
            self.left_out.push(format!(
                "{name} by {}: its spinners could lock up the machine",
                self.crew.name()
            ));
            return;
        }
        let worst = Worst::default();
        self.worst.push((name, self.crew, worst.clone()));
        let mut subject = Subject::new::<G>(self.crew, self.plan.work, worst).promising(order);
        let bench = self.bench.take().expect("it is put back after each row");
        self.bench = Some(bench.subject(name, move |block| subject.run(block)));
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

    fn new<G: Guarding + Send>(crew: Crew, work: Work, worst: Worst) -> Subject {
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
    let ledger = Ledger::of(&subject.notes);
    check(&ledger, lock.with(|inside| inside.changes));
    check_order(&ledger, subject.order, subject.crew.threads);
    subject.worst.add(ledger.longest_wait_ns, ledger.longest_idle_ns);
    let mean = |ns: u64| ns as f64 / ledger.acquisitions.max(1) as f64;
    block.counts(ledger.span_ns, ledger.acquisitions);
    block.figure("wait_ns", mean(ledger.wait_ns));
    block.figure("idle_ns", mean(ledger.idle_ns));
    block.figure("longest_wait_ns", ledger.longest_wait_ns as f64);
    block.figure("longest_idle_ns", ledger.longest_idle_ns as f64);
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
fn check(ledger: &Ledger, changes: u64) {
    if let Some((from, until)) = ledger.both {
        panic!("two threads had the lock at once, for {} ns: it does not lock", until - from);
    }
    assert_eq!(changes, ledger.acquisitions, "changes were lost: it does not lock");
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
