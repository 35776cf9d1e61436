/* As many waiters as the argument says wait for one hold, then pass through. The hold costs each of them its length. */
#include "truth.h"

enum { MOST = 200, HOLD_MS = 20 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[MOST];
static _Atomic int held;

NOINLINE static void hold_all(int waiters) {
    pthread_mutex_lock(&m);
    held = 1;
    for (int i = 0; i < waiters; i++) await_asleep(&tids[i]);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *pass(void *tid) {
    while (!held) nap_ms(1);
    *(_Atomic pid_t *)tid = my_tid();
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int count, char **arguments) {
    int waiters = count > 1 ? atoi(arguments[1]) : 4;
    REQUIRE(waiters >= 1 && waiters <= MOST);
    pthread_t threads[MOST];
    for (int i = 0; i < waiters; i++) threads[i] = start(pass, &tids[i]);
    hold_all(waiters);
    for (int i = 0; i < waiters; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "blocked = %d", waiters);
    expect("mutex", &m, "waiters = %d", waiters);
    expect("mutex", &m, "held_by.0.site.function = hold_all");
    expect("mutex", &m, "held_by.0.holds = 1");
    expect("mutex", &m, "held_by.0.waits = %d", waiters);
    expect("mutex", &m, "held_by.0.wait_ns >= %lld", waiters * HOLD_MS * MS);
    return 0;
}
