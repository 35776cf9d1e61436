/* A spinlock of the program's own becomes a row by its annotations: one holder for 30 ms, one waiter, one that gives up. */
#include "truth.h"
#include <uncontended.h>

static _Atomic int word;
static _Atomic int gone;

static int try_take(void) { return atomic_exchange(&word, 1) == 0; }

NOINLINE static void take(void) {
    if (!try_take()) {
        uncontended_wait_begin(&word);
        while (!try_take()) sched_yield();
    }
    uncontended_acquired(&word);
    __asm__ volatile("");
}

NOINLINE static void give_back(void) {
    uncontended_released(&word);
    word = 0;
    __asm__ volatile("");
}

static void *give_up_then_wait(void *unused) {
    uncontended_wait_begin(&word);
    nap_ms(5);
    uncontended_gave_up(&word);
    gone = 1;
    take();
    give_back();
    return unused;
}

int main(void) {
    take();
    pthread_t a = start(give_up_then_wait, NULL);
    while (!gone) nap_ms(1);
    nap_ms(30);
    give_back();
    pthread_join(a, NULL);
    take();
    give_back();
    expect("annotated", &word, "acquisitions = 3");
    expect("annotated", &word, "blocked = 2");
    expect("annotated", &word, "timed_out.count = 1");
    expect("annotated", &word, "threads = 2");
    expect("annotated", &word, "owner_changes = 2");
    expect("annotated", &word, "hold_ns.count = 3");
    expect("annotated", &word, "hold_ns.max >= %lld", 30 * MS);
    expect("annotated", &word, "wait_ns.count = 2");
    expect("annotated", &word, "wait_ns.max >= %lld", 25 * MS);
    expect("annotated", &word, "worst_wait.waiter ~ take");
    return 0;
}
