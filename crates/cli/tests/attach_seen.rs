//! What `unc attach` makes of what the kernel sees: objects of several words, code with many callers, processes that
//! fork, calls that wait for several words.

mod common;
use common::attached::{row, watched};
use common::{Folder, compile};
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
