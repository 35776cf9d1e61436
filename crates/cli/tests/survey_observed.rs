//! Two instruments on one program: the survey's ledger, which threads write of themselves, and the observer.

mod common;

use common::{Folder, status, stderr, stdout, unc};
use serde_json::Value;
use std::path::Path;

/// The totals that the program noted, and those of the observer, in nanoseconds: waits and idle times.
fn both(program: &Path) -> Result<[[f64; 2]; 2], String> {
    let folder = Folder::new();
    let file = folder.file("run.json");
    let output = unc()
        .args(["run", "--quiet", "--no-history", "--json", &file, "--"])
        .arg(program)
        .output()
        .unwrap();
    if status(&output) != 0 {
        return Err(stderr(&output));
    }
    let said: Vec<f64> =
        stdout(&output).split_whitespace().map(|word| word.parse().unwrap()).collect();
    let report: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let locks = report["processes"][0]["locks"].as_array().unwrap();
    let mutex = locks.iter().find(|lock| lock["kind"] == "mutex").unwrap();
    assert_eq!(mutex["acquisitions"].as_f64(), Some(said[0]), "{mutex}");
    let total = |field: &str| mutex[field]["total"].as_f64().unwrap();
    Ok([[said[1], said[2]], [total("wait_ns"), total("idle_ns")]])
}

/// They note the same moments, up to two readings of the clock. On a busy machine a thread may lose its CPU between
/// the one's and the other's, so one of a few runs has to agree.
#[test]
fn the_surveys_waits_and_idle_times_are_those_that_the_observer_sees() {
    const NAME: &str = "the_surveys_waits_and_idle_times_are_those_that_the_observer_sees";
    let folder = Path::new(env!("CARGO_BIN_EXE_unc")).parent().unwrap();
    let program = folder.join("examples/noted_waits");
    if !program.exists() {
        let why = "the example noted_waits is not built: `cargo test -p uncontended-cli` builds it";
        return uncontended_testkit::skip(&NAME, &why);
    }
    let mut seen = Vec::new();
    for _ in 0..5 {
        let [noted, observed] = both(&program).unwrap_or_else(|why| panic!("{why}"));
        let [wait, idle] = [0, 1].map(|at| (noted[at] - observed[at]).abs());
        if wait < 0.02 * noted[0] && idle < 0.25 * noted[1].max(observed[1]) {
            return;
        }
        seen.push((noted, observed));
    }
    panic!("noted and observed, in ns: {seen:?}");
}
