//! Locks that processes share.

use super::{check_with, much_unknown};
use serde_json::Value;

#[test]
fn locks_that_two_processes_share_are_one() {
    for how in ["mutex", "rwlock", "semaphore"] {
        for place in ["inherited", "file"] {
            let report = check_with("shared_locks", &[how, place], 0);
            assert_eq!(much_unknown(&report), Vec::<String>::new(), "{how} {place}");
        }
    }
}

#[test]
fn a_lock_is_known_wherever_it_is_mapped() {
    for how in ["munmap", "fixed", "moved"] {
        check_with("shared_remapped", &[how], 0);
    }
}

#[test]
fn twenty_processes_share_a_lock() {
    check_with("shared_by_many", &[], 0);
}

#[test]
fn a_process_that_died_with_a_lock_is_to_blame() {
    check_with("shared_robust", &[], 0);
}

#[test]
fn what_one_process_waits_for_another_ends() {
    check_with("shared_queue", &[], 0);
}

/// Whether a line of coverage says that shared locks could not be recognised.
fn says_apart(report: &Value) -> bool {
    let lines = report["coverage"]["unseen"].as_array().expect("lines").iter();
    lines
        .filter_map(Value::as_str)
        .any(|line| line.starts_with("Locks shared with processes that were not observed"))
}

#[test]
fn holds_of_a_process_that_is_not_observed_are_no_idle_time() {
    for how in ["mutex", "rwlock"] {
        let report = check_with("shared_unseen", &[how], 0);
        assert!(says_apart(&report), "{how}: {:#}", report["coverage"]);
    }
}

#[test]
fn shared_locks_that_cannot_be_recognised_claim_no_idle_time() {
    for mode in ["before", "after"] {
        let report = check_with("shared_apart", &[mode], 0);
        assert!(says_apart(&report), "{:#}", report["coverage"]);
        let findings = report["findings"].as_array().expect("findings").iter();
        let rules: Vec<&str> = findings.filter_map(|finding| finding["rule"].as_str()).collect();
        let claims = ["idle", "passed-over", "short-holds", "gate"];
        assert!(rules.iter().all(|rule| !claims.contains(rule)), "{rules:?}");
        let culprits = report["culprits"].as_array().into_iter().flatten();
        assert!(culprits.into_iter().all(|culprit| culprit["kind"] != "idle"), "{mode}");
    }
}
