//! Locks that threads take in different orders.

use super::check_by;
use serde_json::Value;

/// The threads of the inversions that a program's lock order allows: the function that took each lock held, and the one
/// that took the next.
fn inversions(mode: &str) -> Vec<Vec<[Value; 2]>> {
    let report = check_by(&["--lock-order"], "lock_order", &[mode], 0);
    assert_eq!(report["deadlocks"], Value::Null, "{mode}");
    let order = &report["lock_order"];
    let lost = order["lost"].as_u64().expect("a count");
    assert_eq!(lost > 0, mode == "many", "{mode}: {lost} lost");
    assert_eq!(order["is_complete"], true, "{mode}");
    let found = order["inversions"].as_array().expect("a list").iter();
    let threads = |found: &Value| {
        let threads = found["threads"].as_array().unwrap();
        let mut tids: Vec<_> = threads.iter().map(|thread| thread["tid"].as_u64()).collect();
        tids.dedup();
        assert_eq!(tids.len(), threads.len(), "{mode}: {found:#}");
        for (nth, thread) in threads.iter().enumerate() {
            assert_ne!(thread["held"], thread["taken"], "{mode}: {found:#}");
            // The rows of a read-write lock have numbers of their own.
            let next = &threads[(nth + 1) % threads.len()]["held"];
            assert!(mode == "writers" || thread["taken"] == *next, "{mode}: {found:#}");
        }
        assert_eq!(found["more"], if mode == "pairs" { 3 } else { 0 }, "{mode}");
        let function = |thread: &Value, stack: &str| thread[stack][0]["function"].clone();
        let code = |thread| ["held_stack", "taken_stack"].map(|stack| function(thread, stack));
        threads.iter().map(code).collect()
    };
    found.map(threads).collect()
}

#[test]
fn inversions_are_found() {
    for (mode, threads, code) in [
        ("two", 2, ["outer", "inner"]),
        ("three", 3, ["outer", "inner"]),
        ("pairs", 2, ["outer", "inner"]),
        ("writers", 2, ["reads", "writes"]),
        ("spins", 2, ["spins", "spins"]),
    ] {
        let found = inversions(mode);
        let code = code.map(Value::from);
        assert_eq!(found, [vec![code; threads]], "{mode}");
    }
    let [found] = &inversions("comes-back")[..] else { panic!("one inversion") };
    assert!(found.contains(&["inner", "comes_back"].map(Value::from)), "{found:?}");
}

#[test]
fn orders_without_inversions_are_none() {
    for mode in ["same", "alone", "gate", "tries", "limits", "readers", "before", "again", "many"] {
        let found = inversions(mode);
        assert!(found.is_empty(), "{mode}: {found:?}");
    }
}
