/* One hold in fifty sleeps 6 ms: above every percentile that a table shows, yet most of the time is waited for it.
 * The threads share the rounds, so that to the last of them somebody waits. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 4000, RARE = 50 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int taken;

NOINLINE static int touch(void) {
    pthread_mutex_lock(&m);
    int more = taken < ROUNDS;
    if (more && ++taken % RARE == 0) nap_ms(6);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
    return more;
}

static void *work(void *unused) {
    while (touch()) sched_yield();
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start(work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "acquisitions = %d", ROUNDS + THREADS);
    expect("mutex", &m, "class = contention");
    expect("mutex", &m, "hold_ns.max >= %lld", 6 * MS);
    expect("mutex", &m, "hold_ns.total >= %lld", (long long)ROUNDS / RARE * 6 * MS);
    return 0;
}
