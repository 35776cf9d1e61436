//! The rows that people read: locks of one site and class merged, the costliest first.
//!
//! # Contract
//! A program may create thousands of locks at one line, in many processes. Each keeps its own entry in the data; all of
//! one kind, class and site make one row here, except that locks that processes share, or may share, have rows by
//! process. A lock without a known site has a row of its own. Sums, worst times and histograms
//! of a row are exact over its locks; percentiles come from the merged histogram.
//! I1: every lock is in exactly one row, and no row is empty.
//! Order: by total wait (with that of waits for held locks that had not ended), then by acquisitions, then by id.

use crate::aggregate::{Bucket, distribution};
use crate::code::base;
use crate::names::{of_variable, shortened};
use crate::run::{Class, Distribution, Frame, Kind, Like, Lock, Process, RunReport, TimedOut};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use uncontended_figures::text::clean;

/// Locks of one kind, class and site: of any process if it does not share them.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// The process of the first.
    pub pid: u32,
    /// How many processes have locks of their own in it.
    pub processes: usize,
    /// The locks, the one with the greatest total wait first; never empty.
    pub locks: Vec<&'a Lock>,
    /// Acquisitions of all.
    pub acquisitions: u64,
    /// Blocked acquisitions of all.
    pub blocked: u64,
    /// Blocked acquisitions of all in which the thread slept.
    pub slept: Slept,
    /// Failed tries of all.
    pub try_failed: u64,
    /// Calls that might wait, of all.
    pub attempts: u64,
    /// Waits of all that had not ended when the run did, of locks that a thread held: how many, and their sum.
    pub unfinished: Option<(u64, u64)>,
    /// Waits of all that ended without the lock.
    pub timed_out: Option<TimedOut>,
    /// Owner changes of all; none if no lock has the figure.
    pub owner_changes: Option<u64>,
    /// The greatest utilisation of any.
    pub utilisation: Option<f64>,
    /// Mean queue of all.
    pub mean_queue: Option<f64>,
    /// Total wait of all divided by the lives of the process's threads; none if an earlier version kept the run.
    pub wait_share: Option<f64>,
    /// Waits of all.
    pub wait: Option<Distribution>,
    /// Idle intervals of all.
    pub idle: Option<Distribution>,
    /// Holds of all.
    pub hold: Option<Distribution>,
}

impl Row<'_> {
    /// The costliest lock of the row: its id names the row.
    pub fn first(&self) -> &Lock {
        self.locks[0]
    }

    /// What it is called: `#1`, or `#1+3` for lock #1 and three more. So a number alone is always one lock.
    pub fn label(&self) -> String {
        label(self.first().id, self.locks.len())
    }

    /// What it is and where it is from: the variable, if its locks are one or are parts of one, and the place.
    pub fn place(&self) -> String {
        let whole = |lock: &&Lock| variable(lock);
        let base = |name: String| name.split("+0x").next().unwrap_or_default().to_owned();
        let first = whole(&self.first());
        let name = match &self.locks[..] {
            [_] => first,
            all => {
                let first = first.map(base);
                first.filter(|name| {
                    all.iter().all(|lock| whole(lock).map(base).as_ref() == Some(name))
                })
            }
        };
        named(name, place(self.first()))
    }

    /// How many other processes share its locks.
    pub fn others(&self) -> usize {
        let others = self.locks.iter().flat_map(|lock| &lock.processes);
        others.filter(|&&pid| pid != self.pid).collect::<HashSet<_>>().len()
    }

    /// Its process and, if others share its locks, how many: `123+2`. Of several processes with locks of their own,
    /// their number: `×3`.
    pub fn pids(&self) -> String {
        if self.processes > 1 {
            return format!("×{}", self.processes);
        }
        match self.others() {
            0 => self.pid.to_string(),
            others => format!("{}+{others}", self.pid),
        }
    }

    /// Kind of its locks.
    pub fn kind(&self) -> Kind {
        self.first().kind
    }

    /// Class of its locks.
    pub fn class(&self) -> Class {
        self.first().class
    }

    /// Total wait; zero if no thread waited.
    pub fn wait_total(&self) -> u64 {
        self.wait.as_ref().map_or(0, |wait| wait.total)
    }

    /// The share of the waiting during which the lock was free; none if idle is meaningless or no thread waited.
    pub fn idle_share(&self) -> Option<f64> {
        let wait_ns = self.wait_total();
        self.idle.as_ref().filter(|_| wait_ns > 0)?;
        let idle = self.locks.iter().filter_map(|lock| idle_wait_ns(lock));
        Some(idle.fold(0, u64::saturating_add) as f64 / wait_ns as f64)
    }

    /// How often it was taken; none of a futex, of which only the waits are seen.
    pub fn taken(&self) -> Option<u64> {
        (self.kind() != Kind::Futex).then_some(self.acquisitions)
    }

    /// The share of its calls that had to wait, or still waited; none if there were no calls, or not all are seen.
    pub fn blocked_share(&self) -> Option<f64> {
        self.taken()?;
        let waiting = self.unfinished.map_or(0, |(count, _)| count);
        let [blocked, calls] = [self.blocked, self.attempts].map(|of| of.saturating_add(waiting));
        (calls > 0).then(|| blocked as f64 / calls as f64)
    }

    /// Whether many tries failed, and more than succeeded.
    pub fn is_polled(&self) -> bool {
        const MANY: u64 = 100;
        self.try_failed >= MANY.max(self.acquisitions)
    }

    /// The lock of the row that has the longest wait.
    pub fn longest_waited(&self) -> Option<&Lock> {
        let waited = self.locks.iter().filter(|lock| lock.worst_wait.is_some());
        waited.max_by_key(|lock| lock.worst_wait.as_ref().map(|worst| worst.ns)).copied()
    }

    /// The lock of the row with the longest idle interval.
    pub fn longest_idle(&self) -> Option<&Lock> {
        let idle = self.locks.iter().filter(|lock| lock.worst_idle.is_some());
        idle.max_by_key(|lock| lock.worst_idle.as_ref().map(|worst| worst.ns)).copied()
    }
}

/// In how many waits threads slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slept {
    /// The waits of which it is known.
    pub known: u64,
    /// Those in which the thread slept.
    pub slept: u64,
}

impl Slept {
    /// The sum of these rows.
    pub fn of<'a>(locks: impl IntoIterator<Item = &'a &'a Lock>) -> Slept {
        locks.into_iter().fold(Slept::default(), |sum, lock| match lock.slept {
            Some(slept) => Slept {
                known: sum.known.saturating_add(lock.slept_known.unwrap_or(lock.blocked)),
                slept: sum.slept.saturating_add(slept),
            },
            None => sum,
        })
    }

    /// The share of waits in which threads slept; none if that is unknown.
    pub fn share(self) -> Option<f64> {
        (self.known > 0).then(|| self.slept as f64 / self.known as f64)
    }
}

/// The waiting for a lock during which it was free. Each waiter's time counts, if this version kept the run.
pub fn idle_wait_ns(lock: &Lock) -> Option<u64> {
    let intervals_ns = lock.idle_ns.as_ref()?.total;
    Some(lock.blame.map_or(intervals_ns, |blame| blame.idle_ns))
}

/// The share of the waiting for a lock during which it was free.
pub fn idle_share(lock: &Lock) -> Option<f64> {
    let wait_ns = lock.wait_ns.as_ref().map(|wait| wait.total).filter(|&wait_ns| wait_ns > 0)?;
    Some(idle_wait_ns(lock)? as f64 / wait_ns as f64)
}

/// What the locks of a row share: the process, by position, if others share them or may; and the site, or else the
/// lock's own id.
type Key<'a> = (Option<usize>, Kind, Class, Result<&'a Frame, u64>);

fn key(nth: usize, lock: &Lock) -> Key<'_> {
    let is_private = !lock.shared && lock.processes.is_empty();
    let home = if is_private { None } else { Some(nth) };
    (home, lock.kind, lock.class, lock.site.as_ref().ok_or(lock.id))
}

/// The rows of a report, the greatest total wait first.
pub fn rows(report: &RunReport) -> Vec<Row<'_>> {
    let mut groups: HashMap<Key, Vec<(usize, &Lock)>> = HashMap::new();
    for (nth, process) in report.processes.iter().enumerate() {
        for lock in &process.locks {
            groups.entry(key(nth, lock)).or_default().push((nth, lock));
        }
    }
    debug_assert_eq!(
        groups.values().map(Vec::len).sum::<usize>(),
        report.processes.iter().map(|process| process.locks.len()).sum::<usize>(),
        "I1"
    );
    let mut rows: Vec<Row> = groups.into_values().map(|locks| of_all(report, &locks)).collect();
    rows.sort_by_cached_key(|row| {
        let unfinished_ns = row.unfinished.map_or(0, |(_, ns)| ns);
        let waited_ns = row.wait_total().saturating_add(unfinished_ns);
        let costliest = std::cmp::Reverse((waited_ns, row.acquisitions));
        (costliest, row.pid, row.first().id)
    });
    rows
}

/// The row of these locks, each with the position of its process.
fn of_all<'a>(report: &RunReport, locks: &[(usize, &'a Lock)]) -> Row<'a> {
    let homes: BTreeSet<usize> = locks.iter().map(|&(nth, _)| nth).collect();
    let mut row = join(0, locks.iter().map(|&(_, lock)| lock).collect());
    let first = locks.iter().find(|(_, lock)| lock.id == row.first().id);
    row.pid = first.map_or(0, |&(nth, _)| report.processes[nth].pid);
    row.processes = homes.len();
    row.wait_share = share_of_all(report, &row, &homes);
    row
}

/// The share of a row's waiting, of the time of the threads of all processes that use one of its locks: those that have
/// it, by position, and those that share it. Where these are the same for each lock, the sum of the locks' shares.
fn share_of_all(report: &RunReport, row: &Row, homes: &BTreeSet<usize>) -> Option<f64> {
    let share = row.wait_share?;
    let first = &row.first().processes;
    if homes.len() == 1 && row.locks.iter().all(|lock| lock.processes == *first) {
        return Some(share);
    }
    let sharers = row.locks.iter().flat_map(|lock| &lock.processes).copied();
    let sharers: HashSet<u32> = sharers.collect();
    let processes = report.processes.iter().enumerate();
    let uses = processes.filter(|(nth, of)| homes.contains(nth) || sharers.contains(&of.pid));
    let lived_ns = uses.map(|(_, process)| process.lived_ns(report.wall_ns));
    let lived_ns = lived_ns.fold(0, u64::saturating_add).max(1);
    Some(row.wait_total() as f64 / lived_ns as f64)
}

/// How many locks a report has: a read-write lock is one, and has two entries.
pub fn locks(report: &RunReport) -> u64 {
    let of = |process: &Process| {
        let sides = process.locks.iter().filter(|lock| lock.kind == Kind::RwlockRead);
        let sides: HashSet<(&str, u32)> =
            sides.map(|lock| (lock.address.as_str(), lock.life)).collect();
        let is_second = |lock: &&Lock| {
            lock.kind == Kind::RwlockWrite && sides.contains(&(lock.address.as_str(), lock.life))
        };
        process.locks.len() - process.locks.iter().filter(is_second).count()
    };
    report.processes.iter().map(of).sum::<usize>() as u64
}

/// The order of the locks of a row, by the first of which it is called.
fn rank(lock: &Lock) -> impl Ord + use<> {
    let waited = lock.wait_ns.as_ref().map_or(0, |wait| wait.total);
    (std::cmp::Reverse((waited, lock.acquisitions)), lock.id)
}

fn label(first: u64, locks: usize) -> String {
    match locks {
        0 | 1 => format!("#{first}"),
        locks => format!("#{first}+{}", locks - 1),
    }
}

/// The variable that a lock is, or is a part of.
pub(crate) fn variable(lock: &Lock) -> Option<String> {
    lock.variable.as_deref().map(|name| of_variable(&clean(name)))
}

/// The variable that a lock is, if that is known, and its place.
pub(crate) fn called(lock: &Lock) -> String {
    named(variable(lock), place(lock))
}

fn named(variable: Option<String>, place: String) -> String {
    match variable {
        Some(variable) => format!("{variable}, {place}"),
        None => place,
    }
}

/// The rows of read-write locks, in a sentence: one lock has a row of its writers and one of its readers.
pub(crate) fn sides(rows: &[Row]) -> Option<String> {
    let row_of = |id: u64| rows.iter().find(|row| row.locks.iter().any(|lock| lock.id == id));
    let mut pairs: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.kind() == Kind::RwlockWrite) {
        for read in row.locks.iter().filter_map(|lock| row_of(lock.other_side?)) {
            let pair = format!("{} (writers) and {} (readers)", row.label(), read.label());
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }

    (!pairs.is_empty()).then(|| format!("A read-write lock has two rows: {}.", pairs.join("; ")))
}

/// What the rows of these locks are called ([`Row::label`], and the variable of a lock that is alone), each once, in
/// the order of the locks. One that the report does not have has its own number.
pub fn labels(report: &RunReport, ids: &[u64]) -> Vec<String> {
    let wanted: HashSet<u64> = ids.iter().copied().collect();
    let all = || {
        let processes = report.processes.iter().enumerate();
        processes.flat_map(|(nth, process)| process.locks.iter().map(move |lock| (nth, lock)))
    };
    let of = all().filter(|(_, lock)| wanted.contains(&lock.id));
    let keys: HashMap<u64, Key> = of.map(|(nth, lock)| (lock.id, key(nth, lock))).collect();
    let mut rows: HashMap<Key, (&Lock, usize)> = HashMap::new();
    let needed: HashSet<Key> = keys.values().copied().collect();
    for (nth, lock) in all() {
        let key = key(nth, lock);
        if needed.contains(&key) {
            let (first, locks) = rows.entry(key).or_insert((lock, 0));
            *locks += 1;
            if rank(lock) < rank(first) {
                *first = lock;
            }
        }
    }
    let mut labels: Vec<String> = Vec::new();
    let mut said: HashSet<String> = HashSet::new();
    for id in ids {
        let row = keys.get(id).and_then(|key| rows.get(key));
        let named = |&(first, locks): &(&Lock, usize)| {
            let variable = variable(first).filter(|_| locks == 1);
            let variable = variable.map_or_else(String::new, |name| format!(" ({name})"));
            label(first.id, locks) + &variable
        };
        let label = row.map_or_else(|| label(*id, 1), named);
        if said.insert(label.clone()) {
            labels.push(label);
        }
    }
    labels
}

/// The row of these locks of a process.
pub(crate) fn join(pid: u32, mut locks: Vec<&Lock>) -> Row<'_> {
    locks.sort_by_key(|lock| rank(lock));
    let sum = |figure: fn(&Lock) -> u64| {
        locks.iter().fold(0u64, |sum, lock| sum.saturating_add(figure(lock)))
    };
    let owner_changes = locks.iter().filter_map(|lock| lock.owner_changes);
    let shares = locks.iter().filter_map(|lock| lock.wait_share);
    let queues = locks.iter().filter_map(|lock| lock.mean_queue);
    Row {
        pid,
        processes: 1,
        acquisitions: sum(|lock| lock.acquisitions),
        blocked: sum(|lock| lock.blocked),
        slept: Slept::of(&locks),
        try_failed: sum(|lock| lock.try_failed),
        attempts: sum(Lock::attempts),
        unfinished: unfinished(&locks),
        timed_out: locks.iter().filter_map(|lock| lock.timed_out).reduce(TimedOut::and),
        owner_changes: owner_changes.reduce(u64::saturating_add),
        utilisation: locks.iter().filter_map(|lock| lock.utilisation).reduce(f64::max),
        mean_queue: queues.reduce(|sum, queue| sum + queue),
        wait_share: shares.reduce(|sum, share| sum + share),
        wait: merge(&locks, |lock| lock.wait_ns.as_ref()),
        idle: merge(&locks, |lock| lock.idle_ns.as_ref()),
        hold: merge(&locks, |lock| lock.hold_ns.as_ref()),
        locks,
    }
}

fn unfinished(locks: &[&Lock]) -> Option<(u64, u64)> {
    let held = locks.iter().filter_map(|lock| lock.unfinished.filter(|left| left.holder.is_some()));
    held.map(|left| (left.count, left.total_ns.max(left.longest_ns)))
        .reduce(|a, b| (a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
}

fn merge<'a>(
    locks: &[&'a Lock],
    part: fn(&'a Lock) -> Option<&'a Distribution>,
) -> Option<Distribution> {
    let mut parts = locks.iter().filter_map(|&lock| part(lock));
    let first = parts.next()?;
    let Some(second) = parts.next() else { return Some(first.clone()) };
    let (mut total, mut worst) = (0u64, Vec::<u64>::new());
    let mut counts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for part in [first, second].into_iter().chain(parts) {
        total = total.saturating_add(part.total);
        worst.extend(&part.worst);
        for &(low, high, count) in &part.buckets {
            let sum = counts.entry((low, high)).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    worst.sort_unstable_by(|a, b| b.cmp(a));
    let buckets: Vec<Bucket> =
        counts.into_iter().map(|((low, high), count)| Bucket { low, high, count }).collect();
    distribution(&buckets, total, &worst)
}

/// The number of threads that ran: a process too short to be sampled had one.
pub(crate) fn threads(report: &RunReport) -> u64 {
    report.processes.iter().map(|process| process.threads.len().max(1) as u64).sum()
}

/// The name of a row's kind.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Mutex => "mutex",
        Kind::RwlockRead => "rwlock read",
        Kind::RwlockWrite => "rwlock write",
        Kind::Spin => "spin",
        Kind::Condition => "condition",
        Kind::Semaphore => "semaphore",
        Kind::Barrier => "barrier",
        Kind::Futex => "futex",
        Kind::Annotated => "annotated",
    }
}

/// The name of a lock's kind, with what a futex is used for.
pub fn kind_of(lock: &Lock) -> &'static str {
    match (lock.kind, lock.like) {
        (Kind::Futex, Some(Like::Mutex)) => "futex mutex",
        (Kind::Futex, Some(Like::Condition)) => "futex condition",
        (Kind::Futex, Some(Like::Semaphore)) => "futex semaphore",
        (kind, _) => kind_name(kind),
    }
}

/// The name of a row's class.
pub fn class_name(class: Class) -> &'static str {
    match class {
        Class::Contention => "contention",
        Class::HandOff => "hand-off",
        Class::Gate => "gate",
        Class::Queue => "queue",
        Class::Unknown => "unknown",
    }
}

/// The location of a lock in the code: function and place of its site, else its address.
pub fn place(lock: &Lock) -> String {
    let waited = lock.waited_in.first().map_or(&[][..], |waits| &waits.stack);
    let stacks = [&lock.created, &lock.first_taken, waited];
    let place = match &lock.site {
        Some(site) => code_in(site, stacks.into_iter().find(|stack| stack.contains(site))),
        None => format!("at {}", clean(&lock.address)),
    };
    match &lock.known_as {
        Some(name) => format!("{}, {place}", clean(name)),
        None => place,
    }
}

/// A frame's function and place, else what is known of it.
pub fn code(frame: &Frame) -> String {
    match source(frame) {
        Some(source) if frame.function.is_some() => format!("{} {source}", function(frame)),
        _ => function(frame),
    }
}

/// The code of a frame of this stack; if it has no name, with the first one of its module that has.
pub fn code_in(frame: &Frame, stack: Option<&[Frame]>) -> String {
    let outwards = stack.into_iter().flatten().skip_while(|&other| other != frame).skip(1);
    let is_known = |other: &&Frame| other.function.is_some() && other.module == frame.module;
    match outwards.filter(|_| frame.function.is_none()).find(is_known) {
        Some(caller) => format!("{} ← {}", code(frame), code(caller)),
        None => code(frame),
    }
}

/// The frames that call the lock's own code, innermost first.
pub fn callers(stack: &[Frame]) -> impl Iterator<Item = &Frame> {
    stack.iter().skip_while(|frame| crate::code::is_lock(frame))
}

/// A frame's function, shortened if its name is long, else its module and address.
pub fn function(frame: &Frame) -> String {
    shortened(&whole_function(frame))
}

/// The same with its whole name.
pub(crate) fn whole_function(frame: &Frame) -> String {
    match (&frame.function, &frame.module) {
        (Some(function), _) => clean(function),
        (None, Some(module)) => format!("{}+{}", clean(base(module)), clean(&frame.address)),
        (None, None) => clean(&frame.address),
    }
}

/// A frame's file, without its directories, and line; else the file of its module.
pub fn source(frame: &Frame) -> Option<String> {
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Some(clean(&format!("{}:{line}", base(file)))),
        (Some(file), None) => Some(clean(base(file))),
        (None, _) => frame.module.as_deref().map(|module| clean(base(module))),
    }
}
