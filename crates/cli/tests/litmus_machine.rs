//! `unc litmus --model machine`: the JSON contract, exit codes, and what is refused.

use serde_json::Value;
use std::process::{Command, Output};

fn unc(arguments: &[&str]) -> Output {
    let unc = Command::new(env!("CARGO_BIN_EXE_unc")).arg("litmus").args(arguments).output();
    unc.expect("unc runs")
}

/// The document, or `None` with a printed skip if this machine cannot run tests.
fn document(name: &str, output: &Output) -> Option<Value> {
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    let reason = document["refused"][0]["reason"].as_str().unwrap_or_default().to_owned();
    if reason.contains("x86-64") || reason.contains("CPU available") {
        uncontended_testkit::skip!(name, "{reason}");
        return None;
    }
    Some(document)
}

#[test]
fn the_histogram_counts_every_run_in_the_models_spelling() {
    let output =
        unc(&["--builtin", "SB", "--model", "tso,machine", "--runs", "30001", "--json", "-"]);
    let Some(document) = document("the_histogram_counts_every_run", &output) else { return };
    assert_eq!(output.status.code(), Some(0));
    let test = &document["tests"][0];
    let machine = &test["machine"];
    let states = machine["states"].as_object().expect("an object");
    assert_eq!(states.values().filter_map(Value::as_u64).sum::<u64>(), 30_001);
    assert_eq!(machine["runs"], 30_001);
    let allowed: Vec<_> = test["tso"]["states"].as_array().unwrap().iter().collect();
    for state in states.keys() {
        assert!(allowed.iter().any(|line| *line == state), "{state} is not spelled as {allowed:?}");
    }
    let unseen = machine["unseen"].as_array().unwrap();
    assert_eq!(states.len() + unseen.len(), allowed.len());
    assert_eq!(machine["forbidden"].as_array().map(Vec::len), Some(0));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Test SB (machine: 30001 runs on"), "{text}");
}

#[test]
fn a_test_that_may_never_end_is_refused_by_name_and_the_model_still_answers() {
    let output =
        unc(&["--builtin", "FUTEX", "--model", "tso,machine", "--runs", "10", "--json", "-"]);
    let Some(document) = document("a_test_that_may_never_end", &output) else { return };
    assert_eq!(output.status.code(), Some(2));
    let reason = document["refused"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("machine: ") && reason.contains("futex_wait"), "{reason}");
    assert!(document["tests"][0]["tso"]["states"].is_array());
    assert!(document["tests"][0]["machine"].is_null());
}

#[test]
fn no_runs_is_bad_usage() {
    assert_eq!(
        unc(&["--builtin", "SB", "--model", "machine", "--runs", "0"]).status.code(),
        Some(2)
    );
}
