/* Threads queue for a lock while another one, which takes none, computes for longer than that: it set the run's length, and
 * without their holds the run would be as long. */
#include "truth.h"

enum { THREADS = 3, HOLDS = 10, HOLD_MS = 4, COMPUTE_MS = 500 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void contend(void) {
    pthread_mutex_lock(&m);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *contends(void *unused) {
    for (int i = 0; i < HOLDS; i++) contend();
    return unused;
}

static void *computes(void *unused) {
    for (int64_t end = now_ns() + COMPUTE_MS * MS; now_ns() < end;) {}
    return unused;
}

int main(void) {
    pthread_t threads[THREADS], longest = start(computes, NULL);
    for (int i = 0; i < THREADS; i++) threads[i] = start(contends, NULL);
    pthread_join(longest, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect("culprit", &m, "function = contend");
    expect("culprit", &m, "gain(contend) <= %lld", COMPUTE_MS / 20 * MS);
    return 0;
}
