//! Question: what does `unc compare` add to a run?
//!
//! Rounds of `unc compare -- true true` are interleaved with a plain loop of spawn and wait. Printed are the medians,
//! per run, of the time outside the measured runs, including the startup of `unc`, and of the whole difference to the
//! plain loop. Not measured: shells, which both sides would pay for. `cargo bench -p uncontended-cli --bench
//! what_does_a_run_cost`

use std::process::{Command, Stdio};
use std::time::Instant;
use uncontended_figures::duration_f;

const ROUNDS: usize = 15;
const PAIRS: u32 = 250;

/// Nanoseconds per run of the plain loop.
fn plain() -> f64 {
    let started = Instant::now();
    for _ in 0..2 * PAIRS {
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("/bin/true exists").success());
    }
    started.elapsed().as_nanos() as f64 / f64::from(2 * PAIRS)
}

/// Nanoseconds per run of `unc compare`, and the part of them outside the measured runs.
fn compare() -> (f64, f64) {
    let pairs = PAIRS.to_string();
    let started = Instant::now();
    // An error this small is never reached, so the whole budget runs.
    let output = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args([
            "compare",
            "--quiet",
            "--claim",
            "different",
            "--margin",
            "0",
            "--max-error",
            "1e-50",
            "--max-runs",
        ])
        .args([&pairs, "--json", "-", "--", "/bin/true", "/bin/true"])
        .output()
        .expect("unc runs");
    let elapsed = started.elapsed().as_nanos() as f64;
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a verdict");
    let runs = json["runs"].as_array().expect("every run");
    assert_eq!(runs.len(), 2 * PAIRS as usize, "it decided early");
    let measured: f64 = runs.iter().filter_map(|run| run["wall_ns"].as_f64()).sum();
    (elapsed / runs.len() as f64, (elapsed - measured) / runs.len() as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let (mut outside, mut more) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let loop_ns = plain();
        let (whole, other) = compare();
        outside.push(other);
        more.push(whole - loop_ns);
    }
    println!("outside the measured runs: {} a run", duration_f(median(outside)));
    println!("more than a plain loop:       {} a run", duration_f(median(more)));
}
