//! Question: how many executions per second does the enumeration complete, and how much memory does it use? Runs the
//! five families by which partial-order reductions are compared. Not measured: files, parsing, real code.
//!
//! `cargo bench -p uncontended-model --bench traces`

use std::time::{Duration, Instant};
use uncontended_model::dpor::executions;
use uncontended_model::families::{ainc, indexer, lastzero, readers, store_buffers};
use uncontended_model::memory::{Model, Sc, Tso};
use uncontended_model::outcome::Limits;
use uncontended_model::program::Program;

/// The least time for which each family is repeated.
const SPAN: Duration = Duration::from_millis(500);

fn main() {
    println!(
        "family         model  complete   blocked  complete/s  explored/s  best of all rounds"
    );
    for (name, program) in [
        ("readers(13)", readers(13)),
        ("lastzero(10)", lastzero(10)),
        ("indexer(15)", indexer(15)),
        ("ainc(6)", ainc(6)),
        ("SB(7)", store_buffers(7)),
    ] {
        measure(name, &program, Sc);
        measure(name, &program, Tso::default());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
    println!("{}", peak.unwrap_or("VmHWM: unknown on this system"));
}

fn measure<M: Model>(name: &str, program: &Program, model: M) {
    let limits = Limits { loops: 200, ..Limits::default() };
    let started = Instant::now();
    let mut best = Duration::MAX;
    let mut found = None;
    while found.is_none() || started.elapsed() < SPAN {
        let round = Instant::now();
        found = executions(program, model.clone(), limits).ok();
        best = best.min(round.elapsed());
    }
    let Some(found) = found else { return };
    let rate = |count: u64| count as f64 / best.as_secs_f64();
    println!(
        "{name:14} {:5} {:9} {:9} {:11.0} {:11.0}  {best:?}",
        model.name(),
        found.complete,
        found.blocked,
        rate(found.complete),
        rate(found.complete + found.blocked),
    );
}
