/* Three threads wait on a condition; a broadcast after 400 ms frees them. Each comes back to the mutex by itself. */
#include "truth.h"

enum { WAITERS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_cond_t monotonic;
static int waiting, opened;

NOINLINE static void wait_for_the_gate(void) {
    pthread_mutex_lock(&m);
    waiting++;
    while (!opened) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *body(void *unused) {
    wait_for_the_gate();
    return unused;
}

int main(void) {
    pthread_t threads[WAITERS];
    int locks = 0;
    for (int i = 0; i < WAITERS; i++) threads[i] = start(body, NULL);
    for (int all = 0; !all; locks++, nap_ms(5)) {
        pthread_mutex_lock(&m);
        all = waiting == WAITERS;
        pthread_mutex_unlock(&m);
    }
    nap_ms(400);
    pthread_mutex_lock(&m), locks++;
    opened = 1;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);

    struct timespec past = {0, 0};
    pthread_mutex_lock(&m), locks++;
    REQUIRE(pthread_cond_timedwait(&c, &m, &past) == ETIMEDOUT);
    pthread_mutex_unlock(&m);

    /* A timeout on another clock than the usual one is a wait until the deadline. */
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &attributes);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if ((until.tv_nsec += 50 * MS) >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    pthread_mutex_lock(&m), locks++;
    int64_t call = now_ns();
    REQUIRE(pthread_cond_timedwait(&monotonic, &m, &until) == ETIMEDOUT);
    int64_t waited = now_ns() - call;
    pthread_mutex_unlock(&m);
    expect("condition", &monotonic, "wait_ns.max >= %lld", 45 * MS);
    expect("condition", &monotonic, "wait_ns.max <= %lld", (long long)waited);

    /* Without a spurious wakeup: one wait a waiter, one that timed out, and each came back. */
    expect("condition", &c, "acquisitions = %d", WAITERS + 1);
    expect("condition", &c, "wait_ns.max >= %lld", 400 * MS);
    expect("mutex", &m, "acquisitions = %d", locks + WAITERS + WAITERS + 2);
    expect("mutex", &m, "hold_ns.count = %d", locks + WAITERS + WAITERS + 2);
    expect("mutex", &m, "hold_ns.max <= %lld", 390 * MS);
    return 0;
}
