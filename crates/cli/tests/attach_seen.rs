//! What `unc attach` makes of what the kernel sees: objects of several words, code with many callers, processes that
//! fork, calls that wait for several words.

mod common;
use common::attached::{names, row, unseen, watched, watched_as};
use common::{Folder, compile, status, stderr, unc};
use serde_json::Value;
use std::process::Command;

/// Threads in turns at a condition, and others at two futexes of the program's own, next to each other.
const WORDS: &str = r#"
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;
static uint32_t own[2] __attribute__((aligned(8)));
__attribute__((noinline)) static void await_turn(int me) {
    pthread_mutex_lock(&lock);
    while (turn % 3 != me) pthread_cond_wait(&condition, &lock);
    usleep(300);
    turn++;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
static void *in_turns(void *me) {
    for (int i = 0; i < 200; i++) await_turn((int)(intptr_t)me);
    return me;
}
static void *at_own(void *which) {
    uint32_t *word = &own[(intptr_t)which];
    for (int i = 0; i < 20; i++)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){.tv_nsec = 2000000}, NULL, 0);
    return which;
}
int main(void) {
    uintptr_t words = (uintptr_t)&condition;
    printf("%#lx %#lx %#lx %#lx\n", words, words + sizeof condition, (uintptr_t)own, (uintptr_t)(own + 1));
    fflush(stdout);
    getchar();
    pthread_t threads[5];
    for (intptr_t i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, i < 3 ? in_turns : at_own, (void *)(i < 3 ? i : i - 3));
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    return 5;
}
"#;

#[test]
fn a_condition_of_the_c_library_is_one_row_and_a_programs_own_futexes_are_not() {
    let test = "a_condition_of_the_c_library_is_one_row_and_a_programs_own_futexes_are_not";
    for flags in [&["-O1"][..], &["-O1", "-static"]] {
        let folder = Folder::new();
        let Some(program) = compile(&folder, WORDS, flags) else {
            uncontended_testkit::skip!(test, "no static C library");
            return;
        };
        let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
        assert_eq!(seen.status, Some(5));
        let place = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let condition = place(&seen.words[0])..place(&seen.words[1]);
        let locks = seen.report["processes"][0]["locks"].as_array().unwrap().iter();
        let is_in = |address: &str| condition.contains(&place(address));
        let of_it = locks.filter(|lock| is_in(lock["address"].as_str().unwrap()));
        let of_it: Vec<_> = of_it.collect();
        let [one] = of_it[..] else { panic!("{of_it:#?}") };
        assert_eq!((&one["like"], &one["class"]), (&"condition".into(), &"queue".into()));
        // Of 600 turns, two threads wait for each; some come late.
        assert!(one["wait_ns"]["count"].as_u64() >= Some(400), "{one:#}");
        for word in &seen.words[2..] {
            assert_eq!(row(&seen.report, word)["wait_ns"]["count"], 20);
        }
    }
}

/// A function that holds a lock, called from a hundred places, and one that holds it for short.
fn with_callers(count: usize) -> String {
    let place = |nth| {
        format!(
            "__attribute__((noinline)) static void place{nth}(void) {{ hold(); step = {nth}; }}"
        )
    };
    let places: Vec<String> = (0..count).map(place).collect();
    let names: Vec<String> = (0..count).map(|nth| format!("place{nth}")).collect();
    format!(
        r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int step;
__attribute__((noinline)) static void hold(void) {{
    pthread_mutex_lock(&lock);
    usleep(200);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}}
{}
static void (*const places[])(void) = {{ {} }};
static void *body(void *first) {{
    for (int i = 0; i < 1000; i++) places[((intptr_t)first + i * 7) % {count}]();
    return first;
}}
int main(void) {{
    printf("%#lx\n", (uintptr_t)&lock);
    fflush(stdout);
    getchar();
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i * 31));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}}
"#,
        places.join("\n"),
        names.join(", ")
    )
}

#[test]
fn all_waiting_at_a_lock_has_its_code_however_many_places_call_it() {
    let test = "all_waiting_at_a_lock_has_its_code_however_many_places_call_it";
    let folder = Folder::new();
    let flags = ["-O1", "-fno-inline", "-fno-optimize-sibling-calls"];
    let program = compile(&folder, &with_callers(100), &flags).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
    let lock = row(&seen.report, &seen.words[0]);
    let waited = lock["wait_ns"]["total"].as_u64().unwrap();
    for (list, of) in [("waited_in", waited), ("ended_by", waited)] {
        let parts = lock[list].as_array().unwrap().iter();
        let in_hold = parts.filter(|part| part["site"]["function"] == "hold");
        let sum: u64 = in_hold.map(|part| part["wait_ns"].as_u64().unwrap()).sum();
        assert!(sum * 100 >= of * 97, "{list}: {sum} of {of}: {lock:#}");
    }
    let told = unseen(&seen.report).into_iter().find(|text| text.contains("too many callers"));
    assert!(told.is_some(), "{:?}", unseen(&seen.report));
}

/// Forks a process that waits as its parent does, one that executes another program, and many that end at once.
const FORKS: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void hold(int us) {
    pthread_mutex_lock(&lock);
    usleep(us);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
__attribute__((noinline)) static void hold_in_child(void) { hold(2000); __asm__ volatile(""); }
__attribute__((noinline)) static void hold_in_parent(void) { hold(2000); __asm__ volatile(""); }
static int is_child;
static void *body(void *unused) {
    for (int i = 0; i < 50; i++) {
        if (is_child) hold_in_child(); else hold_in_parent();
        usleep(100);
    }
    return unused;
}
static void work(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
static int status_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
int main(void) {
    printf("%#lx\n", (uintptr_t)&lock);
    fflush(stdout);
    getchar();
    pid_t waits = fork();
    if (waits == 0) { is_child = 1; work(); _exit(3); }
    pid_t executes = fork();
    if (executes == 0) { execl("/bin/sh", "sh", "-c", "sleep 0.1; exit 6", NULL); _exit(9); }
    int failed = 0;
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        failed += child < 0 || status_of(child) != 0;
    }
    work();
    int executed = status_of(executes), waited = status_of(waits);
    printf("%d %d %d %d %d", waits, executes, waited, executed, failed);
    return 4;
}
"#;

#[test]
fn forked_processes_are_watched_up_to_their_exec_and_take_no_harm() {
    let test = "forked_processes_are_watched_up_to_their_exec_and_take_no_harm";
    let folder = Folder::new();
    let flags = ["-O1", "-fno-optimize-sibling-calls"];
    let program = compile(&folder, FORKS, &flags).expect("a C compiler");
    let flags = ["--skip-frames", "hold"];
    let Some(seen) = watched(test, &folder, Command::new(program), &flags) else { return };
    let said: Vec<u32> = seen.rest.split(' ').map(|word| word.parse().unwrap()).collect();
    let &[waits, executes, 3, 6, 0] = &said[..] else { panic!("{said:?}") };
    assert_eq!(seen.status, Some(4));
    let processes = seen.report["processes"].as_array().unwrap();
    let pids: Vec<u64> = processes.iter().map(|one| one["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids, [u64::from(seen.pid), u64::from(waits)]);
    for (process, function) in processes.iter().zip(["hold_in_parent", "hold_in_child"]) {
        let [lock] = &process["locks"].as_array().unwrap()[..] else { panic!("{process:#}") };
        assert_eq!(lock["address"], seen.words[0].as_str());
        // Of two threads with fifty holds each, most meet the other one's.
        assert!(lock["wait_ns"]["count"].as_u64() >= Some(60), "{lock:#}");
        assert_eq!(lock["ended_by"][0]["site"]["function"], function, "{lock:#}");
    }
    assert_eq!(seen.report["attached"]["forked"], serde_json::json!([waits]));
    let unseen = unseen(&seen.report).join(" ");
    for part in
        ["watched from then on: 302.", &format!("up to the exec of another program: {executes}.")]
    {
        assert!(unseen.contains(part), "{part}: {unseen}");
    }
    assert!(!unseen.contains("for lack of room"), "{unseen}");
}

/// The last thing that `culprit` does is to unlock, by a jump; so the stack of its wakeups is that of its caller.
const JUMPS: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int step;
__attribute__((noinline)) static void culprit(void) {
    pthread_mutex_lock(&lock);
    usleep(1000);
    step++;
    pthread_mutex_unlock(&lock);
}
__attribute__((noinline)) static void caller(void) { culprit(); step++; }
static void *body(void *unused) {
    for (int i = 0; i < 100; i++) { caller(); usleep(100); }
    return unused;
}
int main(void) {
    printf("%#lx\n", (uintptr_t)&lock);
    fflush(stdout);
    getchar();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

#[test]
fn code_whose_unlock_is_a_jump_is_the_culprit_and_not_its_caller() {
    let test = "code_whose_unlock_is_a_jump_is_the_culprit_and_not_its_caller";
    let folder = Folder::new();
    for flags in [&["-O2"][..], &["-O2", "-fno-plt"], &["-O2", "-no-pie"], &["-O2", "-static"]] {
        let Some(program) = compile(&folder, JUMPS, flags) else {
            uncontended_testkit::skip!(test, "no static C library");
            return;
        };
        let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
        let lock = row(&seen.report, &seen.words[0]);
        assert_eq!(lock["ended_by"][0]["site"]["function"], "culprit", "{flags:?}: {lock:#}");
        assert!(lock["ended_by"][0]["share"].as_f64() >= Some(0.99), "{lock:#}");
    }
}

/// Waits for any of two words, for one by the newer call, and for a mutex with priority inheritance.
const CALLS: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
struct element { uint64_t value, address; uint32_t flags, reserved; };
enum { ROUNDS = 60, PRIVATE_32_BITS = 2 | 128 };
static uint32_t words[2], word;
static int has_wait = 1, has_waitv = 1;
static pthread_mutex_t lock;
__attribute__((noinline)) static void await_any(uint32_t seen) {
    struct element all[2] = {{0, (uintptr_t)&words[0], PRIVATE_32_BITS}, {seen, (uintptr_t)&words[1], PRIVATE_32_BITS}};
    if (syscall(449, all, 2, 0, NULL, CLOCK_MONOTONIC) < 0 && errno == ENOSYS) has_waitv = 0;
    __asm__ volatile("");
}
__attribute__((noinline)) static void await_one(uint32_t seen) {
    if (syscall(455, &word, (uint64_t)seen, ~0ULL & 0xffffffff, PRIVATE_32_BITS, NULL, CLOCK_MONOTONIC) < 0
        && errno == ENOSYS) has_wait = 0;
    __asm__ volatile("");
}
__attribute__((noinline)) static void post(uint32_t *to) {
    __atomic_add_fetch(to, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, to, 1 | 128, 1, NULL, NULL, 0);
    __asm__ volatile("");
}
__attribute__((noinline)) static void hold(void) {
    pthread_mutex_lock(&lock);
    usleep(1000);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}
static void *waits(void *what) {
    for (uint32_t seen = 0; seen < ROUNDS && has_wait && has_waitv;) {
        if (what) await_one(seen); else await_any(seen);
        seen = __atomic_load_n(what ? &word : &words[1], __ATOMIC_SEQ_CST);
    }
    return what;
}
static void *holds(void *unused) {
    for (int i = 0; i < ROUNDS; i++) { hold(); usleep(100); }
    return unused;
}
int main(void) {
    pthread_mutexattr_t inherits;
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &inherits);
    printf("%#lx %#lx %#lx\n", (uintptr_t)&words[1], (uintptr_t)&word, (uintptr_t)&lock);
    fflush(stdout);
    getchar();
    pthread_t threads[4];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, waits, i ? &word : NULL);
    for (int i = 2; i < 4; i++) pthread_create(&threads[i], NULL, holds, NULL);
    for (int i = 0; i < ROUNDS; i++) { usleep(2000); post(&words[1]); post(&word); }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%d %d", has_waitv, has_wait);
    return 0;
}
"#;

#[test]
fn waits_for_several_words_by_the_newer_call_and_with_priority_inheritance_are_seen() {
    let test = "waits_for_several_words_by_the_newer_call_and_with_priority_inheritance_are_seen";
    let folder = Folder::new();
    let flags = ["-O1", "-fno-optimize-sibling-calls"];
    let program = compile(&folder, CALLS, &flags).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
    let has: Vec<bool> = seen.rest.split(' ').map(|word| word == "1").collect();
    let waits =
        [("await_any", "post", has[0]), ("await_one", "post", has[1]), ("hold", "hold", true)];
    for (address, (waiter, waker, is_known)) in seen.words.iter().zip(waits) {
        if !is_known {
            uncontended_testkit::skip!(test, "the kernel lacks the call of {waiter}");
            continue;
        }
        let lock = row(&seen.report, address);
        let count = lock["wait_ns"]["count"].as_u64().unwrap();
        assert!((50..130).contains(&count), "{lock:#}");
        assert!(lock["wait_ns"]["total"].as_u64() >= Some(40_000_000), "{lock:#}");
        assert_eq!(lock["waited_in"][0]["site"]["function"], waiter, "{lock:#}");
        assert_eq!(lock["ended_by"][0]["site"]["function"], waker, "{lock:#}");
    }
}

/// Python calls its locks from stacks of every depth.
#[test]
fn all_waiting_at_a_lock_of_python_has_its_code() {
    const PYTHON: &str = "
import sys, threading, time
print('ready', flush=True)
sys.stdin.read()
lock = threading.Lock()
def deep(n):
    if n == 0:
        with lock: time.sleep(0.0004)
    elif n % 3 == 0: sorted([n], key=lambda x: deep(n - 1) or 0)
    else: list(map(deep, [n - 1]))
def body():
    for i in range(400): deep(i * 7 % 40)
threads = [threading.Thread(target=body) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";
    let test = "all_waiting_at_a_lock_of_python_has_its_code";
    if !common::installed(test, "python3") {
        return;
    }
    let folder = Folder::new();
    let mut python = Command::new("python3");
    python.args(["-c", PYTHON]);
    let Some(seen) = watched(test, &folder, python, &[]) else { return };
    let locks = seen.report["processes"][0]["locks"].as_array().unwrap();
    let total = |lock: &Value| lock["wait_ns"]["total"].as_u64().unwrap();
    let first = locks.iter().max_by_key(|lock| total(lock)).unwrap();
    assert!(total(first) >= 500_000_000, "{first:#}");
    for list in ["waited_in", "ended_by"] {
        let parts = first[list].as_array().unwrap().iter().filter(|part| part["site"].is_object());
        let sum: u64 = parts.map(|part| part["wait_ns"].as_u64().unwrap()).sum();
        assert!(sum * 100 >= total(first) * 97, "{list}: {first:#}");
    }
}

/// The only child of a process.
fn child_of(pid: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().expect("one child")
}

/// In a container, threads have other numbers, and the file that runs is not where we see it.
#[test]
fn a_program_in_other_namespaces_is_seen_with_its_names_and_joins() {
    let test = "a_program_in_other_namespaces_is_seen_with_its_names_and_joins";
    let folder = Folder::new();
    let program = compile(&folder, JUMPS, &["-O2"]).expect("a C compiler");
    let inside = folder.file("inside");
    std::fs::create_dir(&inside).unwrap();
    let script = "mount -t tmpfs none \"$1\" && cp \"$0\" \"$1/inner\" && exec \"$1/inner\"";
    let mut command = Command::new("unshare");
    command.args(["-pfm", "--mount-proc", "sh", "-c", script, &program, &inside]);
    let seen = watched_as(test, &folder, command, &[], child_of);
    let Some(seen) = seen else { return };
    assert_eq!(seen.status, Some(0));
    let process = &seen.report["processes"][0];
    // Not the words of the threads that it joins.
    let [lock] = &process["locks"].as_array().unwrap()[..] else { panic!("{process:#}") };
    assert_eq!(lock["address"], seen.words[0].as_str());
    assert_eq!(lock["ended_by"][0]["site"]["function"], "culprit", "{lock:#}");
    assert!(names(&lock["worst_wait"]["waiter"]).contains(&"caller"), "{lock:#}");
    let mut threads = process["threads"].as_array().unwrap().iter();
    let main = threads.find(|thread| thread["tid"] == seen.pid).unwrap();
    assert!(main["joined_ns"].as_u64() >= Some(50_000_000), "{main:#}");
}

#[test]
fn inside_a_container_it_says_where_it_works() {
    let test = "inside_a_container_it_says_where_it_works";
    let mut command = Command::new("unshare");
    command.args(["-pf", "--mount-proc"]).arg(unc().get_program());
    let output = command.args(["attach", "--no-history", "--for", "100ms", "1"]).output();
    match output.ok().filter(|output| stderr(output).starts_with("unc: ")) {
        None => uncontended_testkit::skip!(test, "no PID namespaces here"),
        Some(output) => {
            assert_eq!(status(&output), 125, "{}", stderr(&output));
            let said = stderr(&output);
            assert!(said.contains("PID namespace") && said.contains("outside"), "{said}");
        }
    }
}

/// As after an update of what runs: its file is there for the process alone.
#[test]
fn a_program_whose_file_was_deleted_has_names() {
    let test = "a_program_whose_file_was_deleted_has_names";
    let folder = Folder::new();
    let flags = ["-O2", "-fomit-frame-pointer"];
    let program = compile(&folder, JUMPS, &flags).expect("a C compiler");
    let delete = |pid| {
        std::fs::remove_file(&program).unwrap();
        pid
    };
    let seen = watched_as(test, &folder, Command::new(&program), &[], delete);
    let Some(seen) = seen else { return };
    let lock = row(&seen.report, &seen.words[0]);
    assert_eq!(lock["ended_by"][0]["site"]["function"], "culprit", "{lock:#}");
    assert!(names(&lock["worst_wait"]["waiter"]).contains(&"body"), "{lock:#}");
}

/// More threads, one after the other, than wait at once.
#[test]
fn threads_that_have_ended_make_room_for_others() {
    const MANY: &str = r#"
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static uint32_t word;
static void *waits(void *unused) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){.tv_nsec = 1000}, NULL, 0);
    return unused;
}
int main(void) {
    printf("%#lx\n", (uintptr_t)&word);
    fflush(stdout);
    getchar();
    int made = 0;
    for (int i = 0; i < 17500; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, waits, NULL) == 0) made += pthread_join(thread, NULL) == 0;
    }
    printf("%d", made);
    return 0;
}
"#;
    let test = "threads_that_have_ended_make_room_for_others";
    let folder = Folder::new();
    let program = compile(&folder, MANY, &["-O1"]).expect("a C compiler");
    let Some(seen) = watched(test, &folder, Command::new(program), &[]) else { return };
    let lock = row(&seen.report, &seen.words[0]);
    assert_eq!(lock["wait_ns"]["count"].to_string(), seen.rest, "{lock:#}");
    let unseen = unseen(&seen.report).join(" ");
    assert!(!unseen.contains("in no figure"), "{unseen}");
}
