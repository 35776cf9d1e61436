//! Processes that a signal ended, or that ended in a way that is not known, and the locks that they held.
//!
//! # Contract
//! What a process does before it ends itself is seen: it calls `exit` or the like. A process that did nothing of the
//! kind is listed if a signal ended it, or if the kernel did not say what did; the program that `unc` started only if
//! it held a lock then, since the head of a report has its signal.
//! # Evidence
//! `tests/programs`: `shared_killed.c`; `crates/report/tests/ends.rs`.

use super::threads;
use crate::called::program;
use crate::deadlocks::named;
use crate::facts::{EndedBy, Facts};
use crate::rows::called;
use crate::run::{CutShort, HeldThen, Lock, Process};
use crate::terminal::{several, signal_name};
use std::collections::{BTreeMap, HashMap};
use uncontended_figures::duration;
use uncontended_trace::layout::kind;
use uncontended_trace::reader::{ProcessRecord, Record};

/// The processes of `record`, whose rows have these units.
pub(super) fn short(
    record: &Record<'_>,
    facts: &Facts,
    processes: &[Process],
    units: &[Vec<u32>],
) -> Vec<CutShort> {
    let ids = processes.iter().zip(units).flat_map(|(process, units)| {
        let ids = process.locks.iter().map(|lock| lock.id);
        units.iter().copied().zip(ids)
    });
    let ids: HashMap<u32, u64> = ids.collect();
    let cut = record.processes.iter().filter_map(|image| {
        let (signal, ended_ns) = ended(record, facts, image)?;
        let held = held(record, image, &ids);
        let is_told = facts.pid != Some(image.pid) || !held.is_empty();
        let command = image.command.clone();
        is_told.then_some(CutShort { pid: image.pid, command, ended_ns, signal, held })
    });
    cut.collect()
}

/// The signal that ended the process of `image`, if it is known, and when; nothing if it ended itself, or did not end.
fn ended(record: &Record<'_>, facts: &Facts, image: &ProcessRecord) -> Option<(Option<i32>, u64)> {
    if image.end_ticks == 0 {
        let newest = record.processes.iter().rfind(|other| other.pid == image.pid);
        let is_newest = newest.is_some_and(|newest| newest.start_ticks == image.start_ticks);
        let is_program = facts.pid == Some(image.pid) && is_newest;
        return facts.signal.filter(|_| is_program).map(|signal| (Some(signal), facts.wall_ns));
    }
    let ended_ns = threads::ended_ns(record, image, facts.wall_ns);
    let mut ends = facts.ends.iter().filter(|end| end.pid == image.pid);
    let end = ends.find(|end| super::ends::ticks(record, end) == image.end_ticks)?;
    match end.by {
        EndedBy::Exec | EndedBy::Exit => None,
        EndedBy::Unknown => Some((None, ended_ns)),
        EndedBy::Signal(signal) => Some((Some(signal), ended_ns)),
    }
}

/// The locks that threads of `image` held to the last.
fn held(record: &Record<'_>, image: &ProcessRecord, ids: &HashMap<u32, u64>) -> Vec<HeldThen> {
    let locks = record.processes.iter().flat_map(|image| &image.locks);
    let is_held = |kind| matches!(kind, kind::MUTEX | kind::SPIN | kind::ANNOTATED);
    let owned = locks.filter(|lock| is_held(lock.kind) && !lock.is_released);
    let owned: HashMap<u32, u32> = owned.map(|lock| (lock.owner, lock.unit)).collect();
    let alive = image.threads.iter().filter(|thread| thread.end_ticks == 0);
    let cells = alive.flat_map(|thread| thread.cells.iter().map(move |cell| (thread.tid, *cell)));
    let held = cells.filter_map(|(tid, cell)| {
        let unit = owned.get(&cell.number()).filter(|_| record.hold(cell).is_some())?;
        Some(HeldThen { tid, lock: *ids.get(unit)? })
    });
    held.collect()
}

/// How many processes, and how many locks of one, a line names.
const NAMED: usize = 3;

/// What coverage says of them: a line for each signal, and one for those that ended otherwise.
pub(super) fn lines(cut: &[CutShort], processes: &[Process]) -> Vec<String> {
    let mut by_signal: BTreeMap<Option<i32>, Vec<&CutShort>> = BTreeMap::new();
    for process in cut {
        by_signal.entry(process.signal).or_default().push(process);
    }
    let line = |(signal, mut of): (Option<i32>, Vec<&CutShort>)| {
        of.sort_by_key(|process| (process.held.is_empty(), process.ended_ns));
        let mut said: Vec<String> =
            of.iter().take(NAMED).map(|process| one(process, processes)).collect();
        if of.len() > NAMED {
            let more = (of.len() - NAMED) as u64;
            said.push(several(more, "more process", "more processes"));
        }
        let by = signal.map_or_else(
            || {
                "Ended, it is not known by what (a signal, or a system call of their own)"
                    .to_owned()
            },
            |signal| format!("Ended by {}", signal_name(signal)),
        );
        format!("{by}: {}.", said.join("; "))
    };
    by_signal.into_iter().map(line).collect()
}

fn one(cut: &CutShort, processes: &[Process]) -> String {
    let process = match &program(&cut.command)[..] {
        "?" => format!("process {}", cut.pid),
        name => format!("{name} ({})", cut.pid),
    };
    let process = format!("{process} at {}", duration(cut.ended_ns));
    if cut.held.is_empty() {
        return process;
    }
    let mut held: Vec<String> =
        cut.held.iter().take(NAMED).map(|held| of_thread(*held, cut.pid, processes)).collect();
    if cut.held.len() > NAMED {
        held.push(several((cut.held.len() - NAMED) as u64, "more lock", "more locks"));
    }
    format!("{process}, while {}", held.join(", "))
}

fn of_thread(held: HeldThen, pid: u32, processes: &[Process]) -> String {
    let threads = processes.iter().filter(|process| process.pid == pid);
    let mut threads = threads.flat_map(|process| &process.threads);
    let name = threads.find(|thread| thread.tid == held.tid).map_or("", |thread| &thread.name);
    let mut locks = processes.iter().flat_map(|process| &process.locks);
    let place = |lock: &Lock| format!(" ({})", called(lock));
    let place = locks.find(|lock| lock.id == held.lock).map_or_else(String::new, place);
    format!("{} held #{}{place}", named(held.tid, name), held.lock)
}
