//! The path that set a run's length, its gains, and the paths of spans.

use super::{check_by, check_with, of_path, run_by};
use serde_json::Value;
use std::process::Command;
use uncontended_testkit::programs::Program;

/// On a machine so busy that threads slept for a fifth of the run before they met, no gain is reported: the program
/// then runs again.
fn path_of_threads_that_met(mode: &str) -> Value {
    for _ in 0..3 {
        let (report, unmet) = run_by(&[], "path", &[mode], 0);
        let [asleep_ns, wall_ns] = [&report["paths"][0]["asleep_ns"], &report["wall_ns"]];
        if asleep_ns.as_u64().unwrap_or(0) <= wall_ns.as_u64().unwrap() / 5 {
            assert_eq!(unmet, Vec::<String>::new(), "{mode}: {report:#}");
            return report;
        }
    }
    check_with("path", &[mode], 0)
}

#[test]
fn the_path_leads_to_the_hold_that_all_waited_for() {
    for mode in ["join", "made", "condition", "semaphore", "barrier", "nested", "writer", "exit"] {
        let report = path_of_threads_that_met(mode);
        assert_eq!(report["ranked_by"], "gain", "{mode}");
        let paths = report["paths"].as_array().expect("paths");
        let [path] = &paths[..] else { panic!("{mode}: {paths:?}") };
        assert_eq!(path["unknown_ns"], 0, "{mode}: {path:#}");
    }
}

#[test]
fn the_slowest_calls_are_told_from_the_median_ones() {
    const NAME: &str = "the_slowest_calls_are_told_from_the_median_ones";
    let program = Program::compile("spans", &["-O1"]);
    let tried = Command::new(env!("CARGO_BIN_EXE_unc"))
        .args(["run", "--quiet", "--no-history", "--span", "main", "--"])
        .arg(program.path())
        .output()
        .expect("unc can be started");
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    if said.contains("--span cannot watch") {
        return uncontended_testkit::skip(&NAME, &said.trim());
    }
    let report = check_by(&["--span", "request"], "spans", &[], 0);
    let spans = &report["spans"][0];
    assert_eq!((&spans["name"], &spans["kind"]), (&"request".into(), &"function".into()));
    // The first calls are missed: the places to which they return have yet to be learnt.
    let count = spans["count"].as_u64().expect("a count");
    assert!((1_000..=2_000).contains(&count) && spans["lost"] == 0, "{spans:#}");
    the_slowest_waited_for_the_compaction(spans);
}

#[test]
fn a_program_announces_its_spans() {
    let report = check_with("spans", &[], 0);
    let spans = &report["spans"][0];
    assert_eq!((&spans["name"], &spans["kind"]), (&"serve".into(), &"annotation".into()));
    assert_eq!((&spans["count"], &spans["not_kept"]), (&2_000.into(), &0.into()));
    let inner = &report["spans"][1];
    assert_eq!((&inner["name"], &inner["count"]), (&"inner".into(), &1_000.into()));
    the_slowest_waited_for_the_compaction(spans);
    // A short wait after the long one does not hide it.
    let report = check_with("spans", &["store-first"], 0);
    the_slowest_waited_for_the_compaction(&report["spans"][0]);
}

#[test]
fn a_long_wait_before_a_short_one_is_on_the_path() {
    for mode in ["told", "told-late"] {
        let report = check_with("path", &[mode], 0);
        assert_eq!(report["ranked_by"], "gain", "{mode}");
    }
}

/// It is long work, which other code's waiting ranks before.
#[test]
fn a_long_hold_that_was_waited_for_at_its_end_ranks_nothing() {
    let report = check_with("path", &["late"], 0);
    assert_eq!(report["ranked_by"], "wait");
}

#[test]
fn the_path_is_in_the_holds_of_a_pool() {
    let report = check_with("path", &["pool"], 0);
    assert_eq!(report["ranked_by"], "gain");
}

/// Of a thread that is the last one at a barrier, the others' coming bounds what it can gain.
#[test]
fn the_path_meets_others_at_a_barrier() {
    for mode in ["meets", "counted"] {
        check_with("path", &[mode], 0);
    }
}

/// Of holds for which no thread waited, of threads that wait for each other in two functions, and of a thread that
/// waits until others are done, the record has a part alone.
#[test]
fn the_path_goes_through_phases() {
    for mode in ["queue", "apart", "counts"] {
        let report = check_with("phases", &[mode], 0);
        assert_eq!(report["ranked_by"], "gain", "{mode}");
    }
}

fn the_slowest_waited_for_the_compaction(spans: &Value) {
    let compact_of = |group: &str| {
        let parts = spans[group]["parts"].as_array().expect("parts");
        let mut of = parts.iter().filter(|part| part["site"]["function"] == "compact");
        of.next().and_then(|part| part["ns"].as_u64()).unwrap_or(0)
    };
    // Of each thread, one call waited for each compaction: 30 ms of 50. A call takes a third of a millisecond.
    let (slowest, median) = (&spans["slowest"], &spans["median"]);
    let hundredth = Value::from(spans["count"].as_u64().expect("a count").div_ceil(100));
    assert_eq!((&slowest["count"], &median["count"]), (&hundredth, &hundredth));
    assert!(compact_of("slowest") > 1_000_000, "{spans:#}");
    assert_eq!(compact_of("median"), 0, "{spans:#}");
    for group in [slowest, median] {
        let parts = group["parts"].as_array().unwrap().iter().map(|part| &part["ns"]);
        let rest = ["own_ns", "handed_over_ns", "unknown_ns"].map(|part| &group[part]);
        let sum: u64 = parts.chain(rest).filter_map(Value::as_u64).sum();
        let whole = group["ns"].as_u64().unwrap();
        assert!(whole.abs_diff(sum) <= whole / 10 + 10, "{group:#}: the parts sum to {sum}");
    }
}

#[test]
fn a_thread_that_sleeps_until_a_flag_is_set_tells_no_gain() {
    let report = check_with("path", &["flag"], 0);
    assert_eq!(report["ranked_by"], "wait");
    let findings = report["findings"].as_array().unwrap().iter();
    let mut texts = findings.filter_map(|finding| finding["text"].as_str());
    assert!(texts.all(|text| !text.contains("hardly makes it shorter")), "{report:#}");
}

/// If holds take a part less time, the gain is at least that part of the gain at most, and at most that part of their
/// time on the path. A busy machine only adds to a run: the shortest of several counts.
#[test]
fn half_a_hold_gains_what_the_path_says() {
    let ns = |value: &Value| value.as_u64().expect("nanoseconds");
    let length = |report: &Value| ns(&report["paths"][0]["until_ns"]);
    // In turn, so that what else the machine does meets both.
    let pairs = (0..4).map(|_| ["40", "20"].map(|ms| check_with("path", &["pace", ms], 0)));
    let shorter = |one, other| if length(&one) <= length(&other) { one } else { other };
    let [whole, half] =
        pairs.reduce(|[a, b], [c, d]| [shorter(a, c), shorter(b, d)]).expect("runs");
    let gain = ns(&of_path(&whole, "gain", "hold_pace"));
    let path = ns(&of_path(&whole, "path", "hold_pace"));
    let gained = length(&whole).saturating_sub(length(&half));
    let slack = 60_000_000;
    let [least, most] = [gain / 2, gain.min(path / 2)];
    assert!(
        (least.saturating_sub(slack)..=most + slack).contains(&gained),
        "{gained} is not from {least} to {most}"
    );
    assert!(most > 2 * slack, "{most}");
}

#[test]
fn a_thread_that_takes_no_lock_is_on_the_path() {
    for mode in ["first", "last", "timed", "c11", "exits"] {
        let report = check_with("computes", &[mode], 0);
        let path = &report["paths"][0];
        assert!(path["unknown_ns"].as_u64().is_some_and(|ns| ns < 1_000_000), "{mode}: {path:#}");
        // Where threads lacked CPUs, there is none.
        let gain = of_path(&report, "gain", "contend").as_u64();
        assert!(gain.is_none_or(|ns| ns <= 25_000_000), "{mode}: {gain:?}");
        let threads = report["processes"][0]["threads"].as_array().expect("threads");
        let lived = |thread: &&Value| thread["lived_ns"].as_u64() >= Some(490_000_000);
        assert_eq!(threads.iter().filter(lived).count(), 2, "{mode}: {threads:#?}");
        let other = |thread: &&Value| thread["other_wait_ns"].is_u64();
        assert_eq!(threads.iter().filter(other).count(), 5, "{mode}: {threads:#?}");
    }
}

/// What is gained at the first lock is lost at the second, of which that is known with all holds alone.
#[test]
fn a_gain_that_another_lock_may_take_is_a_bound() {
    let first = |options: &[&str]| {
        let report = check_by(options, "two_stages", &[], 0);
        assert_eq!(report["ranked_by"], "gain", "{options:?}: {report:#}");
        let locks = report["processes"][0]["locks"].as_array().expect("locks");
        let second = locks.iter().find(|lock| lock["site"]["function"] == "second_stage");
        let second = second.expect("the second lock")["id"].clone();
        (report["culprits"][0].clone(), second)
    };
    let (bound, second) = first(&[]);
    assert_eq!(bound["may_move_to"], serde_json::json!([second]), "{bound:#}");
    let (known, _) = first(&["--all-holds"]);
    assert_eq!(known["may_move_to"], Value::Null, "{known:#}");
    // Without the first holds, the run takes 600 ms, or 150 ms if no thread waits for the second ones, as estimated.
    let gain = |culprit: &Value| culprit["gain_at_most_ns"].as_u64().expect("a gain");
    assert!(gain(&known) < gain(&bound) / 2, "{known:#} {bound:#}");
}
