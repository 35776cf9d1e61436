//! `unc run` states correctly what it did not see, and claims nothing about it.

mod common;
use common::{Folder, WAITS, compile, report, status, stdout};
use serde_json::Value;
use std::path::Path;

fn coverage(flags: &[&str], program: &[&str]) -> Value {
    let (report, output) = report(flags, program);
    assert_eq!((status(&output), stdout(&output).contains("done")), (0, true), "{report:#}");
    report["coverage"].clone()
}

fn nothing_seen(coverage: &Value) -> &str {
    coverage["nothing_seen"].as_str().expect("nothing was seen")
}

/// The reason why `program` did not record.
fn reason<'c>(coverage: &'c Value, program: &str) -> &'c str {
    let all = coverage["not_recording"].as_array().unwrap();
    let [one] = &all[..] else { panic!("{all:#?}") };
    assert_eq!(one["command"][0], program);
    assert!(one["pid"].as_u64().is_some_and(|pid| pid > 1));
    one["reason"].as_str().unwrap()
}

#[test]
fn a_program_without_the_observer_is_told() {
    let folder = Folder::new();
    let program = compile(&folder, WAITS, &[]).expect("a C compiler");
    for command in [["env", "-i", &program], ["sh", "-c", &format!("env -i {program}; true")]] {
        let coverage = coverage(&["--quiet"], &command);
        assert!(reason(&coverage, &program).contains("LD_PRELOAD"), "{coverage:#}");
        assert!(nothing_seen(&coverage).contains("did not record"), "{coverage:#}");
        let name = Path::new(&program).file_name().unwrap().to_str().unwrap();
        let called = format!("{name} ({})", coverage["not_recording"][0]["pid"]);
        let told = coverage["unseen"].as_array().unwrap().iter();
        assert_eq!(told.filter(|line| line.as_str().unwrap().contains(&called)).count(), 1);
    }
}

/// A program that executes itself again, without the observer.
#[test]
fn a_program_that_executes_itself_is_told_by_its_name() {
    let folder = Folder::new();
    let source = r#"
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count > 1) return puts("done") < 0;
    char *again[] = { words[0], "again", NULL }, *none[] = { NULL };
    return execve("/proc/self/exe", again, none);
}
"#;
    let program = compile(&folder, source, &[]).expect("a C compiler");
    let coverage = coverage(&["--quiet"], &[&program]);
    assert!(reason(&coverage, &program).contains("did not begin"), "{coverage:#}");
}

#[test]
fn a_program_that_ended_before_recording_began_is_not_said_to_take_no_lock() {
    let folder = Folder::new();
    let program = compile(&folder, WAITS, &[]).expect("a C compiler");
    let coverage = coverage(&["--quiet", "--delay", "1m"], &[&program]);
    let nothing = nothing_seen(&coverage);
    assert!(nothing.contains("before recording began (--delay 1 min)"), "{coverage:#}");
    assert_eq!(coverage["futex_share_unaccounted"], Value::Null, "no waiting counts, seen or not");
    assert!(!coverage["unseen"].to_string().contains("--delay"), "said once: {coverage:#}");
    assert_eq!(coverage["not_recording"].as_array().unwrap().len(), 0, "it was ready to");
}

#[test]
fn a_program_that_cannot_open_the_record_is_told() {
    let folder = Folder::new();
    let program = compile(&folder, WAITS, &[]).expect("a C compiler");
    let plain = std::process::Command::new("unshare").args(["-U", &program]).output();
    if !plain.is_ok_and(|output| output.status.success()) {
        uncontended_testkit::skip!(
            "a_program_that_cannot_open_the_record_is_told",
            "no user namespaces here"
        );
        return;
    }
    let coverage = coverage(&["--quiet"], &["unshare", "-U", &program]);
    assert!(reason(&coverage, &program).contains("could not be opened"), "{coverage:#}");
    assert!(nothing_seen(&coverage).contains("did not record"), "{coverage:#}");
}

/// A program that becomes another user has the record already.
#[test]
fn a_program_that_changes_its_user_is_not_said_to_lack_the_record() {
    let test = "a_program_that_changes_its_user_is_not_said_to_lack_the_record";
    let folder = Folder::new();
    let source = WAITS.replace(
        "    pthread_t threads",
        "    if (setuid(65534)) return 9;\n    pthread_t threads",
    );
    let program = compile(&folder, &source, &[]).expect("a C compiler");
    let plain = std::process::Command::new(&program).output();
    if !plain.is_ok_and(|output| output.status.success()) {
        uncontended_testkit::skip!(test, "needs root, to become another user");
        return;
    }
    let coverage = coverage(&["--quiet"], &[&program]);
    assert!(!coverage["unseen"].to_string().contains("another user"), "{coverage:#}");
}

#[test]
fn programs_that_record_are_not_told_of() {
    let folder = Folder::new();
    let program = compile(&folder, WAITS, &[]).expect("a C compiler");
    let coverage = coverage(&["--quiet"], &["sh", "-c", &format!("{program}; {program}")]);
    assert_eq!(coverage["not_recording"].as_array().unwrap().len(), 0, "{coverage:#}");
    assert_eq!(coverage["nothing_seen"], Value::Null);
}

#[test]
fn waits_for_threads_without_locks_are_seen() {
    let folder = Folder::new();
    let source = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *works(void *unused) { usleep(150000); return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
"#;
    let program = compile(&folder, source, &[]).expect("a C compiler");
    let (report, output) = report(&[], &[&program]);
    assert!(
        nothing_seen(&report["coverage"]).contains("waited for other threads to end"),
        "{report:#}"
    );
    let process = &report["processes"][0];
    let [join] = &process["joins"].as_array().unwrap()[..] else { panic!("{process:#}") };
    assert_eq!((&join["tid"], &join["body"]["function"]), (&process["pid"], &"works".into()));
    assert!(join["wait_ns"].as_u64() >= Some(100_000_000), "{join}");
    let text = common::stderr(&output);
    assert!(text.contains("Longest wait for a thread's end: 1"), "{text}");
}

/// Four threads in one arena of glibc's allocator, and a lock that is seen.
const ARENA: &str = r#"
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 300000; i++) {
        void *volatile small = malloc(2000);
        void *volatile large = malloc(90000);
        free(small);
        free(large);
    }
    return unused;
}
int main(void) {
    mallopt(M_ARENA_MAX, 1);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"#;

/// Needs root, and that no other program watches futex calls: no share is known otherwise, which is said.
#[test]
fn waiting_in_malloc_is_the_first_finding_where_locks_are_seen() {
    let folder = Folder::new();
    let program = compile(&folder, ARENA, &[]).expect("a C compiler");
    let (report, output) = report(&["--quiet"], &[&program]);
    assert_eq!((status(&output), &report["coverage"]["nothing_seen"]), (0, &Value::Null));
    let coverage = &report["coverage"];
    let Some(share) = coverage["futex_share_unaccounted"].as_f64() else {
        let why = coverage["unseen"].to_string();
        assert!(why.contains("could not be measured"), "{coverage:#}");
        return;
    };
    let lives = report["processes"][0]["threads"].as_array().unwrap().iter();
    let lived: f64 = lives.filter_map(|thread| thread["lived_ns"].as_f64()).sum();
    let unseen = share * coverage["futex_wait_ns"].as_f64().unwrap() / lived;
    if share <= 0.2 || unseen < 0.05 {
        return; // The threads hardly met in malloc.
    }
    let first = &report["findings"][0];
    assert_eq!(first["rule"], "unseen", "{report:#}");
    assert!(first["text"].as_str().unwrap().contains("at glibc's "), "{first:#}");
    assert!(!coverage["futex_sites"].as_array().unwrap().is_empty());
}

/// Four threads wait for a fifth that initialises something once: from the program's first milliseconds on.
const ONCE: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void initialise(void) { usleep(400000); }
static void *body(void *unused) {
    pthread_once(&once, initialise);
    return unused;
}
int main(void) {
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

/// The same; the C library's own name is known, and no address that unwinding made up is said.
#[test]
fn waiting_in_glibc_is_named_by_its_function_and_counts_from_the_start() {
    let folder = Folder::new();
    let program = compile(&folder, ONCE, &[]).expect("a C compiler");
    let (report, output) = report(&["--quiet"], &[&program]);
    assert_eq!(status(&output), 0);
    let coverage = &report["coverage"];
    let Some(share) = coverage["futex_share_unaccounted"].as_f64() else { return };
    assert!(share > 0.5, "{coverage:#}");
    let frames = coverage["futex_sites"].as_array().unwrap().iter();
    let mut frames = frames.flat_map(|site| site["stack"].as_array().unwrap());
    assert!(frames.all(|frame| !frame["module"].is_null()), "{coverage:#}");
    let first = report["findings"][0]["text"].as_str().unwrap();
    assert!(first.contains(" at __pthread_once"), "{first}");
}

/// Two threads wait half a second each, by system calls that only newer kernels have, and one takes a lock.
const NEWER: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
struct waiter { uint64_t value, address; uint32_t flags, reserved; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t word;
static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    if ((time.tv_nsec += 500000000) >= 1000000000) { time.tv_sec++; time.tv_nsec -= 1000000000; }
    return time;
}
static void *one(void *unused) {
    struct timespec end = soon();
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    syscall(455, &word, 0L, 0xffffffffL, 2L | 128, &end, (long)CLOCK_MONOTONIC);
    return unused;
}
static void *several(void *unused) {
    struct timespec end = soon();
    struct waiter waiter = {0, (uintptr_t)&word, 2 | 128, 0};
    syscall(449, &waiter, 1L, 0L, &end, (long)CLOCK_MONOTONIC);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, several, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"#;

/// Needs root, as above, and Linux 6.7.
#[test]
fn waiting_by_newer_system_calls_counts_as_unseen() {
    let folder = Folder::new();
    let program = compile(&folder, NEWER, &["-pthread"]).expect("a C compiler");
    let start = std::time::Instant::now();
    let plain = std::process::Command::new(&program).status();
    let waits = plain.is_ok() && start.elapsed() > std::time::Duration::from_millis(450);
    let coverage = coverage(&["--quiet"], &[&program]);
    let Some(share) = coverage["futex_share_unaccounted"].as_f64().filter(|_| waits) else {
        let test = "waiting_by_newer_system_calls_counts_as_unseen";
        return uncontended_testkit::skip!(test, "this kernel lacks the calls, or root is needed");
    };
    let waited = coverage["futex_wait_ns"].as_f64().unwrap();
    assert!(share * waited >= 0.9e9, "both waits, of half a second each: {coverage:#}");
}

/// A process that its parent left at once, and that lives on: forked, or a daemon.
const LEAVES: &str = r#"
#include <unistd.h>
int main(int words, char **word) {
    (void)words;
    if (word[1][0] == 'd') {
        if (daemon(1, 0)) return 9;
    } else if (fork()) {
        return 0;
    }
    for (int out = 0; out < 3; out++) close(out);
    sleep(20);
    return 0;
}
"#;

#[test]
fn processes_that_the_program_leaves_at_once_are_named() {
    let folder = Folder::new();
    let program = compile(&folder, LEAVES, &[]).expect("a C compiler");
    let in_shell = format!("{program} d; true");
    let hidden = format!("env -u LD_PRELOAD {program} d");
    let shell = |text| vec!["sh", "-c", text];
    let commands = [vec![&*program, "d"], vec![&program, "f"], shell(&in_shell), shell(&hidden)];
    for command in commands {
        let (report, output) = report(&["--quiet"], &command);
        assert_eq!(status(&output), 0);
        let coverage = &report["coverage"];
        let left = coverage["still_running"].as_array().unwrap();
        let [one] = &left[..] else { panic!("{command:?}: {coverage:#}") };
        assert_eq!(one["command"][0], *program);
        let pid = one["pid"].to_string();
        assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
        let nothing = nothing_seen(coverage);
        assert!(!nothing.contains("one thread"), "{command:?}: {coverage:#}");
    }
}

/// Takes a lock in two threads, and ends at once.
const SHORT: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    return 0;
}
"#;

/// Spawns its argument without an environment.
const SPAWNS: &str = r#"
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
int main(int words, char **word) {
    (void)words;
    pid_t child;
    if (posix_spawn(&child, word[1], NULL, NULL, word + 1, NULL)) return 9;
    int status;
    return waitpid(child, &status, 0) != child || status;
}
"#;

#[test]
fn a_short_program_without_the_observer_is_told() {
    let folder = Folder::new();
    let program = compile(&folder, SHORT, &[]).expect("a C compiler");
    let (other, apart) = (Folder::new(), Folder::new());
    let spawns = compile(&other, SPAWNS, &[]).expect("a C compiler");
    let fixed = compile(&apart, SHORT, &["-static"]);
    let in_shell = format!("LD_PRELOAD= {program}; true");
    let replaced = format!("exec env -i {program}");
    let mut commands = vec![
        (&program, vec!["env", "-i", &program]),
        (&program, vec!["sh", "-c", &in_shell]),
        (&program, vec!["sh", "-c", &replaced]),
        (&program, vec![&*spawns, &program]),
    ];
    commands.extend(fixed.as_ref().map(|fixed| (fixed, vec![&*spawns, fixed])));
    for (program, command) in commands {
        let (report, output) = report(&["--quiet"], &command);
        assert_eq!(status(&output), 0);
        let coverage = &report["coverage"];
        assert!(reason(coverage, program).contains("LD_PRELOAD"), "{command:?}: {coverage:#}");
        assert!(nothing_seen(coverage).contains("did not record"), "{command:?}: {coverage:#}");
    }
}

#[test]
fn files_that_could_not_be_executed_are_not_told_of() {
    let text = "no-such-program; /no/such/program; env -i /no/such/program; sh -c true; true";
    let (report, output) = report(&["--quiet"], &["sh", "-c", text]);
    assert_eq!(status(&output), 0);
    let coverage = &report["coverage"];
    assert_eq!(coverage["not_recording"].as_array().unwrap().len(), 0, "{coverage:#}");
}
