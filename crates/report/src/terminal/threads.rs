//! The table of threads: who ran, who waited, and who wanted a CPU and had none.

use super::table::{Column, Fit, render};
use super::{Options, Paint, heading, several};
use crate::run::{RunReport, Thread};
use crate::text::clean;
use crate::units;
use std::cmp::Reverse;

const fn column(group: &'static str, title: &'static str, fit: Fit, goes: u8) -> Column {
    Column { group, title, fit, goes }
}

const COLUMNS: [Column; 9] = [
    column("", "thread", Fit::Right, 0),
    column("", "pid", Fit::Right, 0),
    column("", "name", Fit::Elastic, 0),
    column("", "on CPU", Fit::Right, 0),
    column("", "wanted CPU", Fit::Right, 0),
    column("locks", "blocked", Fit::Right, 2),
    column("locks", "wait", Fit::Right, 0),
    column("switches", "own", Fit::Right, 1),
    column("switches", "forced", Fit::Right, 1),
];

/// The threads, those that waited longest for locks first, then those that ran most.
pub(super) fn render_all(report: &RunReport, options: &Options, paint: Paint) -> String {
    let mut threads: Vec<(u32, &Thread)> = Vec::new();
    for process in &report.processes {
        threads.extend(process.threads.iter().map(|thread| (process.pid, thread)));
    }
    if threads.is_empty() {
        return String::new();
    }
    threads
        .sort_by_key(|(pid, thread)| (Reverse((thread.wait_ns, thread.cpu_ns)), *pid, thread.tid));
    let one_process = report.processes.len() < 2;
    let told = |column: &Column| !(one_process && column.title == "pid");
    let kept: Vec<Column> = COLUMNS.into_iter().filter(told).collect();
    let shown = threads.iter().take(options.top);
    let cells = |&(pid, thread): &(u32, &Thread)| {
        let cells = cells(pid, thread);
        COLUMNS.iter().zip(cells).filter(|(column, _)| told(column)).map(|(_, cell)| cell).collect()
    };
    let rows: Vec<Vec<String>> = shown.map(cells).collect();
    let mut text = heading("Threads", "by wait for locks, then time on a CPU", options, paint);
    text.push_str(&render(&kept, &rows, options.width, paint));
    if threads.len() > options.top {
        let more = several((threads.len() - options.top) as u64, "more thread", "more threads");
        text.push_str(&format!("  and {more}\n"));
    }
    text
}

fn cells(pid: u32, thread: &Thread) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), units::duration);
    let count = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), units::count);
    vec![
        thread.tid.to_string(),
        pid.to_string(),
        clean(&thread.name),
        time(thread.cpu_ns),
        time(thread.runnable_ns),
        count(thread.blocked),
        time(thread.wait_ns),
        count(thread.voluntary_switches),
        count(thread.involuntary_switches),
    ]
}
