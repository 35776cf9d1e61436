//! Functions through which others hold a lock, or meet.

use super::{check_by, check_with, rows};
use serde_json::Value;

/// They are named with the function that called them, or passed over (`--skip-frames`).
#[test]
fn helpers_are_named_with_their_callers() {
    let report = check_with("blame_helper", &[], 0);
    let of =
        |list: &'static str| rows(&report).map(move |row| &row[list][0]).collect::<Vec<&Value>>();
    let blamed = [of("held_by"), of("ended_by")].concat();
    let callers = |helper: &str| {
        let by = blamed.iter().find(|by| by["site"]["function"] == *helper);
        let callers = by.expect("it is to blame")["callers"].as_array().expect("callers");
        callers.iter().map(|caller| caller["function"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(callers("with_lock"), ["compact", "insert"]);
    assert_eq!(callers("sync_all"), ["come_late", "come_early"]);
    let flags = ["--skip-frames", "with_lock", "--skip-frames", "sync_all"];
    check_by(&flags, "blame_helper", &["skipped"], 0);
}
