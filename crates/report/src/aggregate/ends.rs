//! When process images ended, and what their threads waited for then.
//!
//! # Contract
//! [`dated`] completes the record: an image whose end the observer did not see ended when its process executed another
//! program or, as `unc` or the kernel saw it, ended. What the record says of its threads is never later than that. An
//! image without an end lived until the run ended.
//! # Evidence
//! `tests/programs`: `ends.c`, `shared_ends.c`; `crates/report/tests/ends.rs`.

use super::threads;
use crate::facts::{Facts, ProcessEnd};
use crate::run::Unfinished;
use uncontended_trace::layout::Unit;
use uncontended_trace::reader::{CellAt, LockRecord, ProcessRecord, Record, ThreadRecord};

/// The record with the ends of images that the observer did not see.
pub(super) fn dated<'b>(mut record: Record<'b>, facts: &Facts) -> Record<'b> {
    let ends: Vec<u64> = record.processes.iter().map(|image| end(&record, image, facts)).collect();
    for (image, end) in record.processes.iter_mut().zip(ends) {
        image.end_ticks = end;
    }
    record
}

/// When `image` ended, in ticks; 0 if it did not before the run, as far as is known.
fn end(record: &Record<'_>, image: &ProcessRecord, facts: &Facts) -> u64 {
    if image.end_ticks != 0 {
        return image.end_ticks;
    }
    let executed = record.processes.iter().chain(&record.announced);
    let executed = executed.filter(|other| other.pid == image.pid).map(|other| other.start_ticks);
    let ended = facts.ends.iter().filter(|end| end.pid == image.pid);
    let ended = ended.map(|end| ticks(record, end));
    let alive = last_seen(image);
    executed.chain(ended).filter(|&end| end > alive).min().unwrap_or(0)
}

/// When a process was seen to have ended, in ticks.
pub(super) fn ticks(record: &Record<'_>, end: &ProcessEnd) -> u64 {
    record.start_ticks.saturating_add((end.ended_ns as f64 / record.tick_ns) as u64)
}

/// The last time at which the record shows that `image` had not ended.
fn last_seen(image: &ProcessRecord) -> u64 {
    let of_threads = image.threads.iter().flat_map(|thread| {
        let last = thread.log.entries.last().map_or(0, |entry| entry.ended);
        [thread.start_ticks, thread.end_ticks, thread.asleep_since.unwrap_or(0), last]
    });
    of_threads.fold(image.start_ticks, u64::max)
}

/// When `image` ended, in nanoseconds since the start, if the run continued after that. The end of the program that
/// `unc` started is the run's.
pub(super) fn before_the_run(
    record: &Record<'_>,
    image: &ProcessRecord,
    facts: &Facts,
) -> Option<u64> {
    let newest = record.processes.iter().rev().find(|other| other.pid == image.pid);
    let is_newest = newest.is_some_and(|newest| newest.start_ticks == image.start_ticks);
    let is_run = facts.pid == Some(image.pid) && is_newest;
    (image.end_ticks != 0 && !is_run).then(|| threads::ended_ns(record, image, facts.wall_ns))
}

/// The images whose threads use a lock.
#[derive(Clone, Copy)]
pub(super) enum Users<'a> {
    Own(&'a ProcessRecord),
    Shared(&'a [(&'a ProcessRecord, &'a ThreadRecord, CellAt)]),
}

impl<'a> Users<'a> {
    /// The image of the thread of `unit`.
    fn of_thread(self, unit: Unit) -> Option<&'a ProcessRecord> {
        match self {
            Users::Own(image) => Some(image),
            Users::Shared(all) => {
                all.iter().find(|(_, thread, _)| thread.unit == unit).map(|&(image, ..)| image)
            }
        }
    }

    /// The image of each thread that waits for `lock`, with the call that does: in the order of `lock.waiting`.
    fn waiting(self, lock: &LockRecord) -> Vec<Option<&'a ProcessRecord>> {
        let all = match self {
            Users::Own(image) => return vec![Some(image); lock.waiting.len()],
            Users::Shared(all) => all,
        };
        let wants = all.iter().filter_map(|&(image, thread, _)| {
            Some((thread.wants.filter(|wants| wants.lock == lock.unit)?.since, image))
        });
        let mut calls: Vec<(u64, &ProcessRecord)> = wants.collect();
        let of = |&arrival: &u64| {
            let before = calls.iter().enumerate().filter(|(_, (call, _))| *call <= arrival);
            let nearest = before.max_by_key(|(_, (call, _))| *call).map(|(place, _)| place);
            nearest.map(|place| calls.swap_remove(place).1)
        };
        lock.waiting.iter().map(of).collect()
    }
}

/// The waits for `lock` in progress when their processes ended, or the run. `holder`: the thread that held it, and
/// since when, if those are known.
pub(super) fn unfinished(
    (record, facts): (&Record<'_>, &Facts),
    users: Users<'_>,
    lock: &LockRecord,
    holder: Option<(&ThreadRecord, u64)>,
) -> Option<Unfinished> {
    let until = |image: Option<&ProcessRecord>| {
        image.map_or(facts.wall_ns, |image| threads::ended_ns(record, image, facts.wall_ns))
    };
    let waiting = users.waiting(lock);
    let ends = lock.waiting.iter().zip(&waiting).filter(|(at, _)| **at >= record.start_ticks);
    let waits = ends.map(|(&at, &image)| until(image).saturating_sub(record.ns_at(at)));
    let longest_ns = waits.clone().max()?;
    let last_ns = waiting.iter().map(|&image| until(image)).max()?;
    let held_ns = |(_, since): (_, u64)| {
        let since = since.checked_sub(record.start_ticks)?;
        Some(last_ns.saturating_sub(record.ns(since)))
    };
    let has_ended = |thread: &ThreadRecord| {
        let image = users.of_thread(thread.unit).filter(|image| image.end_ticks != 0);
        thread.end_ticks != 0 || image.is_some_and(|image| until(Some(image)) < last_ns)
    };
    let is_over = |image: &ProcessRecord| before_the_run(record, image, facts).is_some();
    Some(Unfinished {
        count: lock.waiting.len() as u64,
        longest_ns,
        total_ns: super::sum(waits),
        held_ns: holder.and_then(held_ns),
        holder: holder.map(|(thread, _)| thread.tid),
        holder_ended: holder.is_some_and(|(thread, _)| has_ended(thread)),
        waiters_ended: waiting.iter().all(|image| image.is_some_and(is_over)),
    })
}
