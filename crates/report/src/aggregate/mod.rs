//! Turns the record of a run into its report.
//!
//! # Contract
//! [`report`] is a pure function of the record's bytes, the facts of the run and the names of addresses, so a kept
//! trace gives exactly the report that its run gave. Each address is named once.

mod begun;
mod blame;
mod chains;
mod classify;
mod cost;
mod coverage;
mod cut;
mod deadlocks;
mod distribution;
mod ends;
mod herd;
mod holders;
mod hung;
mod joined;
mod joins;
mod keeper;
mod left;
mod locks;
mod logs;
mod meanwhile;
mod meetings;
mod nature;
mod once;
mod order;
mod outside;
mod passes;
mod path;
mod permits;
mod posters;
mod rivals;
pub(crate) mod scripts;
mod site;
mod spans;
mod stacks;
mod taken;
mod threads;
mod timeline;
mod times;
mod unfinished;
mod unnamed;
mod unwaited;
mod waiting;

pub use classify::{Part, classify};
pub use distribution::{Bucket, distribution};
pub use stacks::name_all;
pub use timeline::{Activity, Event, Timeline, timeline};

use crate::code::Skipped;
use crate::facts::{Facts, SeenFacts};
use crate::findings;
use crate::run::{
    AttachedTo, Blamed, BlamedKind, CULPRITS, Clock, Deadlock, Frame, Holds, IdleCause, Kind, Lock,
    LockOrder, Process, RankedBy, RunReport, SCHEMA, Source, SymbolsMismatch,
};
use blame::Sites;
use coverage::Gaps;
use deadlocks::Waits;
use joined::Joined;
use locks::Rows;
use logs::Logs;
use meanwhile::Meanwhile;
use stacks::Stacks;
use std::collections::{HashMap, HashSet};
use uncontended_trace::layout;
use uncontended_trace::reader::{self, ModuleRecord, ProcessRecord, ReadError, Record};
use uncontended_trace::setup;

/// The sum of figures from a record, whose bytes are not trusted: at most `u64::MAX`.
pub(crate) fn sum(figures: impl IntoIterator<Item = u64>) -> u64 {
    figures.into_iter().fold(0, u64::saturating_add)
}

/// Names addresses; implemented by code that can read the program's files.
pub trait Symbols {
    /// The frames, innermost first, at the return address `address` in the file of `module`. At least one: without a
    /// name it has only its module and address.
    fn frames(&mut self, module: &str, address: u64) -> Vec<Frame>;

    /// The same for a module as the process had it: its file may be another one by now, which must not name it.
    fn frames_of(&mut self, module: &ModuleRecord, address: u64) -> Vec<Frame> {
        self.frames(&module.path, address)
    }

    /// The same for the byte at `offset` in the file of `module`.
    fn frames_at_offset(&mut self, module: &str, offset: u64) -> Vec<Frame>;

    /// The function that the call before the return address `address` in `module` goes to, if the code tells: one that
    /// ended in a jump has no return address of its own.
    fn callee(&mut self, module: &ModuleRecord, address: u64) -> Option<Frame> {
        let _ = (module, address);
        None
    }

    /// The variable of `module` that `address` is in, with the distance from its beginning (`table+0x40`).
    fn variable(&mut self, module: &ModuleRecord, address: u64) -> Option<String> {
        let _ = (module, address);
        None
    }

    /// The path by which `program`, a command's first word, calls the file `module`, if that is another name of it.
    fn called(&mut self, module: &str, program: &str) -> Option<String> {
        let _ = (module, program);
        None
    }

    /// The modules, of those asked about so far, that only another file or none is left of.
    fn mismatches(&self) -> Vec<SymbolsMismatch> {
        Vec::new()
    }
}

/// The report on the run that left `record` and `facts`.
///
/// # Errors
/// If the bytes are not a record of this version. No bytes at all are the record of a program that was not observed.
pub fn report(
    record: &[u8],
    facts: Facts,
    symbols: &mut dyn Symbols,
) -> Result<RunReport, ReadError> {
    let record = ends::dated(reader::read(record)?, &facts);
    let skipped = Skipped::with(&facts.skip_frames);
    let (mut processes, mut followed, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stuck, mut orders, mut contended) = (Vec::new(), Vec::new(), HashMap::new());
    let (sites, joined, mut units) = (Sites::new(&record), Joined::of(&record), Vec::new());
    let mut told = HashSet::new(); // The kernel's figures belong to a process's last image.
    for image in record.processes.iter().rev() {
        let mut stacks = Stacks::new(image, &joined, symbols, &skipped);
        let is_last = told.insert(image.pid);
        let of = parts(&record, image, (&facts, is_last), (&sites, &joined), &mut stacks);
        processes.push(of.process);
        units.push(of.units);
        paths.push(of.path);
        followed.push(of.followed);
        stuck.push(of.deadlocks);
        orders.extend(of.order);
        threads::add_contended(&mut contended, of.contended);
    }
    processes.reverse();
    complete(&record, &mut processes, &contended, facts.wall_ns);
    let followed = followed.into_iter().rev().flatten().collect();
    number(&mut processes);
    units.reverse();
    threads::set_wanted(&mut processes, &record, &units);
    let deadlocks = deadlocks::numbered(stuck.into_iter().rev(), &processes);
    let lock_order = record.lock_order.then(|| order::joined(orders.into_iter().rev(), &processes));
    processes.extend(threads::unobserved(&facts, &told));
    let gaps = Gaps { symbols_mismatch: symbols.mismatches(), ..gaps(&record) };
    let coverage = coverage::coverage(&facts, &record, (&processes, &units), gaps);
    let observer = cost::observer(&record, &facts, &processes);
    let mut report = RunReport {
        schema: SCHEMA.into(),
        command: facts.command,
        exit_status: facts.exit_status,
        signal: facts.signal,
        ended_by_limit: facts.ended_by_limit,
        wall_ns: facts.wall_ns,
        cpus: facts.cpus,
        so_far: facts.so_far,
        source: if record.from_kernel { Source::Kernel } else { Source::Preload },
        attached: facts.seen.and_then(attached),
        load: facts.load,
        clock: clock(&record),
        processes,
        coverage,
        observer,
        findings: Vec::new(),
        culprits: Vec::new(),
        ranked_by: RankedBy::Wait,
        holds: holds(&record),
        paths: Vec::new(),
        spans: Vec::new(),
        deadlocks,
        lock_order,
        only: None,
    };
    report.culprits = blame::culprits(&report.processes, followed);
    paths.reverse();
    rank(&mut report, &paths, facts.pid);
    let all = facts.spans.into_iter().chain(spans::announced(&record));
    report.spans = all.map(|spans| spans::spans(spans, &paths, &report)).collect();
    report.culprits.truncate(CULPRITS);
    report.findings = findings::find(&report);
    Ok(report)
}

/// What one image gives to a report.
struct Parts {
    process: Process,
    /// The lock of each row.
    units: Vec<u32>,
    path: path::Known,
    /// For each lock, the code to blame for its waiting after chains.
    followed: Vec<Vec<Blamed>>,
    deadlocks: Vec<Deadlock>,
    order: Option<LockOrder>,
    /// The waiting of each thread that holders caused.
    contended: HashMap<u32, u64>,
}

/// Those of `image`, which is the last one of its process or not. For now, a lock's number is its place among the rows.
fn parts(
    record: &Record<'_>,
    image: &ProcessRecord,
    (facts, is_last): (&Facts, bool),
    (sites, joined): (&Sites, &Joined<'_>),
    stacks: &mut Stacks<'_>,
) -> Parts {
    let until_ns = threads::ended_ns(record, image, facts.wall_ns);
    let mut rows = locks::rows(record, image, facts, (sites, joined), stacks);
    let logs = Logs::new(record, image, &rows.units);
    once::count_contended(&mut rows, image, &logs);
    herd::add(record, image, &logs, &mut rows);
    left::add((record, image), joined, &logs, &mut rows);
    let meanwhile = Meanwhile::new(image, &logs, &rows);
    let passes = passes::passes(image, &logs, &rows);
    let delays = chains::follow((record, image), (&meanwhile, &passes), &mut rows, sites, stacks);
    holders::add(record, &meanwhile, &passes, &mut rows, stacks);
    let meetings = meetings::rows(&rows, &meanwhile, stacks);
    meetings::add_last((record, image), (&meanwhile, &meetings), &mut rows);
    let path = path::known((record, image), (&logs, &rows), (&delays, &meetings), sites, stacks);
    let mut deadlocks = Vec::new();
    if let Some(waits) = Waits::of(record, image, &rows.units) {
        hung::add(record, image, until_ns, &waits, &mut rows, stacks);
        unfinished::add((record, image), until_ns, &waits, &mut rows, sites, stacks);
        deadlocks = deadlocks::deadlocks(record, image, until_ns, &waits, stacks);
    }
    let order = record.lock_order.then(|| order::order(image, &rows.units, stacks));
    let threads = threads::rows(record, image, facts, is_last, stacks);
    let hung = threads::hung(record, image, facts).filter(|_| is_last);
    let joins = joins::joins(record, image, facts, &logs, stacks);
    let Rows { locks, followed, contended, units } = rows;
    let (pid, command) = (image.pid, image.command.clone());
    let ended_ns = ends::before_the_run(record, image, facts);
    let process = Process { pid, command, locks, threads, joins, hung, ended_ns };
    Parts { process, units, path, followed, deadlocks, order, contended }
}

fn holds(record: &Record<'_>) -> Option<Holds> {
    match record.holds {
        setup::Holds::None => None,
        setup::Holds::Waited => Some(Holds::Waited),
        setup::Holds::All => Some(Holds::All),
    }
}

/// Ranks the culprits, by what paths say if the program's own work set its length.
fn rank(report: &mut RunReport, paths: &[path::Known], first: Option<u32>) {
    if !report.ended_by_limit {
        path::rank(report, paths, first);
    }
    rank_code_first(report);
}

/// Moves waiting for a CPU behind the code that is to blame.
fn rank_code_first(report: &mut RunReport) {
    let locks = report.processes.iter().flat_map(|process| &process.locks);
    let for_cpu = locks.filter(|lock| findings::cause(lock) == IdleCause::NotScheduled);
    let for_cpu: HashSet<u64> = for_cpu.map(|lock| lock.id).collect();
    report.culprits.sort_by_key(|culprit| {
        let first = culprit.locks.first().filter(|_| culprit.kind == BlamedKind::Idle);
        first.is_some_and(|first| for_cpu.contains(first))
    });
}

/// The processes that were running already, if there were some.
fn attached(seen: SeenFacts) -> Option<AttachedTo> {
    let SeenFacts { attached: pids, ended, executed, forked_kept: forked, .. } = seen;
    (!pids.is_empty()).then_some(AttachedTo { pids, ended, executed, forked })
}

/// What the record itself lacks.
fn gaps(record: &Record<'_>) -> Gaps {
    Gaps {
        holds: record.holds,
        dropped: record.dropped_room,
        reentered: record.dropped_busy,
        negative: record.negative,
        observed: u32::try_from(record.processes.len()).unwrap_or(u32::MAX),
        symbols_mismatch: Vec::new(),
    }
}

/// Numbers the locks of all processes, and what refers to them by their places.
fn number(processes: &mut [Process]) {
    let mut first = 0;
    for process in processes {
        for (lock, id) in process.locks.iter_mut().zip(first..) {
            lock.id = id;
            let on = lock.holders_waited.iter_mut().flat_map(|waited| &mut waited.on);
            on.filter_map(|on| on.lock.as_mut()).for_each(|place| *place += first);
            lock.herd
                .iter_mut()
                .filter_map(|herd| herd.mutex.as_mut())
                .for_each(|place| *place += first);
            lock.hung_behind.iter_mut().for_each(|head| head.lock += first);
        }
        pair(&mut process.locks);
        first += process.locks.len() as u64;
    }
}

/// Sets the other side of each read-write lock that has two rows.
fn pair(locks: &mut [Lock]) {
    let is_side = |lock: &&mut Lock| matches!(lock.kind, Kind::RwlockRead | Kind::RwlockWrite);
    let mut firsts: HashMap<(String, u32), &mut Lock> = HashMap::new();
    for lock in locks.iter_mut().filter(is_side) {
        match firsts.remove(&(lock.address.clone(), lock.life)) {
            Some(first) => (first.other_side, lock.other_side) = (Some(lock.id), Some(first.id)),
            None => drop(firsts.insert((lock.address.clone(), lock.life), lock)),
        }
    }
}

/// Adds what only all rows tell, since processes share locks.
fn complete(
    record: &Record<'_>,
    processes: &mut [Process],
    contended: &HashMap<u32, u64>,
    wall_ns: u64,
) {
    for (process, image) in processes.iter_mut().zip(&record.processes) {
        threads::set_contended(&mut process.threads, record, image, contended);
    }
    set_wait_shares(processes, wall_ns);
}

/// Sets the share that each lock's waiting has of the time of the threads of its process, or of those that share it.
fn set_wait_shares(processes: &mut [Process], wall_ns: u64) {
    let lives = processes.iter().map(|process| (process.pid, process.lived_ns(wall_ns)));
    let lives: Vec<(u32, u64)> = lives.collect();
    for (process, &(_, own_ns)) in processes.iter_mut().zip(&lives) {
        for lock in &mut process.locks {
            let shares = |(pid, _): &&(u32, u64)| lock.processes.contains(pid);
            let lived_ns = match lock.processes.len() {
                0 | 1 => own_ns,
                _ => sum(lives.iter().filter(shares).map(|&(_, ns)| ns)),
            };
            lock.wait_share = lock.wait_ns.as_ref().map(|wait| wait.total as f64 / lived_ns as f64);
        }
    }
}

fn clock(record: &Record<'_>) -> Clock {
    let source = match record.clock {
        layout::clock::TSC => "tsc",
        layout::clock::CNTVCT => "cntvct",
        _ => "clock_gettime(CLOCK_MONOTONIC)",
    };
    Clock { source: source.into(), step_ns: record.step_ns }
}
