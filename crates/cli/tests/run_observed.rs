//! What `unc run` reports about programs whose waiting is known.

mod common;
use common::{Folder, compile, installed, report, status, stderr, stdout, unc, unc_run};
use serde_json::Value;

/// A holder that sleeps while one thread waits; then the code in `END`.
const HELD: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, wanted;
static void *hold(void *unused) {
    pthread_mutex_lock(&lock);
    held = 1;
    while (!wanted) usleep(1000);
    usleep(100000);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void contend(void) {
    pthread_t holder;
    held = wanted = 0;
    pthread_create(&holder, NULL, hold, NULL);
    while (!held) usleep(1000);
    wanted = 1;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(holder, NULL);
}
int main(int argc, char **argv) {
    printf("%p\n", (void *)&lock);
    fflush(stdout);
    contend();
    END
    return 0;
}
"#;

fn program(folder: &Folder, end: &str) -> String {
    compile(folder, &HELD.replace("END", end), &[]).expect("a C compiler, which linking needs too")
}

/// The mutex whose address the program printed, in the process at `index`.
fn the_lock<'a>(report: &'a Value, printed: &str, index: usize) -> &'a Value {
    let address = printed.lines().next().unwrap();
    let locks = report["processes"][index]["locks"].as_array().unwrap();
    let found = locks.iter().find(|lock| lock["address"] == address && lock["kind"] == "mutex");
    found.unwrap_or_else(|| panic!("no row for {address}: {locks:#?}"))
}

fn functions(frames: &Value) -> Vec<&str> {
    frames.as_array().unwrap().iter().filter_map(|frame| frame["function"].as_str()).collect()
}

fn assert_contended(lock: &Value) {
    assert_eq!(
        (&lock["acquisitions"], &lock["blocked"], &lock["threads"]),
        (&2.into(), &1.into(), &2.into()),
        "{lock:#}"
    );
    assert_eq!((&lock["class"], &lock["owner_changes"]), (&"contention".into(), &1.into()));
    // By construction: the holder sleeps 100 ms after it learns that the waiter is about to come.
    assert!(lock["hold_ns"]["max"].as_u64().unwrap() >= 100_000_000, "{lock:#}");
    assert!(lock["wait_ns"]["max"].as_u64().unwrap() >= 1_000_000, "{lock:#}");
    assert_eq!(lock["wait_ns"]["count"], 1);
    assert_eq!(lock["hold_ns"]["count"], 1);
}

#[test]
fn a_wait_is_told_with_the_stacks_of_both_sides() {
    let folder = Folder::new();
    let (report, output) = report(&[], &[&program(&folder, "")]);
    let lock = the_lock(&report, &stdout(&output), 0);
    assert_contended(lock);
    assert!(functions(&lock["worst_wait"]["waiter"]).contains(&"contend"), "{lock:#}");
    assert!(functions(&lock["worst_wait"]["holder"]).contains(&"hold"), "{lock:#}");
    assert_eq!(lock["site"]["function"], "hold");
    assert!(lock["site"]["file"].as_str().unwrap().ends_with("program.c"));
    assert!(lock["site"]["line"].as_u64().is_some());
    assert!(report["observer"]["cost_ns_per_pair"].as_f64().is_some());
    assert_eq!(report["coverage"]["processes_observed"], 1);
    assert_eq!(report["coverage"]["nothing_seen"], Value::Null);
    assert!(!report["coverage"]["unseen"].as_array().unwrap().is_empty());
    assert_eq!(report["processes"][0]["threads"].as_array().unwrap().len(), 2);
    assert!(stderr(&output).contains("hold"), "{}", stderr(&output));
}

#[test]
fn a_program_that_was_killed_is_reported_as_far_as_it_came() {
    let folder = Folder::new();
    for (end, expected) in [("raise(SIGKILL);", 137), ("_exit(5);", 5), ("abort();", 134)] {
        let (report, output) = report(&[], &[&program(&folder, end)]);
        assert_eq!(status(&output), expected, "{}", stderr(&output));
        assert_contended(the_lock(&report, &stdout(&output), 0));
        assert_eq!(report["exit_status"], expected);
    }
}

#[test]
fn a_child_begins_an_empty_record_of_its_own() {
    let folder = Folder::new();
    let fork = "if (fork() == 0) { contend(); _exit(0); } wait(NULL);";
    let (report, output) = report(&[], &[&program(&folder, fork)]);
    assert_eq!(report["processes"].as_array().unwrap().len(), 2, "{report:#}");
    for index in 0..2 {
        assert_contended(the_lock(&report, &stdout(&output), index));
    }
}

#[test]
fn an_exec_begins_a_new_entry_with_the_same_pid() {
    let folder = Folder::new();
    let exec = "if (argc == 1) { execl(argv[0], argv[0], \"again\", NULL); }";
    let (report, output) = report(&[], &[&program(&folder, exec)]);
    let processes = report["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2);
    assert_eq!(processes[0]["pid"], processes[1]["pid"]);
    assert_eq!(processes[1]["command"][1], "again");
    assert_contended(the_lock(&report, &stdout(&output), 0));
    let printed = stdout(&output);
    assert_contended(the_lock(&report, printed.lines().nth(1).unwrap(), 1));
}

#[test]
fn flags_decide_what_is_recorded_and_shown() {
    let folder = Folder::new();
    let program = program(&folder, "");
    let (without_holds, output) = report(&["--no-hold"], &[&program]);
    let lock = the_lock(&without_holds, &stdout(&output), 0);
    assert_eq!((&lock["hold_ns"], &lock["utilisation"]), (&Value::Null, &Value::Null));
    assert_eq!(lock["blocked"], 1);
    assert_eq!(without_holds["holds"], Value::Null);
    for (flags, holds, counted) in [(&[][..], "waited", 1), (&["--all-holds"], "all", 2)] {
        let (with_holds, output) = report(flags, &[&program]);
        let lock = the_lock(&with_holds, &stdout(&output), 0);
        assert_eq!((&with_holds["holds"], &lock["acquisitions"]), (&holds.into(), &2.into()));
        assert_eq!(lock["hold_ns"]["count"], counted, "{lock:#}");
    }
    let (delayed, output) = report(&["--delay", "10s"], &[&program]);
    assert_eq!(status(&output), 0);
    let acquisitions = |report: &Value| {
        let locks = report["processes"][0]["locks"].as_array().unwrap();
        locks.iter().map(|lock| lock["acquisitions"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(acquisitions(&delayed), 0, "{delayed:#}");
    let (only, _) = report(&["--only", "no such code"], &[&program]);
    assert_eq!(only["processes"][0]["locks"].as_array().unwrap().len(), 0);
    let (only, _) = report(&["--only", "hold"], &[&program]);
    assert_eq!(only["processes"][0]["locks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_kept_trace_of_locks_gives_the_same_report() {
    let folder = Folder::new();
    let trace = folder.file("run.unc");
    let (fresh, _) = report(&["--trace", &trace], &[&program(&folder, "")]);
    let output = unc().args(["report", &trace, "--json", "-"]).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fresh, again);
    let folded = stdout(&unc().args(["report", &trace, "--folded", "-"]).output().unwrap());
    assert!(
        folded.lines().any(|line| line.contains("contend") && line.contains("mutex")),
        "{folded}"
    );
    let perfetto: Value = serde_json::from_str(&stdout(
        &unc().args(["report", &trace, "--perfetto", "-"]).output().unwrap(),
    ))
    .unwrap();
    assert!(perfetto["traceEvents"].as_array().unwrap().iter().any(|event| event["ph"] == "X"));
}

#[test]
fn sorting_in_parallel_shows_its_locks() {
    if !installed("sorting_in_parallel_shows_its_locks", "sort") {
        return;
    }
    let folder = Folder::new();
    let file = folder.file("lines");
    let lines: String = (0..150_000_u64)
        .map(|number| format!("{:x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    std::fs::write(&file, lines).unwrap();
    let (report, output) =
        report(&[], &["sort", "--parallel=4", "-S", "64M", "-o", &folder.file("sorted"), &file]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let locks = report["processes"][0]["locks"].as_array().unwrap();
    let acquired: u64 = locks.iter().filter_map(|lock| lock["acquisitions"].as_u64()).sum();
    assert!(locks.len() >= 2 && acquired > 100, "{} locks, {acquired} acquisitions", locks.len());
    assert!(report["processes"][0]["threads"].as_array().unwrap().len() >= 2);
}

#[test]
fn a_server_is_observed_for_a_time_and_its_descriptors_may_be_closed() {
    let folder = Folder::new();
    let close_all = "for (int fd = 3; fd < 1000; fd++) close(fd);\n contend();\n for (;;) pause();";
    let program = program(&folder, close_all);
    let json = folder.file("run.json");
    let output = unc_run(&["--for", "1500ms", "--json", &json]).arg(&program).output().unwrap();
    assert_eq!(status(&output), 143, "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let lock = the_lock(&report, &stdout(&output), 0);
    assert_eq!((&lock["acquisitions"], &lock["blocked"]), (&4.into(), &2.into()));
}

#[test]
fn a_limit_on_the_address_space_leaves_room_for_the_program() {
    let folder = Folder::new();
    let text = format!("ulimit -v 100000; exec {}", program(&folder, ""));
    let (report, output) = report(&[], &["sh", "-c", &text]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let last = report["processes"].as_array().unwrap().len() - 1;
    assert_contended(the_lock(&report, &stdout(&output), last));
}

/// A function whose last call became a jump has no return address on the stack; its caller's call names it.
#[test]
fn a_function_that_ends_in_a_jump_is_named() {
    const GIVES: &str = r#"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static int word;
__attribute__((noinline)) static long give(void) {
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    return syscall(SYS_futex, &word, FUTEX_WAKE, 1);
}
__attribute__((noinline)) static void take(void) {
    int free = 0;
    while (!__atomic_compare_exchange_n(&word, &free, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
        free = 0;
    }
}
static void *work(void *unused) {
    for (int i = 0; i < 20; i++) {
        take();
        usleep(2000);
        give();
        usleep(100);
    }
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
"#;
    let test = "a_function_that_ends_in_a_jump_is_named";
    if !cfg!(target_arch = "x86_64") {
        uncontended_testkit::skip!(test, "only the calls of x86-64 are read");
        return;
    }
    let folder = Folder::new();
    let program = compile(&folder, GIVES, &["-O2"]).expect("a C compiler");
    let (report, output) = report(&[], &[&program]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let locks = report["processes"][0]["locks"].as_array().unwrap().iter();
    let futex = locks.clone().find(|lock| lock["kind"] == "futex").expect("a futex");
    let ended = &futex["ended_by"][0];
    assert_eq!(
        ended["site"]["function"].as_str().map(|name| name.starts_with("give")),
        Some(true),
        "{ended:#}"
    );
    assert_eq!(
        functions(&futex["worst_wait"]["waiter"])[0],
        "take",
        "a call that returned: {futex:#}"
    );
}

/// As Debian's redis-server, which is a link to redis-check-rdb.
#[test]
fn a_program_is_called_by_the_name_of_its_link() {
    let folder = Folder::new();
    let program = program(&folder, "");
    let link = folder.file("called");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let (of_link, output) = report(&[], &[&link]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let site = |report: &Value| the_lock(report, &stdout(&output), 0)["site"].clone();
    let module = site(&of_link)["module"].as_str().unwrap().to_owned();
    assert!(module.ends_with("/called"), "{module}");
    assert!(!of_link["processes"].to_string().contains("/program\""), "{of_link:#}");
}

#[test]
fn root_sees_the_futex_waits_of_a_program_that_cannot_be_observed() {
    let test = "root_sees_the_futex_waits_of_a_program_that_cannot_be_observed";
    let folder = Folder::new();
    let flags = ["-static", "-fno-omit-frame-pointer"];
    let Some(program) = compile(&folder, &HELD.replace("END", ""), &flags) else {
        uncontended_testkit::skip!(test, "no static C library");
        return;
    };
    let (report, output) = report(&[], &[&program]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    if report["source"] == "preload" {
        let coverage = &report["coverage"];
        let none = coverage["nothing_seen"].as_str().unwrap();
        assert!(none.contains("statically linked"), "{coverage:#}");
        uncontended_testkit::skip!(test, "tracing in the kernel is not allowed, or not supported");
        return;
    }
    assert_eq!(report["source"], "kernel");
    assert!(stderr(&output).contains("the kernel watches"), "{}", stderr(&output));
    let locks = report["processes"][0]["locks"].as_array().unwrap().iter();
    let waited: u64 = locks.filter_map(|lock| lock["wait_ns"]["total"].as_u64()).sum();
    assert!(waited >= 1_000_000, "one thread waits for another that sleeps 100 ms: {report:#}");
    assert!(report["coverage"]["nothing_seen"].is_null(), "{report:#}");
}

#[test]
fn a_child_that_outlives_the_program_and_a_delay_are_said() {
    let (report, output) =
        report(&["--delay", "1ms"], &["sh", "-c", "sleep 3 >/dev/null 2>&1 & sleep 0.3"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let unseen = report["coverage"]["unseen"].to_string();
    assert!(unseen.contains("still running") && unseen.contains("--delay"), "{unseen}");
}

/// The kernel executes the loader, which loads the program: that one is observed and named, and not the loader.
#[test]
fn a_program_that_its_loader_is_told_to_load_is_observed_and_named() {
    use object::{Object as _, ObjectSection as _};
    let folder = Folder::new();
    let source = HELD.replace("END", "");
    for flags in [&[][..], &["-Wl,--build-id=none"]] {
        let program = compile(&folder, &source, flags).expect("a C compiler");
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let loader = file.section_by_name(".interp").unwrap().data().unwrap();
        let loader = std::str::from_utf8(loader).unwrap().trim_end_matches('\0');
        let (report, output) = report(&[], &[loader, &program]);
        assert!(!stderr(&output).contains("it is statically linked"), "{}", stderr(&output));
        let lock = the_lock(&report, &stdout(&output), 0);
        assert_eq!(lock["site"]["module"], program.as_str(), "{lock:#}");
        assert!(lock["site"]["function"].is_string(), "{lock:#}");
        let mismatches = &report["coverage"]["symbols_mismatch"];
        assert!(mismatches.as_array().is_none_or(Vec::is_empty), "{mismatches:#}");
    }
}
