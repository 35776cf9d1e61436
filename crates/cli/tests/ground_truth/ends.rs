//! Processes that end before the run does: their waits and holds end with them.

use super::check_with;
use serde_json::Value;

#[test]
fn a_process_waits_and_holds_until_its_own_end() {
    let ways = [
        "killed",
        "aborts",
        "exits",
        "_exits",
        "quick_exits",
        "executes",
        "executes bare",
        "vforks",
    ];
    for how in ways {
        let report = check_with("ends", &[how], 0);
        let processes = report["processes"].as_array().unwrap();
        let child = processes.iter().find(|process| process["locks"] != Value::Array(vec![]));
        let child = child.expect("the child's lock");
        let ended_ns = child["ended_ns"].as_u64().expect("the end of the child");
        assert!(ended_ns < 2_500_000_000, "{how}: {ended_ns}");
        let threads = child["threads"].as_array().unwrap().iter();
        let lives = threads.filter_map(|thread| thread["lived_ns"].as_u64());
        assert!(lives.clone().count() >= 3 && lives.max() <= Some(ended_ns), "{how}: {child:#}");
        assert!(child["hung"].is_null(), "{how}: {child:#}");
        let findings = report["findings"].to_string();
        assert!(!findings.contains("when the run ended"), "{how}: {findings}");
    }
}

#[test]
fn a_wait_for_a_shared_lock_ends_with_its_process() {
    check_with("shared_ends", &[], 0);
}
