/* Threads that do nothing but take one lock: wall time in milliseconds, then p50 and p99 in nanoseconds of the waits as
 * the program itself sees them. Arguments: [threads] [takes of each] [work inside] [1: take the waits' times]. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static int threads = 4, takes = 500000, work = 0, timed = 0;
static volatile long counter;
static int64_t *waits;
static _Atomic long waited;

static void *hammer(void *unused) {
    pthread_barrier_wait(&ready);
    for (int i = 0; i < takes; i++) {
        if (timed) {
            int64_t call = now_ns();
            if (pthread_mutex_trylock(&m) != 0) {
                pthread_mutex_lock(&m);
                waits[waited++] = now_ns() - call;
            }
        } else {
            pthread_mutex_lock(&m);
        }
        counter++;
        for (int step = 0; step < work; step++) __asm__ volatile("");
        pthread_mutex_unlock(&m);
    }
    return unused;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    if (count > 1) threads = atoi(arguments[1]);
    if (count > 2) takes = atoi(arguments[2]);
    if (count > 3) work = atoi(arguments[3]);
    if (count > 4) timed = atoi(arguments[4]);
    REQUIRE(threads >= 1 && threads <= 64 && takes > 0);
    pthread_t all[64];
    waits = calloc((size_t)threads * (size_t)takes, sizeof waits[0]);
    REQUIRE(waits != NULL && pthread_barrier_init(&ready, NULL, (unsigned)threads + 1) == 0);
    for (int i = 0; i < threads; i++) all[i] = start(hammer, NULL);
    int64_t begun = now_ns();
    pthread_barrier_wait(&ready);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    int64_t ns = now_ns() - begun;
    REQUIRE(counter == (long)threads * takes);
    qsort(waits, (size_t)waited, sizeof waits[0], by_value);
    int64_t p50 = waited ? waits[waited / 2] : 0, p99 = waited ? waits[waited * 99 / 100] : 0;
    printf("%.3f %lld %lld %ld\n", (double)ns / 1e6, (long long)p50, (long long)p99, (long)waited);
    return 0;
}
