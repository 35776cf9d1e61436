//! `unc attach`: what the kernel sees of a program that knows how it waits, and that the program takes no harm.
//!
//! One program, in turns: `hold` has a lock for five milliseconds, `want` waits for it. It begins when a file
//! appears, so that both observers are there. Without frame pointers, so stacks come from copies.

mod common;
use common::attached::{attach, json, names, row};
use common::{Folder, compile, status, stderr, stdout, text, unc, unc_run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

const TURNS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, wanted;
static int rounds = 60;
static unsigned long sum;
__attribute__((noinline)) static void hold(void) {
    pthread_mutex_lock(&lock);
    held++;
    usleep(5000);
    sum = sum * 31 + 7;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
__attribute__((noinline)) static void want(void) {
    pthread_mutex_lock(&lock);
    sum = sum * 31 + 3;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
static void *holder(void *unused) {
    for (int i = 0; i < rounds; i++) {
        hold();
        while (wanted < held) usleep(200);
    }
    return unused;
}
static void *waiter(void *unused) {
    for (int i = 0; i < rounds; i++) {
        while (held == wanted) usleep(100);
        want();
        wanted++;
    }
    return unused;
}
int main(int count, char **arguments) {
    printf("%d %p\n", getpid(), (void *)&lock);
    fflush(stdout);
    while (access(arguments[1], F_OK) != 0) usleep(1000);
    if (count > 2 && strcmp(arguments[2], "long") == 0) rounds = 700;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, holder, NULL);
    pthread_create(&threads[1], NULL, waiter, NULL);
    for (int i = 0; count > 2 && strcmp(arguments[2], "fork") == 0 && i < 20; i++) {
        usleep(2000);
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
    if (count > 2 && strcmp(arguments[2], "exec") == 0) {
        usleep(50000);
        execlp("sleep", "sleep", "0.3", NULL);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%lu\n", sum);
    return 7;
}
"#;

/// The program, started and about to begin.
struct Turns {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    pid: String,
    address: String,
    go: String,
}

impl Turns {
    /// Starts it as the last argument of `command`.
    fn start(folder: &Folder, mut command: Command, how: &str) -> Turns {
        let go = folder.file("go");
        let _ = std::fs::remove_file(&go);
        let program = compile(folder, TURNS, &["-fomit-frame-pointer"]).expect("a C compiler");
        let mut child =
            command.args([&program, &go, how]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let (pid, address) = line.trim().split_once(' ').expect("two words");
        Turns { child, output, pid: pid.into(), address: address.into(), go }
    }

    fn alone(folder: &Folder, how: &str) -> Turns {
        let mut env = Command::new("env");
        env.arg("--");
        Turns::start(folder, env, how)
    }

    fn begin(&self) {
        std::fs::write(&self.go, "").unwrap();
    }

    /// What it says at its end, and its status.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

/// Programs of others at the kernel's futex calls keep none of them from a run that counts them.
#[test]
fn a_run_during_which_futexes_are_watched_counts_them_all() {
    let folder = Folder::new();
    let inside = folder.file("inside.json");
    let turns = Turns::start(&folder, unc_run(&["--quiet", "--json", &inside]), "");
    let test = "a_run_during_which_futexes_are_watched_counts_them_all";
    let attached = attach(test, &turns.pid, &[]);
    turns.begin();
    turns.end();
    let Some((mut child, _)) = attached else { return };
    child.wait().unwrap();
    let coverage = &json(&inside)["coverage"];
    assert!(coverage["futex_wait_ns"].as_u64() > Some(0), "{coverage:#}");
    assert!(coverage["futex_share_unaccounted"].as_f64() < Some(0.05), "{coverage:#}");
}

/// The same waits, seen by both: they differ by the time before the first and after the last system call of each.
#[test]
fn the_kernel_and_the_preloaded_observer_see_the_same_waits() {
    let folder = Folder::new();
    let (inside, outside) = (folder.file("inside.json"), folder.file("outside.json"));
    let turns = Turns::start(&folder, unc_run(&["--quiet", "--json", &inside]), "");
    let test = "the_kernel_and_the_preloaded_observer_see_the_same_waits";
    let Some((mut child, _)) = attach(test, &turns.pid, &["--json", &outside]) else {
        turns.begin();
        turns.end();
        return;
    };
    turns.begin();
    let (address, pid) = (turns.address.clone(), turns.pid.clone());
    assert_eq!(turns.end().1, Some(7));
    assert!(child.wait().unwrap().success(), "it ends with the program");
    let (inside, outside) = (json(&inside), json(&outside));
    assert_eq!((&inside["source"], &outside["source"]), (&"preload".into(), &"kernel".into()));
    let (known, seen) = (row(&inside, &address), row(&outside, &address));
    let figure = |lock: &Value, name: &str| lock["wait_ns"][name].as_f64().unwrap();
    let [total, all] = [known, seen].map(|lock| figure(lock, "total"));
    assert!((0.9..1.1).contains(&(all / total)), "{all} of {total}: {seen:#}");
    let [known_count, count] = [known, seen].map(|lock| figure(lock, "count"));
    assert!((0.8..1.25).contains(&(count / known_count)), "{count} of {known_count}");
    assert!(figure(seen, "max") >= 1e6, "{seen:#}");
    let of_buckets: u64 = seen["wait_ns"]["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket[2].as_u64().unwrap())
        .sum();
    assert_eq!(of_buckets as f64, count);
    assert_eq!((&seen["kind"], &seen["like"]), (&"futex".into(), &"mutex".into()));
    assert_eq!(seen["class"], "contention");
    assert!(names(&seen["worst_wait"]["waiter"]).contains(&"want"), "{seen:#}");
    assert!(names(&seen["worst_wait"]["waiter"]).contains(&"waiter"), "outer frames: {seen:#}");
    assert_eq!(seen["ended_by"][0]["site"]["function"], "hold", "{seen:#}");
    assert_eq!(seen["waited_in"][0]["site"]["function"], "want", "{seen:#}");
    assert_eq!(outside["culprits"][0]["site"]["function"], "hold");
    let woken = |part: &str| seen["woken"][part].as_f64().unwrap();
    assert!(woken("not_woken_ns") >= 0.5 * all, "it slept while the lock was held: {seen:#}");
    assert!(woken("not_woken_ns") + woken("not_scheduled_ns") <= all, "{seen:#}");
    assert_eq!(outside["attached"]["ended"][0].to_string(), pid);
    assert_eq!(outside["command"].as_array().unwrap().len(), 3);
}

#[test]
fn a_program_is_unharmed_whenever_it_is_left() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (turns, alone) = (Turns::alone(&folder, "long"), Turns::alone(&other, "long"));
    turns.begin();
    alone.begin();
    for time in ["1ms", "13ms"] {
        let test = "a_program_is_unharmed_whenever_it_is_left";
        let Some((mut child, _)) = attach(test, &turns.pid, &["--for", time]) else { break };
        assert!(child.wait().unwrap().success());
    }
    let expected = alone.end();
    assert_eq!(expected.1, Some(7));
    assert_eq!(turns.end(), expected);
}

#[test]
fn a_program_may_fork_and_execute_meanwhile() {
    let test = "a_program_may_fork_and_execute_meanwhile";
    let folder = Folder::new();
    let path = folder.file("seen.json");
    for how in ["fork", "exec"] {
        let turns = Turns::alone(&folder, how);
        let attached = attach(test, &turns.pid, &["--json", &path]);
        turns.begin();
        let (address, pid) = (turns.address.clone(), turns.pid.clone());
        let (_, status) = turns.end();
        assert_eq!(status, Some(if how == "fork" { 7 } else { 0 }));
        let Some((mut child, _)) = attached else { return };
        assert!(child.wait().unwrap().success());
        let seen = json(&path);
        assert!(row(&seen, &address)["wait_ns"]["count"].as_u64() > Some(0), "{seen:#}");
        let executed = seen["attached"]["executed"].as_array().unwrap();
        let expected: Vec<u64> = if how == "exec" { vec![pid.parse().unwrap()] } else { vec![] };
        assert_eq!(*executed, expected, "{seen:#}");
    }
}

#[test]
fn ctrl_c_ends_the_watching_and_not_the_program() {
    let test = "ctrl_c_ends_the_watching_and_not_the_program";
    let folder = Folder::new();
    let path = folder.file("seen.json");
    let turns = Turns::alone(&folder, "");
    let attached = attach(test, &turns.pid, &["--json", &path]);
    if let Some((mut child, said)) = attached {
        assert!(said.contains("until Ctrl-C"), "{said}");
        let ended = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(ended.success() && child.wait().unwrap().success());
        let seen = json(&path);
        assert_eq!(seen["attached"]["ended"].as_array().unwrap().len(), 0, "{seen:#}");
        assert_eq!(seen["attached"]["pids"][0].to_string(), turns.pid);
        assert!(seen["coverage"]["nothing_seen"].is_string(), "no thread waited: {seen:#}");
    }
    turns.begin();
    assert_eq!(turns.end().1, Some(7));
}

/// A wait that was in progress at the start and still is at the end: it is unfinished, with the code that waits.
#[test]
fn a_thread_that_waits_all_the_time_is_shown_with_its_code() {
    const STUCK: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void stuck(void) { pthread_mutex_lock(&lock); __asm__ volatile(""); }
static void *body(void *unused) { stuck(); return unused; }
int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, body, NULL);
    usleep(200000);
    printf("ready\n");
    fflush(stdout);
    sleep(30);
    return 0;
}
"#;
    let test = "a_thread_that_waits_all_the_time_is_shown_with_its_code";
    let folder = Folder::new();
    let path = folder.file("seen.json");
    let program = compile(&folder, STUCK, &[]).expect("a C compiler");
    let mut child = Command::new(program).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let flags = ["--for", "300ms", "--json", &path];
    if let Some((mut unc, _)) = attach(test, &child.id().to_string(), &flags) {
        assert!(unc.wait().unwrap().success());
        let seen = json(&path);
        let lock = &seen["processes"][0]["locks"][0];
        assert_eq!(lock["unfinished"]["count"], 1, "{seen:#}");
        assert!(lock["unfinished"]["longest_ns"].as_u64() >= Some(250_000_000), "{seen:#}");
        assert!(names(&lock["first_taken"]).contains(&"stuck"), "{seen:#}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A thread that holds a lock for long among others that hold it for short, each of which is woken by the one before
/// it in the queue: the long one is to blame for what all of them waited, though it wakes only one.
#[test]
fn the_waiting_of_a_queue_is_for_the_long_hold_at_its_head() {
    const QUEUE: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void hold(int us) {
    pthread_mutex_lock(&lock);
    usleep(us);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
__attribute__((noinline)) static void hold_long(void) { hold(3000); __asm__ volatile(""); }
__attribute__((noinline)) static void hold_short(void) { hold(50); __asm__ volatile(""); }
static void *body(void *is_long) {
    for (int i = 0; i < 120; i++) {
        if (is_long) hold_long(); else hold_short();
        usleep(100);
    }
    return is_long;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, i ? NULL : (void *)&lock);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;
    let test = "the_waiting_of_a_queue_is_for_the_long_hold_at_its_head";
    let folder = Folder::new();
    let flags = ["-static", "-O1", "-fomit-frame-pointer", "-fno-inline"];
    let Some(program) = compile(&folder, QUEUE, &flags) else {
        uncontended_testkit::skip!(test, "no static C library");
        return;
    };
    let (seen, output) = common::report(&["--skip-frames", "hold"], &[&program]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    if !may_watch(&seen, test) {
        return;
    }
    let lock = &seen["processes"][0]["locks"][0];
    let first = &lock["ended_by"][0];
    assert_eq!(first["site"]["function"], "hold_long", "{lock:#}");
    // A third of it by who wakes: it wakes one of three.
    assert!(first["share"].as_f64() >= Some(0.7), "{lock:#}");
    let parts = lock["ended_by"].as_array().unwrap().iter();
    let sum: u64 = parts.map(|part| part["wait_ns"].as_u64().unwrap()).sum();
    assert_eq!(lock["blame"]["ended_ns"].as_u64(), Some(sum), "{lock:#}");
}

fn main_thread(process: &Value) -> &Value {
    let mut threads = process["threads"].as_array().unwrap().iter();
    threads.find(|thread| thread["tid"] == process["pid"]).unwrap()
}

/// A join that is in progress at the start and at the end is unfinished, and for the thread that it waits for.
#[test]
fn a_thread_that_joins_another_all_the_time_waits_for_no_lock() {
    let test = "a_thread_that_joins_another_all_the_time_waits_for_no_lock";
    let folder = Folder::new();
    let path = folder.file("seen.json");
    let turns = Turns::alone(&folder, "long");
    turns.begin();
    std::thread::sleep(std::time::Duration::from_millis(200));
    if let Some((mut unc, _)) = attach(test, &turns.pid, &["--for", "300ms", "--json", &path]) {
        assert!(unc.wait().unwrap().success());
        let seen = json(&path);
        let process = &seen["processes"][0];
        let main = main_thread(process);
        let is_other = |thread: &&Value| thread["tid"] == main["unfinished_join"];
        let others = process["threads"].as_array().unwrap().iter();
        assert_eq!(others.filter(is_other).count(), 1, "{process:#}");
        assert_ne!(main["unfinished_join"], main["tid"]);
        assert!(main["unfinished_wait_ns"].as_u64() >= Some(250_000_000), "{main:#}");
        assert!(names(&main["unfinished_stack"]).contains(&"main"), "{main:#}");
        let addresses = process["locks"].as_array().unwrap().iter().map(|lock| &lock["address"]);
        assert_eq!(addresses.collect::<Vec<_>>(), [turns.address.as_str()], "{process:#}");
    }
    turns.end();
}

fn refused(pid: &str) -> Output {
    unc().args(["attach", "--no-history", "--for", "100ms", pid]).output().unwrap()
}

#[test]
fn what_cannot_be_attached_to_is_told_with_a_remedy() {
    let own = std::process::id().to_string();
    let thread = std::thread::spawn(|| std::fs::read_link("/proc/thread-self").unwrap());
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || {
        tell.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
        let _ = stopped.recv();
    });
    thread.join().unwrap();
    let tid = told.recv().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    for (pid, words) in [
        ("4194304", &["no process 4194304", "pgrep"][..]),
        (&tid, &["is a thread of process", &own, "unc attach"]),
        ("x", &["invalid value 'x'"]),
        ("0", &["give a PID"]),
        ("--pid=4194304", &["no process 4194304", "pgrep"]),
    ] {
        let output = refused(pid);
        assert_eq!(status(&output), 125, "{}", stderr(&output));
        for word in words {
            assert!(stderr(&output).contains(word), "{word}: {}", stderr(&output));
        }
        assert_eq!(stdout(&output), "");
    }
    drop(stop);
    waiter.join().unwrap();
}

#[test]
fn a_program_of_32_bits_is_not_said_to_wait_for_nothing() {
    const NAME: &str = "a_program_of_32_bits_is_not_said_to_wait_for_nothing";
    let folder = Folder::new();
    let source = "int main(void) { for (;;) {} }";
    let flags = ["-m32", "-nostdlib", "-static", "-Wl,-emain"];
    let Some(program) = compile(&folder, source, &flags) else {
        return uncontended_testkit::skip(&NAME, &"the compiler makes no programs of 32 bits");
    };
    let Ok(mut child) = Command::new(program).spawn() else {
        return uncontended_testkit::skip(&NAME, &"the kernel runs no programs of 32 bits");
    };
    let output = refused(&child.id().to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status(&output), 125, "{}", stderr(&output));
    assert!(stderr(&output).contains("runs a program of 32 bits"), "{}", stderr(&output));
}

#[test]
fn the_report_goes_to_stdout_or_data_does_if_its_file_is_a_dash() {
    let folder = Folder::new();
    let turns = Turns::alone(&folder, "");
    let flags = ["--json", "-", "--for", "100ms"];
    let output = unc().args(["attach", "--no-history"]).args(flags).arg(&turns.pid).output();
    let output = output.unwrap();
    if status(&output) == 0 {
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["attached"]["pids"][0].to_string(), turns.pid);
        assert!(stderr(&output).contains("attached to "), "{}", stderr(&output));
    } else {
        uncontended_testkit::skip!(
            "the_report_goes_to_stdout_or_data_does_if_its_file_is_a_dash",
            "{}",
            stderr(&output)
        );
    }
    let output = unc().args(["attach", "--no-history", "--for", "100ms", &turns.pid]).output();
    let output = output.unwrap();
    if status(&output) == 0 {
        assert!(stdout(&output).contains("attached to "), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    let mut attach = unc();
    let output = attach.args(["attach", "--trace", "-", &turns.pid]).output().unwrap();
    assert!(status(&output) == 125 && stderr(&output).contains("--trace - is refused"));
    assert!(!std::path::Path::new("-").exists());
    turns.begin();
    turns.end();
}

#[test]
fn without_permission_it_says_what_would_be_needed() {
    use std::os::unix::process::CommandExt as _;
    let test = "without_permission_it_says_what_would_be_needed";
    let own = std::process::id().to_string();
    let mut command = unc();
    command.args(["attach", "--no-history", "--for", "100ms", &own]);
    if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0" {
        command.uid(65_534).gid(65_534);
    }
    let Ok(output) = command.output() else {
        uncontended_testkit::skip!(test, "another user may not execute unc here");
        return;
    };
    assert_eq!(status(&output), 125, "{}", stderr(&output));
    assert!(stderr(&output).contains("root"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
}

/// Whether the kernel may watch for us.
fn may_watch(report: &Value, test: &str) -> bool {
    let may = report["source"] == "kernel";
    if !may {
        uncontended_testkit::skip!(test, "tracing in the kernel is not allowed, or not supported");
    }
    may
}

#[test]
fn a_static_program_under_unc_run_is_watched_by_the_kernel() {
    let test = "a_static_program_under_unc_run_is_watched_by_the_kernel";
    let folder = Folder::new();
    let Some(program) = compile(&folder, TURNS, &["-static", "-fomit-frame-pointer"]) else {
        uncontended_testkit::skip!(test, "no static C library");
        return;
    };
    let (seen, output) = common::report(&[], &[&program, "/"]);
    assert_eq!(status(&output), 7, "{}", stderr(&output));
    if !may_watch(&seen, test) {
        assert!(stderr(&output).contains("root"), "what would be needed: {}", stderr(&output));
        return;
    }
    let printed = stdout(&output);
    let address = printed.split_whitespace().nth(1).unwrap();
    let lock = row(&seen, address);
    assert!(lock["wait_ns"]["total"].as_u64() >= Some(30_000_000), "{lock:#}");
    assert!(names(&lock["worst_wait"]["waiter"]).contains(&"want"), "{lock:#}");
    assert_eq!(seen["culprits"][0]["site"]["function"], "hold", "{lock:#}");
    // Its wait for the threads' ends is its own, and no lock's.
    let process = &seen["processes"][0];
    assert_eq!(process["locks"].as_array().unwrap().len(), 1, "{process:#}");
    assert!(main_thread(process)["joined_ns"].as_u64() >= Some(200_000_000), "{process:#}");
    assert!(seen["attached"].is_null() && seen["exit_status"] == 7);
}

/// What the observer records in the children of a static program is more than the kernel sees of it.
#[test]
fn a_static_launcher_leaves_its_children_to_the_observer() {
    const LAUNCHER: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments) {
    if (fork() == 0) { execv(arguments[1], arguments + 1); _exit(9); }
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
"#;
    let test = "a_static_launcher_leaves_its_children_to_the_observer";
    let (folder, other) = (Folder::new(), Folder::new());
    let Some(launcher) = compile(&folder, LAUNCHER, &["-static"]) else {
        uncontended_testkit::skip!(test, "no static C library");
        return;
    };
    let program = compile(&other, TURNS, &[]).expect("a C compiler");
    let (seen, output) = common::report(&[], &[&launcher, &program, "/"]);
    assert_eq!((status(&output), &seen["source"]), (7, &"preload".into()), "{}", stderr(&output));
    let printed = stdout(&output);
    let lock = row(&seen, printed.split_whitespace().nth(1).unwrap());
    assert_eq!(lock["kind"], "mutex", "{lock:#}");
}
