//! The worst minute of a run: the longest waits, idle intervals and holds at the time they occurred.

use crate::rows::called;
use crate::run::{Class, Lock, Moment, RunReport, Span};
use crate::svg::{Axis, Lane, Segment, lanes};
use maud::Markup;
use std::collections::HashMap;
use uncontended_figures as figures;

/// How much of a run is shown.
const WINDOW_NS: u64 = 60_000_000_000;
/// How many locks are shown.
const LANES: usize = 14;

/// A remark and the chart, if the record has the times of its moments.
pub(super) fn worst_minute(report: &RunReport) -> Option<(String, Markup)> {
    let locks: Vec<&Lock> = report.processes.iter().flat_map(|process| &process.locks).collect();
    let locks: Vec<&Lock> = locks.into_iter().filter(|lock| !lock.moments.is_empty()).collect();
    let is_waited =
        |lock: &&Lock| lock.class == Class::Contention && lock.moments.iter().any(is_waiting);
    let contended: Vec<&Lock> = locks.iter().copied().filter(is_waited).collect();
    // Threads that wait for work wait longest: they determine the minute only if there is no contention.
    let start =
        worst_window(if contended.is_empty() { &locks } else { &contended }, report.wall_ns);
    let end = start.saturating_add(WINDOW_NS.min(report.wall_ns.max(1)));
    let inside =
        |moment: &&Moment| moment.at_ns < end && moment.at_ns.saturating_add(moment.ns) > start;
    let waited = |lock: &Lock| -> u64 {
        lock.moments
            .iter()
            .filter(inside)
            .filter(|&moment| is_waiting(moment))
            .map(|moment| moment.ns)
            .fold(0, u64::saturating_add)
    };
    let mut shown: Vec<&Lock> = locks.into_iter().filter(|lock| waited(lock) > 0).collect();
    // Waiting at a queue or a gate may be intended: it comes after contention.
    shown.sort_by_cached_key(|lock| {
        (lock.class != Class::Contention, std::cmp::Reverse(waited(lock)), lock.id)
    });
    shown.truncate(LANES);
    if shown.is_empty() {
        return None;
    }
    let names = thread_names(report);
    let rows: Vec<Lane> = shown.iter().map(|lock| lane(lock, start, end, &names)).collect();
    let axis = Axis::linear(
        start as f64,
        end as f64,
        "from the start of the program",
        figures::duration_f,
    );
    let whole = report.wall_ns <= WINDOW_NS;
    let part = if whole { "The whole run" } else { "The minute with the longest waits" };
    let remark = format!(
        "{part}: the four longest waits, idle intervals and holds of each lock, at the time they occurred. Shorter ones are omitted."
    );
    let legend = [(2, "held"), (0, "waited for"), (1, "idle while wanted")];
    Some((remark, lanes("Longest waits, idle intervals and holds in time", &axis, &rows, &legend)))
}

fn is_waiting(moment: &Moment) -> bool {
    moment.what != Span::Hold
}

/// Where the window with the most waiting begins. Only the beginning of a wait can be best.
fn worst_window(locks: &[&Lock], wall_ns: u64) -> u64 {
    let latest = wall_ns.saturating_sub(WINDOW_NS);
    let mut waits: Vec<(u64, u64)> = locks
        .iter()
        .flat_map(|lock| lock.moments.iter().filter(|&moment| is_waiting(moment)))
        .map(|moment| (moment.at_ns, moment.ns))
        .collect();
    waits.sort_unstable();
    // A window that slides over the sorted beginnings: `sum` is the waiting that begins in it.
    let (mut best, mut sum, mut last) = ((0u64, 0u64), 0u64, 0usize);
    for first in 0..waits.len() {
        while last < waits.len() && waits[last].0 < waits[first].0.saturating_add(WINDOW_NS) {
            sum = sum.saturating_add(waits[last].1);
            last += 1;
        }
        if sum > best.0 {
            best = (sum, waits[first].0);
        }
        sum = sum.saturating_sub(waits[first].1);
    }
    best.1.min(latest)
}

fn thread_names(report: &RunReport) -> HashMap<u32, &str> {
    let threads = report.processes.iter().flat_map(|process| &process.threads);
    threads.map(|thread| (thread.tid, thread.name.as_str())).collect()
}

fn lane(lock: &Lock, start: u64, end: u64, names: &HashMap<u32, &str>) -> Lane {
    // Holds are drawn below the waits, and waits below their idle parts.
    let mut moments: Vec<&Moment> = lock.moments.iter().collect();
    moments.sort_by_key(|moment| match moment.what {
        Span::Hold => 0,
        Span::Wait => 1,
        Span::Idle => 2,
    });
    let segments = moments.into_iter().filter_map(|moment| {
        let (from, to) = (moment.at_ns.max(start), moment.at_ns.saturating_add(moment.ns).min(end));
        let (colour, height, what) = match moment.what {
            Span::Hold => (2, 1.0, "held"),
            Span::Wait => (0, 0.6, "waited for"),
            Span::Idle => (1, 0.25, "idle"),
        };
        let thread = moment.tid.map_or_else(String::new, |tid| {
            format!(", thread {tid} {}", names.get(&tid).unwrap_or(&""))
        });
        let title = format!(
            "{what} {} at {}{thread}",
            figures::duration(moment.ns),
            figures::duration(moment.at_ns)
        );
        (from < to).then_some(Segment { from: from as f64, to: to as f64, colour, height, title })
    });
    Lane {
        name: format!("#{} {}", lock.id, called(lock)),
        note: String::new(),
        segments: segments.collect(),
    }
}
