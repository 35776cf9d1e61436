//! All futex waiting of a program as the kernel sees it, whichever code waits: the measure of what the observer missed.
//! Needs root.
//!
//! # Contract
//! Each wait is from entry into the system call to its return; one that has not returned counts up to the end. Stacks
//! are unwound by frame pointers: where a program has none, they end early, and what lies in no file is left out. Where
//! events were lost, waits around the loss do not count: the sums are lower bounds.
//! # Sources
//! futex(2), for which operations wait. `futex_waitv` came with Linux 5.16, `futex_wait` with 6.7; each call of them
//! waits.

use super::threads::is_alive;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use uncontended_report::aggregate::Symbols;
use uncontended_report::facts::{FutexFacts, FutexThread};
use uncontended_report::run::{Frame, FutexSite};
use uncontended_sys::clock;
use uncontended_sys::perf::{Place, Point, Sample, Watch};
use uncontended_sys::tracefs::Tracefs;

/// The operations that wait, with and without the flags for private futexes (128) and the real-time clock (256).
const WAITS: &std::ffi::CStr =
    c"op == 0 || op == 128 || op == 9 || op == 137 || op == 265 || op == 393 \
    || op == 6 || op == 134 || op == 13 || op == 141 || op == 11 || op == 139";
/// The system calls that wait, each with a point at its entry and one at its return, in this order.
const CALLS: [&str; 3] = ["futex", "futex_wait", "futex_waitv"];
/// Waits with further stacks are counted without their frames.
const MOST_STACKS: usize = 4096;
const MOST_SITES: usize = 20;

/// The futex waits of one program and its descendants.
#[derive(Debug)]
pub(crate) struct FutexWatch {
    watch: Watch,
    /// Samples that are not counted yet: earlier ones may be in a ring that was read before they were written.
    recent: Vec<Sample>,
    /// Whether programs of others were seen at these events.
    disturbed: bool,
    waiting: HashMap<u32, Sample>,
    sums: Sums,
    maps: HashMap<u32, Vec<Mapping>>,
}

/// Waits by process and stack (how many, and their total), and by thread (the total).
#[derive(Debug, Clone, Default)]
struct Sums {
    sites: HashMap<(u32, Vec<u64>), (u64, u64)>,
    threads: BTreeMap<(u32, u32), u64>,
}

/// A file mapped in a program.
#[derive(Debug, Clone)]
pub(crate) struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    path: String,
}

impl FutexWatch {
    /// Arms the watch for the next program that is started.
    pub(crate) fn open() -> io::Result<Self> {
        let events = Tracefs::open()?;
        let mut points = Vec::new();
        for name in CALLS {
            let id = |end: &str| events.event_id(&format!("syscalls/sys_{end}_{name}"));
            let (enter, exit) = match (id("enter"), id("exit")) {
                (Ok(enter), Ok(exit)) => (enter, exit),
                (Err(error), _) | (_, Err(error)) if name == CALLS[0] => return Err(error),
                _ => continue, // An older kernel does not have it.
            };
            let filter = (name == CALLS[0]).then_some(WAITS);
            points.push(Point { place: Place::Tracepoint(enter), filter, chain: true });
            points.push(Point { place: Place::Tracepoint(exit), filter: None, chain: false });
        }
        let watch = Watch::open(&points)?;
        Ok(FutexWatch {
            watch,
            recent: Vec::new(),
            disturbed: false,
            waiting: HashMap::new(),
            sums: Sums::default(),
            maps: HashMap::new(),
        })
    }

    /// Collects what has happened since the last call.
    pub(crate) fn look(&mut self) {
        self.disturbed |= self.watch.has_programs();
        let (now, lost) = (clock::monotonic_ns(), self.watch.lost());
        self.watch.drain(|sample| self.recent.push(sample));
        if self.watch.lost() > lost {
            // Entries without their returns, and the reverse, would make long waits of pieces.
            self.waiting.clear();
            self.recent.clear();
        }
        // A thread may have entered on one CPU and returned on another.
        self.recent.sort_by_key(|sample| sample.time_ns);
        let complete = self.recent.partition_point(|sample| sample.time_ns < now);
        for sample in self.recent.drain(..complete) {
            let is_entry = sample.point.is_multiple_of(2);
            if is_entry {
                self.maps.entry(sample.pid).or_insert_with(|| mappings(sample.pid));
                self.waiting.insert(sample.tid, sample);
            } else if let Some(entry) = self.waiting.remove(&sample.tid) {
                self.sums.count_until(sample.time_ns, entry);
            }
        }
    }

    /// Forgets what has been counted up to now, and the waits in progress, which the observer does not see either.
    pub(crate) fn begin(&mut self) {
        self.look();
        self.disturbed = false;
        self.waiting.clear();
        self.sums = Sums::default();
    }

    /// Looks at the processes that are alive: their mapped files are read again, since libraries may have been loaded.
    /// A wait in which a thread was killed never returns.
    pub(crate) fn look_at_processes(&mut self, alive: &BTreeSet<u32>) {
        let now = clock::monotonic_ns();
        let was_killed =
            |_: &u32, entry: &mut Sample| !alive.contains(&entry.pid) && !is_alive(entry.pid);
        for (_, entry) in self.waiting.extract_if(was_killed) {
            self.sums.count_until(now, entry);
        }
        for &pid in alive {
            let found = mappings(pid);
            if !found.is_empty() {
                self.maps.insert(pid, found);
            }
        }
    }

    /// All waits seen, those still in progress counted up to `end_ns` (CLOCK_MONOTONIC).
    pub(crate) fn until(&mut self, end_ns: u64, symbols: &mut dyn Symbols) -> FutexFacts {
        self.look();
        let mut sums = self.sums.clone();
        for entry in self.waiting.values() {
            sums.count_until(end_ns, entry.clone());
        }
        let mut sites: Vec<_> = sums.sites.iter().collect();
        sites.sort_by_key(|(key, (_, total))| (std::cmp::Reverse(*total), *key));
        let named = sites.iter().take(MOST_SITES).map(|((pid, chain), (waits, total))| FutexSite {
            stack: self.frames(*pid, chain, symbols),
            waits: *waits,
            total_ns: *total,
        });
        let threads = sums.threads.iter();
        FutexFacts {
            waits: sums.sites.values().map(|(waits, _)| waits).sum(),
            total_ns: sums.sites.values().map(|(_, total)| total).sum(),
            lost: self.watch.lost(),
            disturbed: self.disturbed,
            sites: named.collect(),
            threads: threads
                .map(|(&(pid, tid), &total_ns)| FutexThread { pid, tid, total_ns })
                .collect(),
        }
    }

    /// Disarms the watch, without waiting for the kernel.
    pub(crate) fn close(self) {
        self.watch.close_aside();
    }

    fn frames(&self, pid: u32, chain: &[u64], symbols: &mut dyn Symbols) -> Vec<Frame> {
        let mappings = self.maps.get(&pid).map(Vec::as_slice).unwrap_or_default();
        let place = |&address: &u64| {
            let is_in = |mapping: &&Mapping| (mapping.from..mapping.to).contains(&address);
            let mapping = mappings.iter().find(is_in)?;
            Some((mapping.path.as_str(), mapping.offset + (address - mapping.from)))
        };
        chain
            .iter()
            .filter_map(place)
            .flat_map(|(path, offset)| symbols.frames_at_offset(path, offset))
            .collect()
    }
}

impl Sums {
    /// Counts the wait that began with `entry`.
    fn count_until(&mut self, end_ns: u64, entry: Sample) {
        let waited = end_ns.saturating_sub(entry.time_ns);
        *self.threads.entry((entry.pid, entry.tid)).or_default() += waited;
        let known = self.sites.len() < MOST_STACKS;
        let mut key = (entry.pid, entry.chain);
        if !known && !self.sites.contains_key(&key) {
            key.1.clear();
        }
        let site = self.sites.entry(key).or_default();
        site.0 += 1;
        site.1 += waited;
    }
}

impl Mapping {
    /// The file and the offset in it of an address that it contains.
    pub(crate) fn place(&self, address: u64) -> Option<(String, u64)> {
        let is_inside = (self.from..self.to).contains(&address);
        is_inside.then(|| (self.path.clone(), self.offset + (address - self.from)))
    }
}

/// The files mapped as code in `pid`.
pub(crate) fn mappings(pid: u32) -> Vec<Mapping> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let code = fields.next()?.contains('x');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hex(fields.next()?)?;
    let path = fields.nth(2)?;
    (code && path.starts_with('/'))
        .then(|| Some(Mapping { from: hex(from)?, to: hex(to)?, offset, path: path.into() }))?
}
