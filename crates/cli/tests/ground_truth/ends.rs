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

/// The lines of coverage on processes that did not end themselves.
fn cut(report: &Value) -> Vec<&str> {
    let lines = report["coverage"]["unseen"].as_array().expect("lines").iter();
    lines.filter_map(Value::as_str).filter(|line| line.starts_with("Ended")).collect()
}

/// The kernel says what ended a process until its parent asks, and from Linux 6.15 on later, too.
#[test]
fn a_process_that_was_killed_is_named_with_the_locks_that_it_had() {
    for whose in ["shared", "own", "none"] {
        let report = check_with("shared_killed", &[whose], 0);
        let [line] = cut(&report)[..] else { panic!("{whose}: {:#}", report["coverage"]) };
        let is_known = line.starts_with("Ended by SIGKILL: shared_killed");
        assert!(is_known || line.starts_with("Ended, it is not known by what"), "{whose}: {line}");
        let held = [" held #0 (main shared_killed.c:", " held #1 (own, main shared_killed.c:"];
        let is_held = held.map(|held| line.contains(held));
        assert_eq!(is_held, [whose == "shared", whose == "own"], "{whose}: {line}");
        let findings = report["findings"].to_string();
        let died = "and had ended without a release: let no thread or process end before";
        assert_eq!(findings.contains(died), whose == "shared", "{whose}: {findings}");
    }
}
