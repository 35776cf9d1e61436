//! Question: how long does each form of a report on 10,000 locks and 100 threads take? The aim is one second for all.
//! Every lock has full histograms, as after a long run; every tenth was waited on and has stacks and moments.
//! Not measured: reading the record and naming its addresses.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;
use uncontended_report::run::RunReport;
use uncontended_report::terminal::{self, Options};
use uncontended_report::{findings, folded, html, json, perfetto};

/// Each form is made this often; the median is told.
const ROUNDS: usize = 5;

/// A form by name, with the size of what it makes.
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
        ("perfetto", |report| perfetto::render(report).to_string().len()),
    ];
    let mut sum = 0.0;
    for (name, form) in forms {
        let mut rounds: Vec<(f64, usize)> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                let size = form(&report);
                (start.elapsed().as_secs_f64() * 1e3, size)
            })
            .collect();
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ms, size) = rounds[ROUNDS / 2];
        sum += ms;
        println!("{name:9} {ms:8.1} ms  {size:>10} B");
    }
    println!("all       {sum:8.1} ms  (aim: 1000 ms)");
}
