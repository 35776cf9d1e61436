//! A scripted machine, and subjects with scripted costs.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // A user's own atomics.
#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use uncontended_bench::{Block, Cpu, Host, Instruments, Options, Report, Row, Usage};

/// A clock that only subjects advance; half of its time is CPU time.
#[derive(Debug, Default)]
pub struct Script {
    ns: AtomicU64,
    stolen: AtomicU64,
    busy: AtomicU64,
}

impl Script {
    pub fn new() -> Arc<Script> {
        Arc::new(Script::default())
    }

    /// From now on `stolen` CPUs are taken away and `busy` CPUs are busy.
    pub fn steals(&self, stolen: u64, busy: u64) {
        self.stolen.store(stolen, Relaxed);
        self.busy.store(busy, Relaxed);
    }
}

impl Instruments for Script {
    fn wall_ns(&self) -> u64 {
        self.ns.load(Relaxed)
    }

    fn usage(&self) -> Usage {
        let ns = self.wall_ns();
        Usage { cpu_ns: ns / 2, voluntary: ns / 1_000_000, involuntary: 0 }
    }

    fn host(&self) -> Host {
        let ns = self.wall_ns();
        Host {
            busy_ns: ns / 2 + ns * self.busy.load(Relaxed),
            stolen_ns: ns * self.stolen.load(Relaxed),
        }
    }

    fn doubts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A subject whose operations take as long as `cost` says for their number.
pub fn costs(
    script: &Arc<Script>,
    mut cost: impl FnMut(u64) -> u64 + Send + 'static,
) -> impl FnMut(&mut Block) + Send + 'static {
    let script = script.clone();
    move |block| {
        let n = block.operations();
        block.measure(|| script.ns.fetch_add(n * cost(n), Relaxed));
    }
}

/// A machine with this many cores.
pub fn cpus(count: usize) -> Vec<Cpu> {
    (0..count).map(|number| Cpu { number, core: number, package: 0 }).collect()
}

pub fn options() -> Options {
    Options { quiet: true, seconds: 1e6, ..Options::default() }
}

/// The row with that name in the first table.
pub fn row(report: &Report, name: &str) -> Row {
    let rows = &report.tables[0].outcome.as_ref().unwrap().rows;
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}")).clone()
}
