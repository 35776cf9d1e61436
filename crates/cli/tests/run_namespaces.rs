//! `unc run` reports what runs in a PID namespace once, by the numbers outside it.

mod common;
use common::{Folder, WAITS, compile, report, status};
use serde_json::Value;
use std::process::Command;
use uncontended_testkit::skip;

/// The report on the program in a namespace that `unshare` makes with these flags; none if it cannot.
fn in_namespace(test: &str, flags: &[&str]) -> Option<Value> {
    let folder = Folder::new();
    let program = compile(&folder, WAITS, &[]).expect("a C compiler");
    let plain = Command::new("unshare").args(flags).arg("true").status();
    if !plain.is_ok_and(|status| status.success()) {
        skip!(test, "no PID namespaces here");
        return None;
    }
    let (report, output) = report(&[], &[&["unshare"], flags, &[&program]].concat());
    assert_eq!(status(&output), 0, "{report:#}");
    Some(report)
}

fn list<'r>(value: &'r Value, name: &str) -> &'r [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name}: {value:#}"))
}

#[test]
fn a_program_in_a_pid_namespace_has_its_numbers_outside() {
    let test = "a_program_in_a_pid_namespace_has_its_numbers_outside";
    let Some(report) = in_namespace(test, &["-pf"]) else { return };
    let of_locks = |of: &&Value| !list(of, "locks").is_empty();
    let with_locks: Vec<_> = list(&report, "processes").iter().filter(of_locks).collect();
    let [process] = with_locks[..] else { panic!("{report:#}") };
    let pid = process["pid"].as_u64().unwrap();
    assert!(pid > 1, "its number outside: {report:#}");
    let threads = list(process, "threads");
    let tids: Vec<_> = threads.iter().map(|thread| thread["tid"].as_u64().unwrap()).collect();
    assert_eq!((tids.len(), tids.contains(&pid)), (3, true), "{threads:#?}");
    assert!(tids.iter().all(|&tid| tid >= pid), "{tids:?}");
    let joins = list(process, "joins");
    assert!(joins.iter().all(|join| join["body"]["function"] == "body"), "{joins:#?}");
    assert!(
        !joins.is_empty() && joins.iter().all(|join| tids.contains(&join["of"].as_u64().unwrap()))
    );
    let of_others = list(&report, "processes").iter().filter(|of| !of_locks(of));
    let parents: Vec<_> = of_others.map(|of| of["pid"].as_u64().unwrap()).collect();
    assert!(parents.iter().all(|&parent| parent > 1), "{parents:?}");
    let coverage = &report["coverage"];
    assert!(coverage["futex_share_unaccounted"].as_f64().unwrap_or(0.0) < 0.2, "{coverage:#}");
    let is_unseen = |finding: &&Value| finding["rule"] == "unseen";
    assert_eq!(list(&report, "findings").iter().find(is_unseen), None);
    assert_eq!(list(coverage, "not_recording").len(), 0, "{coverage:#}");
}

#[test]
fn a_program_that_cannot_find_the_record_is_told_of_once() {
    let test = "a_program_that_cannot_find_the_record_is_told_of_once";
    let Some(report) = in_namespace(test, &["-pf", "--mount-proc"]) else { return };
    let coverage = &report["coverage"];
    let [one] = list(coverage, "not_recording") else { panic!("{coverage:#}") };
    assert!(one["pid"].as_u64() > Some(1), "its number outside: {one}");
    assert!(one["reason"].as_str().unwrap().contains("PID namespace"), "{one}");
}

/// Starts in a folder as its root directory, in which there is only what it needs.
#[test]
fn a_program_in_another_root_directory_does_not_record_for_that_reason() {
    let test = "a_program_in_another_root_directory_does_not_record_for_that_reason";
    let folder = Folder::new();
    let source = "#include <unistd.h>\nint main(void) { return usleep(500000); }";
    let program = compile(&folder, source, &[]).expect("a C compiler");
    let root = folder.file("root");
    let script = "set -e; mkdir \"$1\"; cp \"$0\" \"$1/program\"; \
        for file in $(ldd \"$0\" | grep -o '/[^ ]*'); do cp -L --parents \"$file\" \"$1\"; done; \
        chroot \"$1\" /program";
    let plain = Command::new("sh").args(["-c", script, &program, &root]).output().unwrap();
    if !plain.status.success() {
        skip!(test, "{}", common::stderr(&plain).trim());
        return;
    }
    let flags = ["--source", "preload"];
    let (report, output) = report(&flags, &["chroot", &root, "/program"]);
    assert_eq!(status(&output), 0, "{report:#}");
    let [one] = list(&report["coverage"], "not_recording") else { panic!("{report:#}") };
    let reason = one["reason"].as_str().unwrap();
    assert!(reason.starts_with("its root directory is another one"), "{reason}");
}
