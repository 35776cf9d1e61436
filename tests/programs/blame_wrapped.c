/* Two functions of one thread take a lock through the same wrappers, at the same depth of the stack. Each is named. */
#include "truth.h"

enum { HOLD_MS = 40, PASS_MS = 10 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, taken;
static _Atomic pid_t waiter;

NOINLINE static void inner(void) {
    REQUIRE(pthread_mutex_lock(&m) == 0);
    __asm__ volatile("");
}

NOINLINE static void outer(void) {
    inner();
    __asm__ volatile("");
}

NOINLINE static void hold(int ms) {
    pthread_barrier_wait(&held);
    await_asleep(&waiter);
    nap_ms(ms);
    pthread_mutex_unlock(&m);
    pthread_barrier_wait(&taken);
}

NOINLINE static void hold_often(void) {
    outer();
    hold(PASS_MS);
    __asm__ volatile("");
}

NOINLINE static void hold_longest(void) {
    outer();
    hold(HOLD_MS);
    __asm__ volatile("");
}

static void *wait_for_it(void *unused) {
    waiter = my_tid();
    for (int i = 0; i < 3; i++) {
        pthread_barrier_wait(&held);
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_barrier_wait(&taken);
    }
    return unused;
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&taken, NULL, 2);
    pthread_t thread = start(wait_for_it, NULL);
    hold_often();
    hold_longest();
    hold_often();
    pthread_join(thread, NULL);
    expect("mutex", &m, "held_by(hold_longest) >= %lld", HOLD_MS * MS);
    expect("mutex", &m, "held_by(hold_often) >= %lld", 2 * PASS_MS * MS);
    expect("mutex", &m, "held_by(hold) = 0");
    expect("mutex", &m, "held_by(inner) = 0");
    return 0;
}
