/* Four waiters queue behind a holder, then hold for 10 ms each: the last waits for at least 30 ms more than the first. */
#include "truth.h"

enum { WAITERS = 4 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[WAITERS];

static void *wait_and_hold(void *tid) {
    *(_Atomic pid_t *)tid = my_tid();
    pthread_mutex_lock(&m);
    nap_ms(10);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void) {
    pthread_t threads[WAITERS];
    pthread_mutex_lock(&m);
    for (int i = 0; i < WAITERS; i++) threads[i] = start(wait_and_hold, &tids[i]);
    for (int i = 0; i < WAITERS; i++) await_asleep(&tids[i]);
    nap_ms(20);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "acquisitions = %d", WAITERS + 1);
    expect("mutex", &m, "blocked = %d", WAITERS);
    expect("mutex", &m, "threads = %d", WAITERS + 1);
    expect("mutex", &m, "owner_changes = %d", WAITERS);
    expect("mutex", &m, "wait_ns.count = %d", WAITERS);
    expect("mutex", &m, "wait_ns.max >= %lld", (20 + 10 * (WAITERS - 1)) * MS);
    expect("mutex", &m, "wait_ns.total >= %lld", (20 * WAITERS + 10 * (0 + 1 + 2 + 3)) * MS);
    expect("mutex", &m, "hold_ns.total >= %lld", (20 + 10 * WAITERS) * MS);
    expect("mutex", &m, "idle_ns.count = %d", WAITERS);
    return 0;
}
