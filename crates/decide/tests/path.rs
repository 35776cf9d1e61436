//! Paths into JSON.

use serde_json::{Value, json};
use uncontended_decide::path::*;

fn number(path: &str, document: &Value) -> Result<f64, String> {
    Path::parse(path)?.number(document)
}

#[test]
fn numbers_are_found() {
    let document = json!({"a": {"b": 1.5}, "l": [{"w_ns": {"max": 3}}, {"w_ns": null}, {"w_ns": {"max": 9}}], "e": []});
    assert_eq!(number("a.b", &document), Ok(1.5));
    assert_eq!(number("$.a.b", &document), Ok(1.5));
    assert_eq!(number("l[0].w_ns.max", &document), Ok(3.0));
    assert_eq!(number("max(l[*].w_ns.max)", &document), Ok(9.0));
    assert_eq!(number("mean(l[*].w_ns.max)", &document), Ok(6.0));
    assert_eq!(number("count(l[*])", &document), Ok(3.0));
    assert_eq!(number("max(e[*].x)", &document), Ok(0.0));
    assert_eq!(number("[1]", &json!([1, 2])), Ok(2.0));
    assert_eq!(number("max([*])", &json!([1, 2])), Ok(2.0));
}

#[test]
fn what_is_not_there_is_no_zero() {
    let document = json!({"a": {"b": null, "s": "x"}, "l": [{"v": 1}], "e": []});
    for path in ["a.c", "a.b", "a.s", "l[3].v", "max(l[*].w)", "min(e[*].v)", "max(a[*])"] {
        assert!(number(path, &document).is_err(), "{path}");
    }
}

#[test]
fn bad_paths_are_refused() {
    for path in ["", "a..b", "a[", "a[x]", "a]", "a[*]", "best(a[*])", "max(a[*]", "a.[0]"] {
        assert!(Path::parse(path).is_err(), "{path}");
    }
}

#[test]
fn times_are_known_by_their_name() {
    let is_time = |path| Path::parse(path).unwrap().is_time();
    assert!(is_time("max(processes[*].locks[*].wait_ns.max)"));
    assert!(is_time("wall_ns"));
    assert!(!is_time("sum(processes[*].locks[*].wait_ns.count)"));
    assert!(!is_time("sum(processes[*].locks[*].blocked)"));
}
