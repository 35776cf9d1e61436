/* One thread holds the lock asleep for 60 ms; another wants it meanwhile. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static _Atomic int64_t waited;
static _Atomic int held;

NOINLINE static void hold_asleep(void) {
    pthread_mutex_lock(&m);
    held = 1;
    await_asleep(&waiter);
    nap_ms(60);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void want_it(void) {
    int64_t call = now_ns();
    pthread_mutex_lock(&m);
    waited = now_ns() - call;
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    REQUIRE(pthread_mutex_trylock(&m) == EBUSY);
    waiter = my_tid();
    want_it();
    return unused;
}

static void *first(void *unused) {
    hold_asleep();
    return unused;
}

int main(void) {
    pthread_t a = start(first, NULL);
    while (!held) nap_ms(1);
    pthread_t b = start(second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "try_failed = 1");
    expect("mutex", &m, "threads = 2");
    expect("mutex", &m, "owner_changes = 1");
    expect("mutex", &m, "wait_ns.count = 1");
    expect("mutex", &m, "wait_ns.max >= %lld", 60 * MS);
    expect("mutex", &m, "wait_ns.max <= %lld", (long long)waited);
    expect("mutex", &m, "hold_ns.count = 2");
    expect("mutex", &m, "hold_ns.max >= %lld", 60 * MS);
    expect("mutex", &m, "worst_wait.waiter ~ want_it");
    expect("mutex", &m, "worst_wait.holder ~ hold_asleep");
    return 0;
}
