//! From where `unc run` watches a program: OpenMP's runtime waits by system calls of its own, which the kernel sees.

mod common;

use common::{Folder, compile, report, status, stderr, unc_run};
use serde_json::Value;
use std::process::Output;
use uncontended_testkit::programs::Program;

/// The program, with these flags of the compiler; nothing, with a skip, if that knows no OpenMP.
fn openmp(test: &str, flags: &[&str]) -> Option<Program> {
    let probe = "echo 'int main() {}' | ${CC:-cc} -fopenmp -xc -o /dev/null -";
    let output = std::process::Command::new("sh").args(["-c", probe]).output().unwrap();
    if !output.status.success() {
        uncontended_testkit::skip!(test, "the C compiler has no OpenMP: {}", stderr(&output));
        return None;
    }
    Some(Program::compile("openmp", &[&["-O1", "-fopenmp"], flags].concat()))
}

/// The report on the program, which says how long its threads waited. Where threads spin, they do not wait.
fn watched(program: &Program, flags: &[&str]) -> (Value, Output, u64) {
    let json = program.folder().file("run.json");
    let mut command = unc_run(&[flags, &["--json", &json]].concat());
    let output = command.arg(program.path()).env("OMP_WAIT_POLICY", "passive").output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let waited_ns = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let report = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    (report, output, waited_ns)
}

/// The calls go through the linkage table, or through the addresses that the loader fills in.
#[test]
fn the_code_in_a_critical_section_is_named() {
    const NAME: &str = "the_code_in_a_critical_section_is_named";
    for flags in [&[][..], &["-fno-plt"]] {
        let Some(program) = openmp(NAME, flags) else { return };
        let (report, output, waited_ns) = watched(&program, &[]);
        let said = stderr(&output);
        if report["source"] != "kernel" {
            assert!(
                said.contains("waits by system calls of its own, which are not seen;"),
                "{said}"
            );
            return uncontended_testkit::skip(&NAME, &said.lines().next().unwrap_or_default());
        }
        assert!(said.contains("the kernel watches all its futex waits"), "{said}");
        let locks = report["processes"][0]["locks"].as_array().unwrap();
        let is_ours = |lock: &&Value| lock["site"]["function"] == "stand_alone";
        let lock = locks.iter().find(is_ours).unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!((&lock["class"], &lock["like"]), (&"contention".into(), &"mutex".into()));
        let seen_ns = lock["wait_ns"]["total"].as_u64().unwrap();
        assert!(seen_ns.abs_diff(waited_ns) < waited_ns / 10, "{seen_ns} of {waited_ns}");
        assert_eq!(report["culprits"][0]["site"]["function"], "stand_alone");
        // Code that jumps to the runtime's own has no return address in the stack.
        let waiter = lock["worst_wait"]["waiter"].as_array().unwrap();
        let mut names = waiter.iter().filter_map(|frame| frame["function"].as_str());
        assert!(names.any(|name| name.starts_with("GOMP_critical")), "{waiter:?}");
    }
}

#[test]
fn whoever_asks_for_the_observer_or_for_holds_gets_it() {
    const NAME: &str = "whoever_asks_for_the_observer_or_for_holds_gets_it";
    let Some(program) = openmp(NAME, &[]) else { return };
    for flags in [&["--source", "preload"][..], &["--all-holds"], &["--lock-order"]] {
        let (report, ..) = watched(&program, flags);
        assert_eq!(report["source"], "preload", "{flags:?}");
        let unseen = report["coverage"]["unseen"].to_string();
        assert!(unseen.contains("OpenMP's runtime (libgomp) waits by system calls"), "{unseen}");
    }
}

#[test]
fn the_kernel_watches_where_it_is_asked_to() {
    const NAME: &str = "the_kernel_watches_where_it_is_asked_to";
    for flag in ["--all-holds", "--lock-order"] {
        let output = unc_run(&["--source", "kernel", flag]).arg("true").output().unwrap();
        let said = stderr(&output);
        assert!(
            status(&output) == 125 && said.contains("does not see how locks are held"),
            "{said}"
        );
    }
    let output = unc_run(&["--source", "kernel"]).arg("true").output().unwrap();
    if status(&output) == 125 {
        return uncontended_testkit::skip(&NAME, &stderr(&output).trim());
    }
    let (report, _) = report(&["--source", "kernel"], &["true"]);
    assert_eq!(report["source"], "kernel");
}

/// The numbers of the threads of each program that was executed, in turn, and what the report lacks.
fn executed(program: &Program, words: [&str; 3]) -> Option<(Vec<Vec<u64>>, Value)> {
    let json = program.folder().file("run.json");
    let mut command = unc_run(&["--source", "kernel", "--json", &json]);
    let output = command.arg(program.path()).args(words).output().unwrap();
    if status(&output) == 125 {
        uncontended_testkit::skip!("threads_end_with_their_program", "{}", stderr(&output).trim());
        return None;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let pids: Vec<&Value> =
        report["processes"].as_array().unwrap().iter().map(|one| &one["pid"]).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    let threads = report["processes"].as_array().unwrap().iter().map(|process| {
        let threads = process["threads"].as_array().unwrap().iter();
        threads.map(|thread| thread["tid"].as_u64().unwrap()).collect()
    });
    Some((threads.collect(), report["coverage"].clone()))
}

/// A program that executes another one has its threads, and the other one has those that come then: whether they wait
/// for a lock or not, and whichever thread executes.
#[test]
fn threads_end_with_their_program() {
    let program = Program::compile("executes_itself", &["-O1"]);
    for (thread, wait) in [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")] {
        let Some((threads, coverage)) = executed(&program, ["1", thread, wait]) else { return };
        let [first, last] = &threads[..] else { panic!("{threads:?}") };
        assert_eq!(first.len(), 4, "{threads:?}");
        // One that ended before it was met is missing.
        assert!((1..=4).contains(&last.len()), "{threads:?}");
        let both = first.iter().filter(|tid| last.contains(tid)).count();
        assert_eq!(both, 1, "The first thread alone: {threads:?}");
        let missing = &coverage["not_recording"];
        assert!(missing.as_array().is_none_or(Vec::is_empty), "{missing:#}");
    }
}

/// Another thread waits once, at once, and the program ends.
const WAITS_ONCE: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *takes(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, takes, NULL);
    usleep(10000);
    pthread_mutex_unlock(&lock);
    return pthread_join(thread, NULL);
}
"#;

/// The observer cannot be loaded into it, and the kernel watches before it runs.
#[test]
fn a_static_program_is_watched_from_its_first_instruction_on() {
    const NAME: &str = "a_static_program_is_watched_from_its_first_instruction_on";
    let folder = Folder::new();
    let json = folder.file("run.json");
    for flags in [&["-static", "-pthread"][..], &["-static-pie", "-fPIE", "-pthread"]] {
        let Some(program) = compile(&folder, WAITS_ONCE, flags) else {
            uncontended_testkit::skip!(NAME, "no static C library for {flags:?}");
            continue;
        };
        let output = unc_run(&["--json", &json]).arg(&program).output().unwrap();
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        if stderr(&output).contains("runs unobserved") {
            return uncontended_testkit::skip(&NAME, &stderr(&output).trim());
        }
        let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let waits = &report["processes"][0]["locks"][0]["wait_ns"];
        assert_eq!(waits["count"], 1, "{report:#}");
        let unseen = report["coverage"]["unseen"].to_string();
        assert!(unseen.contains("watched from its first instruction on."), "{unseen}");
    }
}

/// What has no room in the kernel's tables is in no row, and the first finding. Each wait is in a row, or counted.
#[test]
fn waits_without_room_are_counted_and_said_first() {
    const NAME: &str = "waits_without_room_are_counted_and_said_first";
    if !uncontended_testkit::all_of(NAME) {
        return; // A report on 65,536 rows.
    }
    let program = Program::compile("many_futexes", &["-O1"]);
    let json = program.folder().file("run.json");
    let mut command = unc_run(&["--source", "kernel", "--json", &json]);
    let output = command.arg(program.path()).arg("100000").output().unwrap();
    if status(&output) == 125 {
        return uncontended_testkit::skip(&NAME, &stderr(&output).trim());
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let woken: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let locks = report["processes"][0]["locks"].as_array().unwrap().iter();
    let kept: u64 = locks.filter_map(|lock| lock["blocked"].as_u64()).sum();
    let lost = report["coverage"]["lost_waits"].as_u64().unwrap();
    // And the one for the thread's end. The first millisecond is not seen.
    let counted = woken - woken / 1_000..=woken + 1;
    assert!(counted.contains(&(kept + lost)), "{kept} and {lost} of {woken}");
    assert_eq!(report["findings"][0]["rule"], "lost", "{}", report["findings"]);
}
