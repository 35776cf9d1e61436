//! `unc survey fences`: every backend next to every kind of peers, or why not.

mod common;

use common::{Folder, status, stderr, stdout, unc};
use serde_json::Value;

fn fences(budget: &str) -> (Value, String) {
    let folder = Folder::new();
    let file = folder.file("survey.json");
    let mut command = unc();
    command.args(["survey", "fences", "-q", "--budget", budget, "--json", &file]);
    let output = command.env("COLUMNS", "80").output().unwrap();
    assert!([0, 3].contains(&status(&output)), "{}", stderr(&output));
    let survey: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    (survey["topics"][0].clone(), stdout(&output))
}

fn has_two_cpus() -> bool {
    uncontended_sys::affinity::allowed().unwrap().len() > 1
}

/// Whether the row has figures that a fence can have, or says why it has none.
fn check(row: &Value) {
    let name = row["name"].as_str().unwrap();
    if let Some(why) = row["failed"].as_str() {
        assert!(why.contains("interrupts") && row["ns"].is_null(), "{name}: {why}");
        return assert!(row["fence"]["p50"].is_null(), "a refused column has no figures");
    }
    let Some(fence) = row["fence"].as_object() else {
        return assert!(row["ns"].as_f64().unwrap() >= 0.0, "{row}");
    };
    let at = |which: &str| fence[which]["ns"].as_f64().unwrap();
    let percentiles = ["p50", "p90", "p99", "p999"].map(at);
    assert!(percentiles.is_sorted() && percentiles[0] > 0.0, "{row}");
    assert!(fence["most_ns"].as_f64().unwrap() >= percentiles[3], "{row}");
    let median = &fence["p50"];
    let is_within = |end: &str, way: fn(f64, f64) -> bool| {
        median[end].as_f64().is_none_or(|end| way(end, percentiles[0]))
    };
    assert!(is_within("low", |low, at| low <= at) && is_within("high", |high, at| high >= at));
    let must_interrupt = fence["peers"] == "own" && name.starts_with("membarrier");
    if must_interrupt && name != "membarrier global" {
        assert!(fence["interrupts"].as_f64().unwrap() >= 0.9, "{row}");
    }
}

#[test]
fn each_backend_has_a_row_next_to_each_kind_of_peers_or_a_reason() {
    let (topic, shown) = fences("6s");
    assert_eq!(topic["topic"], "fences");
    if !has_two_cpus() {
        return assert!(topic["not_measured"][0].as_str().unwrap().contains("two"), "{topic}");
    }
    let rows = topic["rows"].as_array().unwrap();
    rows.iter().for_each(check);
    let with_fence = |name: &str| rows.iter().filter(|row| row["name"] == name).count();
    assert_eq!(with_fence("full fence"), 3, "idle, own, other");
    assert_eq!(with_fence("check-ins"), 1, "own alone");
    let is_refused = |name: &str| {
        let reasons = topic["not_measured"].as_array().unwrap();
        reasons.iter().any(|why| why.as_str().unwrap().starts_with(name))
    };
    for name in ["membarrier", "mprotect", "membarrier global"] {
        assert!(with_fence(name) == 3 || is_refused(&format!("{name}: ")), "{name}: {topic}");
    }
    for reader in ["no fence", "light fence", "SeqCst fence", "check-in", "asking for a ticket"] {
        assert!(rows.iter().any(|row| row["name"] == reader), "{reader}");
    }
    for comparison in topic["comparisons"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&comparison["share"].as_f64().unwrap()), "{comparison}");
        assert!(comparison["times"].as_f64().unwrap() >= 1.0, "{comparison}");
    }
    for line in shown.lines() {
        assert!(uncontended_figures::text::width(line) <= 80, "{line}");
    }
    assert!(shown.contains("interrupts") && shown.contains("how much faster"), "{shown}");
}

#[test]
fn the_page_draws_curves() {
    let folder = Folder::new();
    let file = folder.file("survey.html");
    let output =
        unc().args(["survey", "fences", "-q", "--budget", "3s", "--html", &file]).output().unwrap();
    assert!([0, 2, 3].contains(&status(&output)), "{}", stderr(&output));
    let page = std::fs::read_to_string(file).unwrap();
    let title = "Heavy fences, other CPUs idle";
    assert_eq!(page.contains(title), has_two_cpus(), "curves of percentiles");
}
