//! More locks, threads and processes than have rows of their own.

use super::check_with;
use serde_json::Value;
use std::collections::HashSet;
use std::process::{Child, Command, Stdio};
use uncontended_testkit::programs::Program;
use uncontended_testkit::{Folder, all_of};

/// Rows that are sums over many locks.
fn sums(report: &Value) -> Vec<&Value> {
    let processes = report["processes"].as_array().expect("processes").iter();
    let locks = processes.flat_map(|process| process["locks"].as_array().expect("locks"));
    locks.filter(|row| row["summed"] == "many").collect()
}

/// Checks a program whose events all find room.
fn check(name: &str) -> Value {
    let report = check_with(name, &[], 0);
    assert_eq!(report["observer"]["records_dropped"], 0, "{name}");
    report
}

/// Checks what `coverage.degraded` says against the rows.
fn is_told(report: &Value) {
    let (degraded, sums) = (&report["coverage"]["degraded"], sums(report));
    let total = |field: &str| sums.iter().filter_map(|row| row[field].as_u64()).sum::<u64>();
    assert_eq!(degraded["rows"], sums.len(), "{degraded:#}");
    for field in ["acquisitions", "blocked"] {
        assert_eq!(degraded[field], total(field), "{degraded:#}");
    }
    let (from_ns, wall_ns) = (degraded["from_ns"].as_u64(), report["wall_ns"].as_u64());
    assert!(from_ns > Some(0) && from_ns < wall_ns, "{degraded:#}");
    for row in sums {
        for field in ["idle_ns", "hold_ns", "owner_changes"] {
            assert_eq!(row[field], Value::Null, "{row:#}");
        }
        assert_eq!(row["class"], "unknown");
    }
    let lines = report["coverage"]["unseen"].as_array().expect("lines").iter();
    let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
    let is_said =
        |line: &&&str| line.contains("summed locks by the code") && line.contains("--delay");
    assert_eq!(lines.iter().filter(is_said).count(), 1, "{lines:#?}");
}

#[test]
fn short_lived_locks_are_summed_by_the_code_that_took_them() {
    all_of("short_lived_locks_are_summed_by_the_code_that_took_them");
    let report = check("many_lives");
    is_told(&report);
    assert!(sums(&report).iter().all(|row| row["site"]["function"] == "live"));
    let processes = report["processes"].as_array().expect("processes");
    assert_eq!(processes.len(), 1, "the program has one");
}

#[test]
fn of_many_living_locks_the_contended_one_has_its_row() {
    all_of("of_many_living_locks_the_contended_one_has_its_row");
    let report = check("many_live");
    is_told(&report);
    let of: HashSet<_> = sums(&report).iter().map(|row| row["site"]["function"].as_str()).collect();
    assert!(of.contains(&Some("take")) && of.contains(&Some("share")), "{of:?}");
    assert!(report["coverage"]["degraded"]["in_part"].as_u64() >= Some(1));
}

#[test]
fn each_of_many_threads_is_counted() {
    all_of("each_of_many_threads_is_counted");
    check("many_threads");
}

#[test]
fn many_processes_are_as_many_in_the_report() {
    all_of("many_processes_are_as_many_in_the_report");
    let report = check("many_processes");
    let processes = report["processes"].as_array().expect("processes");
    let pids: HashSet<_> = processes.iter().map(|process| process["pid"].as_u64()).collect();
    let children = if uncontended_testkit::is_full() { 1000 } else { 50 };
    assert_eq!((pids.len(), processes.len()), (children + 1, children + 1));
    assert_eq!(report["coverage"]["processes_observed"], children + 1);
}

/// The most memory that a process has had, in KiB, sampled until it ends.
fn most_kib(child: &mut Child) -> u64 {
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        most = most.max(kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    most
}

#[test]
fn reading_takes_less_than_a_gibibyte_and_the_history_two_mebibytes() {
    for name in ["many_lives", "many_live", "many_threads"] {
        let program = Program::compile(name, &["-O1"]);
        let state = Folder::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_unc"))
            .args(["run", "--report", "/dev/null", "--json"])
            .arg(state.file("run.json"))
            .arg("--html")
            .arg(state.file("run.html"))
            .arg("--")
            .arg(program.path())
            .env("XDG_STATE_HOME", state.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("unc can be started");
        let most = most_kib(&mut child);
        assert!(child.wait().expect("a child").success(), "{name}");
        assert!((1..1 << 20).contains(&most), "{name}: {most} KiB");
        let entry = std::fs::metadata(state.file("uncontended/runs/1.jsonl")).expect("an entry");
        assert!((1..=2 << 20).contains(&entry.len()), "{name}: {} bytes", entry.len());
    }
}
