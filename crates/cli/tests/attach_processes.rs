//! `unc attach` to processes that wait for each other: forked ones, and different programs.

mod common;
use common::attached::{attach, json, row, unseen, watched};
use common::{Folder, compile, report};
use serde_json::Value;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

/// A mutex for several processes in `argv[1]`, or in memory that is shared with forked ones. Of two workers, the first
/// holds it for long: processes forked for it or, with a second argument, this one is that worker. With a third one,
/// each holds it as long, and says how often and how long it waited for at least a millisecond, in nanoseconds.
const WORKERS: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t *lock;
__attribute__((noinline)) static void serve_long(void) {
    pthread_mutex_lock(lock);
    usleep(5000);
    pthread_mutex_unlock(lock);
    __asm__ volatile("");
}
__attribute__((noinline)) static void serve_short(void) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    __asm__ volatile("");
}
static int is_even;
static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
__attribute__((noinline)) static long serve_in_turn(void) {
    long before = now_ns();
    pthread_mutex_lock(lock);
    long waited = now_ns() - before;
    usleep(3000);
    pthread_mutex_unlock(lock);
    return waited;
}
static void take_turns(void) {
    long count = 0, total = 0;
    for (int i = 0; i < 100; i++) {
        long waited = serve_in_turn();
        if (waited >= 1000000) { count++; total += waited; }
        usleep(500);
    }
    printf("%d %ld %ld\n", (int)getpid(), count, total);
    fflush(stdout);
}
static void work(int which) {
    if (is_even) { take_turns(); return; }
    for (int i = 0; i < 80; i++)
        if (which == 0) { serve_long(); usleep(1000); }
        else for (int k = 0; k < 30; k++) { serve_short(); usleep(100); }
}
int main(int count, char **words) {
    is_even = count > 3;
    int is_named = count > 1 && words[1][0];
    int file = is_named ? open(words[1], O_RDWR) : -1;
    lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | (is_named ? 0 : MAP_ANONYMOUS), file, 0);
    if (lock == MAP_FAILED) return 1;
    if (!is_named || words[2][0] == '0') {
        pthread_mutexattr_t shared;
        pthread_mutexattr_init(&shared);
        pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(lock, &shared);
    }
    printf("%#lx\n", (uintptr_t)lock);
    fflush(stdout);
    getchar();
    if (is_named) { work(words[2][0] - '0'); return 0; }
    for (int i = 0; i < 2; i++) if (fork() == 0) { work(i); _exit(0); }
    while (wait(NULL) > 0) {}
    return 0;
}
"#;

/// That nearly all waiting at the one row with many waits is for `serve_long`, of the module `module`.
fn check_blame(report: &Value, module: &str) {
    let processes = report["processes"].as_array().unwrap().iter();
    let mut locks = processes.flat_map(|process| process["locks"].as_array().unwrap());
    let is_busy = |lock: &&Value| lock["wait_ns"]["count"].as_u64() >= Some(40);
    let lock = locks.find(is_busy).unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(lock["waited_in"][0]["site"]["function"], "serve_short", "{lock:#}");
    let ended = &lock["ended_by"][0];
    assert_eq!(ended["site"]["function"], "serve_long", "{lock:#}");
    assert!(ended["site"]["module"].as_str().unwrap().ends_with(module), "{lock:#}");
    assert!(ended["share"].as_f64() >= Some(0.9), "{lock:#}");
    let said = unseen(report).join(" ");
    assert!(!said.contains("which is not watched ended"), "{said}");
}

#[test]
fn forked_workers_are_blamed_by_their_code() {
    let test = "forked_workers_are_blamed_by_their_code";
    let folder = Folder::new();
    let program = compile(&folder, WORKERS, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(&program), &[]) else { return };
    assert_eq!(seen.status, Some(0));
    check_blame(&seen.report, &program);
}

/// Two programs that are loaded at different places, or at one: each is named by its own file.
#[test]
fn another_program_is_blamed_by_its_code() {
    let test = "another_program_is_blamed_by_its_code";
    for flags in [&["-O1"][..], &["-O1", "-no-pie"]] {
        let (folder, memory) = (Folder::new(), Folder::new());
        let program = compile(&folder, WORKERS, flags).expect("a C compiler");
        let other = folder.file("other");
        uncontended_testkit::programs::executable(&other, &std::fs::read(&program).unwrap());
        let shared = memory.file("shared");
        std::fs::write(&shared, [0; 4096]).unwrap();
        let mut all = [started(&other, &[&shared, "0"]), started(&program, &[&shared, "1"])];
        let [pid, second] = all.each_ref().map(|child| child.id().to_string());
        let path = folder.file("seen.json");
        let attached = attach(test, &pid, &["--json", &path, &second]);
        all.iter_mut().for_each(|child| drop(child.stdin.take()));
        assert!(all.iter_mut().all(|child| child.wait().unwrap().success()));
        let Some((mut unc, _)) = attached else { return };
        assert!(unc.wait().unwrap().success());
        check_blame(&json(&path), "other");
    }
}

/// A program that has said its line.
fn started(program: &str, words: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Without a buffer: what it says later is for others.
    let mut first = [0; 2];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"0x");
    child
}

/// That the lock for which processes took turns is one row, which has what they themselves measured.
fn check_turns(report: &Value, said: &str) {
    let words = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let number = |word: &str| word.parse::<u64>().unwrap();
    let all: Vec<[u64; 3]> = words
        .filter(|words| words.len() == 3)
        .map(|words| [0, 1, 2].map(|nth| number(words[nth])))
        .collect();
    let [(one, waits, ns), (other, more, longer)] =
        [all[0], all[1]].map(|[pid, count, ns]| (pid, count, ns));
    let processes = report["processes"].as_array().unwrap().iter();
    let locks = processes.flat_map(|process| process["locks"].as_array().unwrap());
    let of_turns = |lock: &&Value| lock["waited_in"][0]["site"]["function"] == "serve_in_turn";
    let rows: Vec<&Value> = locks.filter(of_turns).collect();
    let [row] = rows[..] else { panic!("{} rows: {rows:#?}", rows.len()) };
    assert_eq!(row["shared"], true, "{row:#}");
    let mut pids: Vec<u64> =
        row["processes"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    pids.sort_unstable();
    let mut own = [one, other];
    own.sort_unstable();
    assert_eq!(pids, own, "{row:#}");
    let (count, total) =
        (row["wait_ns"]["count"].as_u64().unwrap(), row["wait_ns"]["total"].as_f64().unwrap());
    assert!(count.abs_diff(waits + more) <= 10, "{count}, not {waits} and {more}: {row:#}");
    let measured = (ns + longer) as f64;
    assert!((total / measured - 1.0).abs() < 0.1, "{total}, not {measured}: {row:#}");
    let ended = &row["ended_by"][0];
    assert_eq!(
        (ended["site"]["function"].as_str(), ended.get("pids")),
        (Some("serve_in_turn"), None)
    );
    assert!(ended["share"].as_f64() >= Some(0.9), "{row:#}");
}

#[test]
fn a_lock_of_forked_processes_is_one_row() {
    let test = "a_lock_of_forked_processes_is_one_row";
    let folder = Folder::new();
    let program = compile(&folder, WORKERS, &["-O1"]).expect("a C compiler");
    let mut command = Command::new(&program);
    command.args(["", "", ""]);
    let Some(seen) = watched(test, &folder, command, &[]) else { return };
    check_turns(&seen.report, &seen.rest);
}

/// Each maps the file at an address of its own.
#[test]
fn a_lock_of_two_programs_is_one_row() {
    let test = "a_lock_of_two_programs_is_one_row";
    let (folder, memory) = (Folder::new(), Folder::new());
    let program = compile(&folder, WORKERS, &["-O1"]).expect("a C compiler");
    let shared = memory.file("shared");
    std::fs::write(&shared, [0; 4096]).unwrap();
    let mut all = ["0", "1"].map(|which| started(&program, &[&shared, which, "even"]));
    let [pid, second] = all.each_ref().map(|child| child.id().to_string());
    let path = folder.file("seen.json");
    let attached = attach(test, &pid, &["--json", &path, &second]);
    all.iter_mut().for_each(|child| drop(child.stdin.take()));
    let said = all.map(|child| child.wait_with_output().unwrap());
    let Some((mut unc, _)) = attached else { return };
    assert!(unc.wait().unwrap().success());
    check_turns(&json(&path), &said.map(|said| String::from_utf8(said.stdout).unwrap()).concat());
}

/// A robust mutex whose holder, a forked process, exits with it.
const ROBUST: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t *lock;
__attribute__((noinline)) static void hold_and_exit(void) {
    pthread_mutex_lock(lock);
    usleep(150000);
    _exit(0);
}
int main(void) {
    lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &robust);
    printf("%#lx\n", (uintptr_t)lock);
    fflush(stdout);
    getchar();
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) hold_and_exit();
        usleep(50000);
        pthread_mutex_lock(lock);
        pthread_mutex_consistent(lock);
        pthread_mutex_unlock(lock);
        wait(NULL);
    }
    return 0;
}
"#;

#[test]
fn a_holder_that_exits_in_another_process_is_blamed() {
    let test = "a_holder_that_exits_in_another_process_is_blamed";
    let folder = Folder::new();
    let program = compile(&folder, ROBUST, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(&program), &[]) else { return };
    let lock = row(&seen.report, &seen.words[0]);
    assert_eq!(lock["wait_ns"]["count"], 3, "{lock:#}");
    assert_eq!(lock["ended_by"][0]["site"]["function"], "hold_and_exit", "{lock:#}");
    assert!(lock["ended_by"][0]["share"].as_f64() >= Some(0.99), "{lock:#}");
}

/// Two forked processes wait for a mutex that the first one holds for three seconds.
const HELD: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t *lock;
int main(void) {
    lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &shared);
    puts("ready");
    fflush(stdout);
    getchar();
    pthread_mutex_lock(lock);
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pthread_mutex_lock(lock);
            pthread_mutex_unlock(lock);
            _exit(0);
        }
    sleep(3);
    pthread_mutex_unlock(lock);
    while (wait(NULL) > 0) {}
    return 0;
}
"#;

/// That the one row of the lock has both waits, and that both threads say that they wait for it.
fn check_both_wait(report: &Value) {
    let processes = report["processes"].as_array().unwrap();
    let locks = processes.iter().flat_map(|process| process["locks"].as_array().unwrap());
    let waited: Vec<&Value> = locks.filter(|lock| !lock["unfinished"].is_null()).collect();
    let [lock] = waited[..] else { panic!("{waited:#?}") };
    assert_eq!(
        (&lock["shared"], &lock["unfinished"]["count"]),
        (&true.into(), &2.into()),
        "{lock:#}"
    );
    let threads = processes.iter().flat_map(|process| process["threads"].as_array().unwrap());
    let wanted = |thread: &Value| {
        [&thread["unfinished_lock"], &thread["unfinished_object"]].contains(&&lock["id"])
    };
    assert_eq!(threads.filter(|thread| wanted(thread)).count(), 2, "{processes:#?}");
}

#[test]
fn threads_of_two_processes_wait_for_one_lock_at_the_end() {
    let test = "threads_of_two_processes_wait_for_one_lock_at_the_end";
    let folder = Folder::new();
    let program = compile(&folder, HELD, &["-O1"]).expect("a C compiler");
    let (seen, _) = report(&["--for", "1s"], &[&program]);
    check_both_wait(&seen);
    let attached = watched(test, &folder, Command::new(&program), &["--for", "1s"]);
    let Some(attached) = attached else { return };
    check_both_wait(&attached.report);
}
