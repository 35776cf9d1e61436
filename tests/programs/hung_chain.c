/* A program that hangs without a deadlock: a thread waits for a lock whose holder waits for another one, whose holder waits
 * for a third, whose holder sleeps for ever. Then it is killed. */
#include "truth.h"

enum { HUNG_MS = 1300 };
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
                       third = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int first_held, second_held, third_held;
static _Atomic pid_t head_tid, tids[3];

NOINLINE static void *hold_for_ever(void *unused) {
    pthread_mutex_lock(&first);
    head_tid = my_tid();
    first_held = 1;
    for (;;) nap_ms(1000);
    return unused;
}

NOINLINE static void *middle(void *unused) {
    pthread_mutex_lock(&second);
    second_held = 1;
    tids[0] = my_tid();
    pthread_mutex_lock(&first);
    return unused;
}

NOINLINE static void *other_middle(void *unused) {
    pthread_mutex_lock(&third);
    third_held = 1;
    tids[1] = my_tid();
    pthread_mutex_lock(&second);
    return unused;
}

NOINLINE static void *last(void *unused) {
    tids[2] = my_tid();
    pthread_mutex_lock(&third);
    return unused;
}

int main(void) {
    start(hold_for_ever, NULL);
    while (!first_held) nap_ms(1);
    start(middle, NULL);
    while (!second_held) nap_ms(1);
    start(other_middle, NULL);
    while (!third_held) nap_ms(1);
    start(last, NULL);
    for (int i = 0; i < 3; i++) await_asleep(&tids[i]);
    nap_ms(HUNG_MS);
    const pthread_mutex_t *locks[] = {&first, &second, &third};
    for (int i = 0; i < 3; i++) {
        expect("mutex", locks[i], "hung_behind.tid = %d", (int)head_tid);
        expect("mutex", locks[i], "hung_behind.through = %d", i);
        expect("mutex", locks[i], "hung_behind.behind = 3");
        expect("mutex", locks[i], "hung_behind.taken ~ hold_for_ever");
        expect("mutex", locks[i], "unfinished.count = 1");
        expect("mutex", locks[i], "unfinished.total_ns >= %lld", HUNG_MS * MS);
    }
    raise(SIGKILL);
    return 0;
}
