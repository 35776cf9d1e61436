/* Threads wait for a lock until the program ends, in less than a second: the code that holds it is to blame.
 *
 * once: no wait ended; after: others had ended before, after a short hold; chain: the holder itself waits for another lock,
 * in another one's long hold. */
#include "truth.h"

enum { WAITERS = 3, HOLD_MS = 400, SHORT_MS = 10 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static _Atomic pid_t tids[WAITERS + 1];
static const char *mode;

NOINLINE static void hold_other(void) {
    pthread_mutex_lock(&other);
    pthread_barrier_wait(&held);
    nap_ms(100 * HOLD_MS);
}

NOINLINE static void hold(void) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&held);
    if (strcmp(mode, "chain") == 0) {
        tids[WAITERS] = my_tid();
        pthread_mutex_lock(&other);
    }
    nap_ms(100 * HOLD_MS);
}

NOINLINE static void hold_briefly(void) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&held);
    await_asleep(&tids[0]);
    nap_ms(SHORT_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *holds_other(void *unused) {
    hold_other();
    return unused;
}

static void *holds(void *unused) {
    hold();
    return unused;
}

static void *holds_briefly(void *unused) {
    hold_briefly();
    return unused;
}

static void *waits(void *number) {
    tids[(uintptr_t)number] = my_tid();
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    mode = argv[1];
    int is_chain = strcmp(mode, "chain") == 0;
    pthread_barrier_init(&held, NULL, 2);
    if (strcmp(mode, "after") == 0) {
        pthread_t brief = start(holds_briefly, NULL);
        pthread_barrier_wait(&held);
        pthread_t waiter = start(waits, (void *)0);
        pthread_join(waiter, NULL);
        pthread_join(brief, NULL);
        tids[0] = 0;
    }
    if (is_chain) {
        start(holds_other, NULL);
        pthread_barrier_wait(&held);
    }
    start(holds, NULL);
    pthread_barrier_wait(&held);
    if (is_chain) await_asleep(&tids[WAITERS]);
    for (uintptr_t n = 0; n < WAITERS; n++) start(waits, (void *)n);
    for (int n = 0; n < WAITERS; n++) await_asleep(&tids[n]);
    nap_ms(HOLD_MS);
    expect("mutex", &m, "unfinished.count = %d", WAITERS);
    expect("mutex", &m, "held_by.0.site.function = hold");
    expect("mutex", &m, "held_by(hold) >= %lld", WAITERS * HOLD_MS * MS);
    expect("mutex", &m, "held_by.0.holds = 1");
    if (is_chain) {
        expect("mutex", &m, "held_by.0.passed_on_ns >= %lld", WAITERS * HOLD_MS * MS);
        expect("mutex", &other, "held_by(hold_other) >= %lld", HOLD_MS * MS);
    }
    expect("culprit", NULL, "function = %s", is_chain ? "hold_other" : "hold");
    return 0;
}
