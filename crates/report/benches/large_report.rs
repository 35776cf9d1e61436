//! Question: how long does each form of a report on 10,000 locks and 100 threads take? The aim is one second in total.
//! Every lock has full histograms, as after a long run; every tenth was waited on and has stacks and moments.
//! Not measured: reading the record and naming its addresses.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;
use uncontended_figures::table::{Column, Paint, Table};
use uncontended_figures::{bytes, duration_f};
use uncontended_report::run::RunReport;
use uncontended_report::terminal::{self, Options};
use uncontended_report::{findings, folded, html, json, perfetto};

/// How often each form is made; the median is reported.
const ROUNDS: usize = 5;

/// A form by name, with the size of its output.
type Form = (&'static str, fn(&RunReport) -> usize);

fn main() {
    let mut report = common::many(10_000, 100);
    let long = common::times(
        &(0..4_000).map(|n| 40 * 2u64.pow(n % 24) + u64::from(n) * 7).collect::<Vec<_>>(),
    );
    for lock in &mut report.processes[0].locks {
        lock.hold_ns.clone_from(&long);
        if lock.wait_ns.is_some() {
            lock.wait_ns.clone_from(&long);
            lock.idle_ns.clone_from(&long);
        }
    }
    let forms: [Form; 6] = [
        ("terminal", |report| terminal::render(report, &Options::default()).len()),
        ("json", |report| json::text(report).map_or(0, |text| text.len())),
        ("html", |report| html::run_page(report).len()),
        ("findings", |report| findings::find(report).len()),
        ("folded", |report| folded::render(report).len()),
        ("perfetto", |report| perfetto::render(report, &[]).to_string().len()),
    ];
    let columns = [Column::word("form"), Column::figure("time"), Column::figure("size")];
    let (mut sum, mut table) = (0.0, Table::new(columns.to_vec()));
    for (name, form) in forms {
        let mut rounds: Vec<(f64, usize)> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                let size = form(&report);
                (start.elapsed().as_secs_f64() * 1e9, size)
            })
            .collect();
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ns, size) = rounds[ROUNDS / 2];
        sum += ns;
        table.row([name.to_string(), duration_f(ns), bytes(size as u64)]);
    }
    table.row(["all".to_owned(), duration_f(sum), "(aim: 1 s)".to_owned()]);
    print!("{}", table.text(usize::MAX, Paint::default()));
}
