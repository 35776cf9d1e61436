//! From when to when `unc attach` watches, and how long the threads lived meanwhile: several processes, threads that
//! come and go, processes that end first.

mod common;
use common::attached::{attach, json, names, row, unseen, watched, watched_as};
use common::{Folder, compile, unc_run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// Two threads that take turns at a lock, for two milliseconds each, as long as a line is awaited: by the first thread
/// or, with a word, by another one, 300 ms longer; the first one ends.
const TURNS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over;
static void *body(void *unused) {
    while (!is_over) {
        pthread_mutex_lock(&lock);
        usleep(2000);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}
static void *ends(void *later) {
    getchar();
    if (later) usleep(300000);
    is_over = 1;
    return later;
}
int main(int count, char **words) {
    pthread_t threads[3];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    puts("runs");
    fflush(stdout);
    if (count > 1) {
        pthread_create(&threads[2], NULL, ends, words);
        pthread_exit(NULL);
    }
    ends(NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

fn processes(report: &Value) -> &[Value] {
    report["processes"].as_array().unwrap()
}

fn threads(process: &Value) -> &[Value] {
    process["threads"].as_array().unwrap()
}

fn started(program: &std::path::Path) -> Child {
    let mut command = Command::new(program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "runs\n");
    child
}

#[test]
fn the_watching_of_several_processes_ends_at_one_instant() {
    let test = "the_watching_of_several_processes_ends_at_one_instant";
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-O1"]).expect("a C compiler");
    let mut children: Vec<Child> = (0..8).map(|_| started(program.as_ref())).collect();
    let pids: Vec<String> = children.iter().map(|child| child.id().to_string()).collect();
    let path = folder.file("seen.json");
    let mut flags = vec!["--for", "500ms", "--json", &path];
    flags.extend(pids[1..].iter().map(String::as_str));
    let attached = attach(test, &pids[0], &flags);
    let status = attached.map(|(mut unc, _)| unc.wait().unwrap());
    for child in &mut children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let Some(status) = status else { return };
    assert!(status.success());
    let report = json(&path);
    assert_eq!(processes(&report).len(), 8);
    for process in processes(&report) {
        let lives: Vec<u64> =
            threads(process).iter().map(|thread| thread["lived_ns"].as_u64().unwrap()).collect();
        assert!(lives.len() == 3 && lives.iter().all(|&life| life == lives[0]), "{lives:?}");
        // No turn takes longer than the other thread's; of the last process, as of the first.
        for thread in &threads(process)[1..] {
            let unfinished = thread["unfinished_wait_ns"].as_u64().unwrap_or(0);
            assert!(unfinished < 250_000_000, "{thread:#}");
        }
        let share = process["locks"][0]["wait_share"].as_f64().unwrap();
        assert!(share > 0.2 && share <= 1.0, "{share}");
    }
}

/// Eight threads at a time, which wait for each other at a lock and end.
const CHURN: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    usleep(2000);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void churn(void) {
    for (int round = 0; round < 40; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, body, NULL);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
}
int main(void) {
    puts("runs");
    fflush(stdout);
    getchar();
    pid_t child = fork();
    churn();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}
"#;

#[test]
fn a_thread_lives_from_its_birth_to_its_end_and_no_longer() {
    let test = "a_thread_lives_from_its_birth_to_its_end_and_no_longer";
    let folder = Folder::new();
    let program = compile(&folder, CHURN, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(&program), &[]) else { return };
    let path = folder.file("preloaded.json");
    let mut command = unc_run(&["--json", &path, "--source", "preload"]);
    command.arg(&program);
    assert!(command.stdin(Stdio::null()).output().unwrap().status.success());
    let preloaded = json(&path);
    let share = |report: &Value, nth: usize| {
        let process = &processes(report)[nth];
        let locks = process["locks"].as_array().unwrap().iter();
        let share = locks.filter_map(|lock| lock["wait_share"].as_f64()).fold(0.0, f64::max);
        assert!(share <= 1.0, "{share}");
        share
    };
    for process in 0..2 {
        let (kernel, inside) = (share(&seen.report, process), share(&preloaded, process));
        assert!((kernel - inside).abs() < 0.15, "process {process}: {kernel}, inside: {inside}");
    }
}

/// A thread that computes for a second, and some that end before anyone has looked.
const COMPUTES: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static volatile unsigned long sum;
static void *computes(void *unused) {
    struct timespec cpu;
    do {
        for (int i = 0; i < 1000; i++) sum = sum * 31 + 7;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    } while (cpu.tv_sec == 0);
    return unused;
}
static void *ends(void *unused) { return unused; }
int main(void) {
    puts("runs");
    fflush(stdout);
    getchar();
    pthread_t thread, other;
    pthread_create(&thread, NULL, computes, NULL);
    for (int i = 0; i < 20; i++) {
        pthread_create(&other, NULL, ends, NULL);
        pthread_join(other, NULL);
    }
    pthread_join(thread, NULL);
    return 0;
}
"#;

#[test]
fn the_figures_of_threads_that_have_ended_are_the_last_ones_or_unknown() {
    let test = "the_figures_of_threads_that_have_ended_are_the_last_ones_or_unknown";
    let folder = Folder::new();
    let program = compile(&folder, COMPUTES, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
    let all = threads(&processes(&seen.report)[0]);
    assert!(all.len() >= 20, "{all:#?}");
    let most = all.iter().filter_map(|thread| thread["cpu_ns"].as_u64()).max().unwrap();
    assert!((500_000_000..=1_500_000_000).contains(&most), "{most}");
    let read = |thread: &&Value| !thread["voluntary_switches"].is_null();
    for thread in all.iter().filter(|thread| !read(thread)) {
        assert!(thread["cpu_ns"].is_null() && thread["involuntary_switches"].is_null());
    }
    assert!(!all.iter().all(|thread| read(&thread)), "{all:#?}");
}

/// Ends at once, and leaves a process that waits for another 400 ms.
const DAEMON: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        usleep(10000);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}
int main(void) {
    puts("runs");
    fflush(stdout);
    getchar();
    if (fork() != 0) { usleep(100000); return 0; }
    fclose(stdout);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

#[test]
fn a_process_that_outlives_the_one_that_forked_it_is_watched_on() {
    let test = "a_process_that_outlives_the_one_that_forked_it_is_watched_on";
    let folder = Folder::new();
    let program = compile(&folder, DAEMON, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
    assert_eq!(seen.report["attached"]["ended"], serde_json::json!([seen.pid]));
    let [_, daemon] = processes(&seen.report) else { panic!("{:#}", seen.report) };
    let waits = daemon["locks"][0]["wait_ns"]["count"].as_u64();
    assert!(waits >= Some(25), "{daemon:#}");
}

#[test]
fn children_that_run_already_and_processes_that_are_stopped_are_named() {
    let test = "children_that_run_already_and_processes_that_are_stopped_are_named";
    let folder = Folder::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "sleep 20 & echo $!; read line; kill $!; exit 0"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut sleeps = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut sleeps).unwrap();
    let pid = child.id().to_string();
    let signal = |name| Command::new("kill").args([name, pid.as_str()]).status().unwrap();
    assert!(signal("-STOP").success());
    let path = folder.file("seen.json");
    let attached = attach(test, &pid, &["--for", "200ms", "--json", &path]);
    let status = attached.map(|(mut unc, _)| unc.wait().unwrap());
    assert!(signal("-CONT").success());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let Some(status) = status else { return };
    assert!(status.success());
    let report = json(&path);
    let said = unseen(&report).join(" ");
    for part in [
        format!("are not watched: 1 ({}).", sleeps.trim()),
        format!("until it was continued: {pid}."),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
}

/// The report of `unc run` with `flags` on a command, `wrapper`.
fn wrapped(test: &str, folder: &Folder, flags: &[&str], wrapper: &[&str]) -> Option<Value> {
    let path = folder.file("wrapped.json");
    let mut command = unc_run(&[flags, &["--json", &path]].concat());
    command.args(wrapper).stdin(Stdio::null());
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(125) {
        uncontended_testkit::skip!(test, "{}", told.trim());
        return None;
    }
    assert!(output.status.success(), "{told}");
    Some(json(&path))
}

#[test]
fn the_program_that_a_wrapper_executes_is_watched_by_the_kernel() {
    let test = "the_program_that_a_wrapper_executes_is_watched_by_the_kernel";
    let folder = Folder::new();
    let program = compile(&folder, CHURN, &["-O1"]).expect("a C compiler");
    for (script, parts) in [("sleep 0.1; exec \"$0\"", 1..=2), ("\"$0\"; exit $?", 1..=1)] {
        let wrapper = ["/bin/sh", "-c", script, &program];
        let flags = ["--source", "kernel"];
        let Some(report) = wrapped(test, &folder, &flags, &wrapper) else { return };
        check_wrapped(&report, parts);
    }
}

/// That the program which was executed has its waits and its code; `followed` programs were.
fn check_wrapped(report: &Value, followed: std::ops::RangeInclusive<u32>) {
    let mut all = processes(report).iter();
    let first = all.find(|process| process["locks"][0].is_object()).unwrap();
    let lock = &first["locks"][0];
    // Of 280 or so. On a busy machine, it is met late.
    assert!(lock["wait_ns"]["count"].as_u64() >= Some(50), "{first:#}");
    assert_eq!(lock["ended_by"][0]["site"]["function"], "body", "{lock:#}");
    assert!(lock["ended_by"][0]["share"].as_f64() >= Some(0.9), "{lock:#}");
    let said = unseen(report).join(" ");
    let is_said = |number| said.contains(&format!("after its start or earlier: {number}."));
    assert!(followed.clone().any(is_said), "{said}");
    assert!(report["coverage"]["nothing_seen"].is_null(), "{report:#}");
}

#[test]
fn a_program_into_which_a_wrapper_does_not_load_the_observer_is_named() {
    let test = "a_program_into_which_a_wrapper_does_not_load_the_observer_is_named";
    let folder = Folder::new();
    let program = compile(&folder, CHURN, &["-O1"]).expect("a C compiler");
    let wrapper = ["/usr/bin/env", "-i", &program];
    let Some(report) = wrapped(test, &folder, &["--source", "preload"], &wrapper) else { return };
    let said = report["coverage"]["nothing_seen"].as_str().unwrap_or_default();
    assert!(said.contains("the program executed ") && said.contains("--source kernel"), "{said}");
}

/// A child whose three threads wait for a lock until it is killed or, with a word, exits; and a thread of this process
/// whose wait for a semaphore a signal interrupts.
const KILLED: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t signalled;
static void *waits(void *unused) { pthread_mutex_lock(&lock); return unused; }
static void *is_interrupted(void *unused) { sem_wait(&signalled); usleep(700000); return unused; }
static void noted(int signal) { (void)signal; }
int main(int count, char **words) {
    pthread_t threads[3];
    (void)words;
    struct sigaction action = {.sa_handler = noted};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&signalled, 0, 0);
    printf("%#lx %#lx\n", (uintptr_t)&lock, (uintptr_t)&signalled);
    fflush(stdout);
    getchar();
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, waits, NULL);
        usleep(count > 1 ? 300000 : 30000000);
        _exit(0);
    }
    pthread_create(&threads[0], NULL, is_interrupted, NULL);
    usleep(300000);
    pthread_kill(threads[0], SIGUSR1);
    if (count == 1) kill(child, SIGKILL);
    pthread_join(threads[0], NULL);
    waitpid(child, NULL, 0);
    return 0;
}
"#;

#[test]
fn a_wait_that_ends_with_its_thread_has_not_timed_out() {
    let test = "a_wait_that_ends_with_its_thread_has_not_timed_out";
    let folder = Folder::new();
    let program = compile(&folder, KILLED, &["-O1"]).expect("a C compiler");
    for words in [&[][..], &["exits"]] {
        let mut command = Command::new(&program);
        command.args(words);
        let Some(seen) = watched(test, &folder, command, &[]) else { return };
        let lock = row(&seen.report, &seen.words[0]);
        assert!(lock["wait_ns"].is_null() && lock["timed_out"].is_null(), "{lock:#}");
        assert_eq!(lock["unfinished"]["count"], 3, "{lock:#}");
        let until_its_end = 200_000_000..600_000_000;
        let longest = lock["unfinished"]["longest_ns"].as_u64().unwrap();
        assert!(until_its_end.contains(&longest), "{lock:#}");
        let child = &processes(&seen.report)[1];
        let unfinished = |thread: &&Value| thread["unfinished_wait_ns"].as_u64().is_some();
        let waiting: Vec<&Value> = threads(child).iter().filter(unfinished).collect();
        assert_eq!(waiting.len(), 3, "{child:#}");
        for thread in waiting {
            assert_eq!(
                thread["unfinished_wait_ns"].as_u64().map(|ns| until_its_end.contains(&ns)),
                Some(true)
            );
            assert!(names(&thread["unfinished_stack"]).contains(&"waits"), "{thread:#}");
        }
        assert!(child["hung"].is_null(), "{child:#}");
        let semaphore = row(&seen.report, &seen.words[1]);
        assert_eq!(semaphore["timed_out"]["count"], 1, "{semaphore:#}");
    }
}

/// Executes itself after a line; then it has more threads.
const EXECUTES: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *other(void *unused) { pause(); return unused; }
int main(int count, char **words) {
    pthread_t thread;
    for (int i = 0; i < (count > 1 ? 5 : 1); i++) {
        pthread_create(&thread, NULL, other, NULL);
        if (count > 1) pthread_setname_np(thread, "another");
    }
    puts("runs");
    fflush(stdout);
    if (count > 1) { pause(); return 0; }
    getchar();
    execl(words[0], words[0], "again", NULL);
    return 1;
}
"#;

#[test]
fn no_thread_of_a_program_that_is_executed_meanwhile_is_shown() {
    let test = "no_thread_of_a_program_that_is_executed_meanwhile_is_shown";
    let folder = Folder::new();
    let program = compile(&folder, EXECUTES, &["-O1"]).expect("a C compiler");
    let path = folder.file("seen.json");
    for _ in 0..5 {
        let mut command = Command::new(&program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "runs");
        let attached = attach(test, &child.id().to_string(), &["--json", &path]);
        drop(child.stdin.take());
        assert_eq!(lines.next().unwrap().unwrap(), "runs");
        // Before it looks again.
        let ended = attached.map(|(mut unc, _)| {
            let mut kill = Command::new("kill");
            assert!(kill.args(["-INT", &unc.id().to_string()]).status().unwrap().success());
            unc.wait().unwrap()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let Some(ended) = ended else { return };
        assert!(ended.success());
        let report = json(&path);
        assert_eq!(report["attached"]["executed"], serde_json::json!([child.id()]));
        let all = threads(&processes(&report)[0]);
        assert!(all.len() == 2 && all.iter().all(|one| one["name"] != "another"), "{all:#?}");
    }
}

/// A thread that waits for a lock that is held for half a second; meanwhile it gets ten signals, after which the call
/// begins again by itself or, with a word, is tried again.
const SIGNALLED: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void noted(int signal) { (void)signal; }
__attribute__((noinline)) static void hold(void) {
    pthread_mutex_lock(&lock);
    usleep(500000);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
static void *holds(void *unused) { hold(); return unused; }
static void *wants(void *unused) {
    usleep(20000);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(int count, char **words) {
    (void)words;
    struct sigaction action = {.sa_handler = noted, .sa_flags = count > 1 ? 0 : SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    printf("%#lx\n", (uintptr_t)&lock);
    fflush(stdout);
    getchar();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, holds, NULL);
    pthread_create(&threads[1], NULL, wants, NULL);
    for (int i = 0; i < 10; i++) { usleep(40000); pthread_kill(threads[1], SIGUSR1); }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

#[test]
fn a_wait_that_goes_on_after_a_signal_is_one() {
    let test = "a_wait_that_goes_on_after_a_signal_is_one";
    let folder = Folder::new();
    let program = compile(&folder, SIGNALLED, &["-O1"]).expect("a C compiler");
    for words in [&[][..], &["tries again"]] {
        let mut command = Command::new(&program);
        command.args(words);
        let Some(seen) = watched(test, &folder, command, &[]) else { return };
        let lock = row(&seen.report, &seen.words[0]);
        assert_eq!(lock["wait_ns"]["count"], 1, "{lock:#}");
        assert!(lock["wait_ns"]["total"].as_u64() >= Some(400_000_000), "{lock:#}");
        assert!(lock["timed_out"].is_null(), "{lock:#}");
        let ended = &lock["ended_by"][0];
        assert_eq!((&ended["site"]["function"], &ended["share"]), (&"hold".into(), &1.0.into()));
    }
}

/// Two waits of 200 ms each whose time runs out; in the midst of the first, the program is stopped for a moment.
const STOPPED: &str = r#"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static sem_t never;
int main(void) {
    sem_init(&never, 0, 0);
    printf("%#lx\n", (uintptr_t)&never);
    fflush(stdout);
    getchar();
    if (fork() == 0) {
        usleep(100000);
        kill(getppid(), SIGSTOP);
        usleep(20000);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    int timed_out = 0;
    for (int i = 0; i < 2; i++) {
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += 200000000;
        if (end.tv_nsec >= 1000000000) { end.tv_sec++; end.tv_nsec -= 1000000000; }
        timed_out += sem_timedwait(&never, &end) != 0 && errno == ETIMEDOUT;
    }
    printf("%d", timed_out);
    return 0;
}
"#;

#[test]
fn a_wait_with_a_time_limit_during_which_the_program_is_stopped_is_one() {
    let test = "a_wait_with_a_time_limit_during_which_the_program_is_stopped_is_one";
    let folder = Folder::new();
    let program = compile(&folder, STOPPED, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(&program), &[]) else { return };
    assert_eq!(seen.rest, "2");
    let lock = row(&seen.report, &seen.words[0]);
    assert_eq!((&lock["wait_ns"]["count"], &lock["timed_out"]["count"]), (&2.into(), &2.into()));
    let [total, longest] = ["total", "max"].map(|name| lock["wait_ns"][name].as_u64().unwrap());
    // Without the time for which it was stopped.
    assert!((300_000_000..420_000_000).contains(&total), "{lock:#}");
    assert!((190_000_000..280_000_000).contains(&longest), "{lock:#}");
}

#[test]
fn a_process_whose_first_thread_has_ended_is_watched() {
    let test = "a_process_whose_first_thread_has_ended_is_watched";
    let folder = Folder::new();
    let program = compile(&folder, TURNS, &["-O1"]).expect("a C compiler");
    let mut command = Command::new(&program);
    command.arg("the first one ends");
    let ended = |pid: u32| {
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !stat().contains(") Z ") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        pid
    };
    let Some(seen) = watched_as(test, &folder, command, &[], ended) else { return };
    let lock = &processes(&seen.report)[0]["locks"][0];
    assert!(lock["wait_ns"]["count"].as_u64() >= Some(40), "{lock:#}");
    assert_eq!(lock["ended_by"][0]["site"]["function"], "body", "{lock:#}");
    let first = &threads(&processes(&seen.report)[0])[0];
    assert_eq!((&first["tid"], &first["lived_ns"]), (&seen.pid.into(), &0.into()), "{first:#}");
}
