//! `unc run` reports what runs in a PID namespace once, by the numbers outside it.

mod common;
use common::{Folder, WAITS, compile, report, status};
use serde_json::Value;
use std::process::Command;
use uncontended_testkit::skip;

/// A thread that takes a robust mutex that it has, and one that waits for it.
const ROBUST: &str = r"
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m;
static void *body(void *unused) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return unused;
}
int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attributes);
    pthread_mutex_lock(&m);
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    pthread_t thread;
    pthread_create(&thread, 0, body, 0);
    usleep(100000);
    pthread_mutex_unlock(&m);
    return pthread_join(thread, 0);
}";

/// The report on the program in a namespace that `unshare` makes with these flags; none if it cannot.
fn in_namespace(test: &str, flags: &[&str], source: &str) -> Option<Value> {
    let folder = Folder::new();
    let program = compile(&folder, source, &[]).expect("a C compiler");
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
    let Some(report) = in_namespace(test, &["-pf"], WAITS) else { return };
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
    let Some(report) = in_namespace(test, &["-pf", "--mount-proc"], WAITS) else { return };
    let coverage = &report["coverage"];
    let [one] = list(coverage, "not_recording") else { panic!("{coverage:#}") };
    assert!(one["pid"].as_u64() > Some(1), "its number outside: {one}");
    assert!(one["reason"].as_str().unwrap().contains("PID namespace"), "{one}");
}

/// A robust mutex's word has the number in the namespace.
#[test]
fn who_has_a_robust_mutex_is_known_by_its_number_inside() {
    let test = "who_has_a_robust_mutex_is_known_by_its_number_inside";
    let Some(report) = in_namespace(test, &["-pf"], ROBUST) else { return };
    let locks: Vec<&Value> =
        list(&report, "processes").iter().flat_map(|of| list(of, "locks")).collect();
    let [lock] = locks[..] else { panic!("{report:#}") };
    assert_eq!((&lock["acquisitions"], &lock["blocked"]), (&7.into(), &1.into()), "{lock:#}");
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
