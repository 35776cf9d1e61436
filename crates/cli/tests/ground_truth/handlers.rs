//! Threads that wait in a signal handler while they wait.

use super::{check_with, rows};
use serde_json::Value;

/// A handler's wait lies within the one that it interrupted: rows have both, the thread has each instant once.
#[test]
fn a_thread_waits_once_at_a_time() {
    let report = check_with("wait_in_handler", &[], 0);
    let process = &report["processes"][0];
    let threads = process["threads"].as_array().expect("threads").iter();
    let ns = |value: &Value, field: &str| value[field].as_u64().unwrap_or(0);
    let wait = |row: &Value| ns(&row["wait_ns"], "total");
    let total = |kind: &str| rows(&report).filter(|row| row["kind"] == kind).map(wait).sum::<u64>();
    let (mut waited, mut contended) = (0, 0);
    for thread in threads.filter(|thread| thread["tid"] != process["pid"]) {
        let own = ns(thread, "wait_ns") + ns(thread, "joined_ns");
        assert!(own <= ns(thread, "lived_ns"), "{thread:#}");
        waited += own;
        contended += ns(thread, "contention_wait_ns");
    }
    let joins = process["joins"].as_array().expect("joins").iter();
    let joined: u64 =
        joins.filter(|join| join["tid"] != process["pid"]).map(|join| ns(join, "wait_ns")).sum();
    // The semaphores are that of the handlers, and another one.
    let semaphores = rows(&report).filter(|row| row["kind"] == "semaphore");
    let semaphore = semaphores.map(|row| ns(&row["wait_ns"], "max")).max();
    let outer = total("mutex") + total("condition") + semaphore.unwrap_or(0) + joined;
    assert!(waited <= outer + 1_000_000 && waited + 1_000_000 >= outer, "{waited} of {outer}");
    assert!(contended <= total("mutex"), "{contended} of {}", total("mutex"));
}
