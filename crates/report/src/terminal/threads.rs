//! The table of threads: time on a CPU, time waiting, and time runnable without a CPU.

use super::{Options, heading, several};
use crate::run::{RunReport, Thread};
use std::cmp::Reverse;
use uncontended_figures as figures;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::text::clean;

const COLUMNS: [Column; 9] = [
    Column::figure("thread"),
    Column::figure("pid"),
    Column::elastic("name"),
    Column::figure("on CPU"),
    Column::figure("wanted CPU"),
    Column::figure("blocked").of("locks").goes(2),
    Column::figure("wait").of("locks"),
    Column::figure("own").of("switches").goes(1),
    Column::figure("forced").of("switches").goes(1),
];

/// The threads: those that waited longest for locks first, then those that ran most.
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
    let mut table = Table::new(COLUMNS.to_vec());
    for &(pid, thread) in threads.iter().take(options.top) {
        table.row(cells(pid, thread));
    }
    if report.processes.len() < 2 {
        table.drop_column("pid");
    }
    let mut text = heading("Threads", "by wait for locks, then time on a CPU", options, paint);
    text.push_str(&table.text(options.width, paint));
    if threads.len() > options.top {
        let more = several((threads.len() - options.top) as u64, "more thread", "more threads");
        text.push_str(&format!("  and {more}\n"));
    }
    text
}

fn cells(pid: u32, thread: &Thread) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), figures::duration);
    let count = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), figures::count);
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
