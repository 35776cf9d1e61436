//! All futex waiting of a program as the kernel sees it, whichever code waits: the measure of what the observer missed.
//! Needs root.
//!
//! # Contract
//! The kernel sums ([`Totals`]); here, call chains get names. They are unwound by frame pointers: where a program has
//! none, they end early, and what lies in no file is left out.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use uncontended_attach::{Cannot, SiteTotal, Totals};
use uncontended_report::aggregate::Symbols;
use uncontended_report::facts::{FutexFacts, FutexThread};
use uncontended_report::run::{Frame, FutexSite};

/// Call chains that get names, the longest waits first.
const MOST_CHAINS: usize = 1000;
/// Places that are kept.
const MOST_SITES: usize = 20;

/// The futex waits of one program and its descendants.
#[derive(Debug)]
pub(crate) struct FutexWatch {
    totals: Totals,
    maps: HashMap<u32, Vec<Mapping>>,
    /// Our own file, which a process has mapped until it executes the program.
    own: String,
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
    /// Arms the watch for the programs that are started from now on.
    pub(crate) fn open() -> Result<Self, Cannot> {
        let own = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
        Ok(FutexWatch { totals: Totals::new()?, maps: HashMap::new(), own })
    }

    /// Looks at the processes that are new.
    pub(crate) fn look(&mut self) {
        for pid in self.totals.processes() {
            let is_known = |maps: &Vec<Mapping>| maps.iter().all(|of| of.path != self.own);
            if !self.maps.get(&pid).is_some_and(is_known) {
                self.look_at(pid);
            }
        }
    }

    /// Forgets what has been counted up to now, and the waits in progress, which the observer does not see either.
    pub(crate) fn begin(&mut self) {
        self.totals.forget();
    }

    /// Looks at the processes that are alive: their mapped files are read again, since libraries may have been loaded.
    pub(crate) fn look_at_processes(&mut self, alive: &BTreeSet<u32>) {
        alive.iter().for_each(|&pid| self.look_at(pid));
    }

    fn look_at(&mut self, pid: u32) {
        let found = mappings(pid);
        if !found.is_empty() {
            self.maps.insert(pid, found);
        }
    }

    /// All waits seen, those still in progress counted up to `end_ns` (CLOCK_MONOTONIC).
    pub(crate) fn until(&mut self, end_ns: u64, symbols: &mut dyn Symbols) -> FutexFacts {
        let counted = self.totals.until(end_ns);
        // Processes of one program wait in the same places.
        let mut named: HashMap<Vec<Frame>, FutexSite> = HashMap::new();
        for site in counted.sites.iter().take(MOST_CHAINS) {
            let stack = self.frames(site, symbols);
            let fresh = FutexSite { stack: stack.clone(), waits: 0, total_ns: 0 };
            let sum = named.entry(stack).or_insert(fresh);
            sum.waits = sum.waits.saturating_add(site.waits);
            sum.total_ns = sum.total_ns.saturating_add(site.total_ns);
        }
        let mut sites: Vec<FutexSite> = named.into_values().collect();
        sites.sort_by_cached_key(|site| (Reverse(site.total_ns), site.stack.clone()));
        sites.truncate(MOST_SITES);
        let threads = counted.threads.iter();
        FutexFacts {
            waits: threads.clone().map(|thread| thread.waits).sum(),
            total_ns: threads.clone().map(|thread| thread.total_ns).sum(),
            lost: counted.lost,
            sites,
            threads: threads
                .map(|of| FutexThread { pid: of.pid, tid: of.tid, total_ns: of.total_ns })
                .collect(),
        }
    }

    /// Disarms the watch, without waiting for the kernel.
    pub(crate) fn close(self) {
        self.totals.close();
    }

    fn frames(&self, site: &SiteTotal, symbols: &mut dyn Symbols) -> Vec<Frame> {
        let mappings = self.maps.get(&site.pid).map(Vec::as_slice).unwrap_or_default();
        let place = |&address: &u64| {
            let is_in = |mapping: &&Mapping| (mapping.from..mapping.to).contains(&address);
            let mapping = mappings.iter().find(is_in)?;
            Some((mapping.path.as_str(), mapping.offset + (address - mapping.from)))
        };
        let places = site.chain.iter().filter_map(place);
        places.flat_map(|(path, offset)| symbols.frames_at_offset(path, offset)).collect()
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
