//! The table of threads: time on a CPU, time waiting, and time runnable without a CPU, in figures and as a bar.

use super::bars::{bar, legend};
use super::{Options, heading, several};
use crate::aggregate::sum;
use crate::rows::{Slept, code};
use crate::run::{Lock, RunReport, Thread};
use std::cmp::Reverse;
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::{clean, wrap};

const COLUMNS: [Column; 14] = [
    Column::figure("thread"),
    Column::figure("pid"),
    Column::elastic("name"),
    Column::figure("user").of("on CPU"),
    Column::figure("system").of("on CPU").goes(2),
    Column::figure("wanted CPU"),
    Column::figure("locks").of("waited for"),
    Column::figure("work").of("waited for"),
    Column::figure("other").of("waited for"),
    Column::figure(UNFINISHED).of("waited for"),
    Column::word(BAR).goes(1),
    Column::figure("blocked").goes(4),
    Column::figure("own").of("switches").goes(3),
    Column::figure("forced").of("switches").goes(3),
];
const BAR: &str = "its time";
const UNFINISHED: &str = "not ended";

/// The threads: those that waited longest for locks that others held first, then those that ran most.
pub(super) fn render_all(report: &RunReport, options: &Options, paint: Paint) -> String {
    let mut threads: Vec<(u32, &Thread)> = Vec::new();
    for process in &report.processes {
        threads.extend(process.threads.iter().map(|thread| (process.pid, thread)));
    }
    if threads.is_empty() {
        return String::new();
    }
    threads.sort_by_key(|(pid, thread)| {
        (Reverse((thread.held_up_ns(), thread.cpu_ns)), *pid, thread.tid)
    });
    let mut table = Table::new(COLUMNS.to_vec());
    let shown = &threads[..threads.len().min(options.top)];
    let bars: Vec<String> = shown.iter().map(|(_, thread)| bar(thread, options.utf8)).collect();
    for (&(pid, thread), bar) in shown.iter().zip(&bars) {
        table.row(cells(pid, thread, bar));
    }
    if shown.iter().all(|(_, thread)| thread.unfinished_wait_ns.is_none()) {
        table.drop_column(UNFINISHED);
    }
    if report.processes.len() < 2 {
        table.drop_column("pid");
    }
    let mut text = heading("Threads", "by wait for locks, then time on a CPU", options, paint);
    let legend = legend(bars.iter().map(String::as_str), options.utf8);
    if legend.is_empty() {
        table.drop_column(BAR);
    }
    let table = table.text(options.width, paint);
    text.push_str(&table);
    if table.lines().take(2).any(|line| line.contains(BAR)) {
        text.push_str(&wrap(&legend, "  ", options.width));
    }
    if threads.len() > options.top {
        let more = several((threads.len() - options.top) as u64, "more thread", "more threads");
        text.push_str(&format!("  and {more}\n"));
    }
    if let Some(join) = longest_join(report) {
        text.push_str(&wrap(&join, "  ", options.width));
    }
    if let Some(switches) = own_switches(report) {
        text.push_str(&wrap(&switches, "  ", options.width));
    }
    text
}

/// A wait for a thread's end of this share of the run is worth a sentence.
const LONG_JOIN: f64 = 0.1;

/// The longest wait for another thread's end, in a sentence, if it is long.
pub(crate) fn longest_join(report: &RunReport) -> Option<String> {
    let joins = report.processes.iter().flat_map(|process| &process.joins);
    let join = joins.max_by_key(|join| join.wait_ns)?;
    let is_long = join.wait_ns as f64 >= LONG_JOIN * report.wall_ns as f64;
    let name = Some(clean(&join.name)).filter(|name| !name.is_empty());
    let what: Vec<String> = name.into_iter().chain(join.body.as_ref().map(code)).collect();
    let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
    is_long.then(|| {
        format!(
            "Longest wait for a thread's end: {}, of thread {} for {}{what}.",
            figures::duration(join.wait_ns),
            join.tid,
            join.of
        )
    })
}

/// Fewer own switches are not worth a sentence.
const MANY_SWITCHES: u64 = 1_000;

/// How few of the threads' own switches can be for waits that were seen, in a sentence, if it is less than half.
pub(crate) fn own_switches(report: &RunReport) -> Option<String> {
    let threads = || report.processes.iter().flat_map(|process| &process.threads);
    let own = sum(threads().filter_map(|thread| thread.voluntary_switches));
    let waits = sum(threads().filter_map(|thread| thread.blocked));
    let locks: Vec<&Lock> = report.processes.iter().flat_map(|process| &process.locks).collect();
    let Slept { known, slept } = Slept::of(&locks);
    let is_known = known > 0 && known >= waits;
    let sentence = || {
        let (own, waits) = (figures::count(own), several(waits, "wait", "waits"));
        let what = match is_known {
            true => format!("in {} of the {waits} above", figures::count(slept)),
            false => format!("and waited above in {waits}"),
        };
        format!(
            "Threads slept {own} times, {what}: the rest was for something else, such as I/O or a timer, or again in one wait."
        )
    };
    let for_waits = if is_known { slept } else { waits };
    (own >= MANY_SWITCHES && for_waits < own / 2).then(sentence)
}

fn cells(pid: u32, thread: &Thread, bar: &str) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), figures::duration);
    let count = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), figures::count);
    vec![
        thread.tid.to_string(),
        pid.to_string(),
        clean(&thread.name),
        time(thread.user_ns.or(thread.cpu_ns)),
        time(thread.system_ns),
        time(thread.runnable_ns),
        time(thread.held_up_ns()),
        time(thread.work_wait_ns()),
        time(thread.other_wait_ns),
        time(thread.unfinished_wait_ns),
        bar.to_owned(),
        count(thread.blocked),
        count(thread.voluntary_switches),
        count(thread.involuntary_switches),
    ]
}
