/* Cost of an unlock for which threads wait, in nanoseconds: the median of many. Arguments: [waiters]. */
#include "truth.h"

enum { ROUNDS = 2001, MOST = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins, round_ends;
static _Atomic int coming;
static int waiters;

static void *waits(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&round_begins);
        coming++;
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&round_ends);
    }
    return unused;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    waiters = count > 1 ? atoi(arguments[1]) : 1;
    REQUIRE(waiters >= 1 && waiters <= MOST);
    pthread_barrier_init(&round_begins, NULL, waiters + 1);
    pthread_barrier_init(&round_ends, NULL, waiters + 1);
    for (int n = 0; n < waiters; n++) start(waits, NULL);
    static int64_t ns[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        coming = 0;
        pthread_mutex_lock(&lock);
        pthread_barrier_wait(&round_begins);
        while (coming < waiters) sched_yield();
        /* By then all of them sleep. */
        struct timespec pause = {0, 100000};
        nanosleep(&pause, NULL);
        int64_t begun = now_ns();
        pthread_mutex_unlock(&lock);
        ns[round] = now_ns() - begun;
        pthread_barrier_wait(&round_ends);
    }
    qsort(ns, ROUNDS, sizeof ns[0], by_value);
    printf("%lld\n", (long long)ns[ROUNDS / 2]);
    return 0;
}
