/* Random work on random locks by several threads: the observer's counts must equal the program's own. */
#include "truth.h"

enum { LOCKS = 5, THREADS = 4, STEPS = 4000 };
static pthread_mutex_t locks[LOCKS];
static _Atomic long taken[LOCKS], failed[LOCKS];
static unsigned seed;

static void *work(void *number) {
    unsigned state = seed * 31 + (unsigned)(uintptr_t)number;
    for (int i = 0; i < STEPS; i++) {
        int lock = rand_r(&state) % LOCKS;
        if (rand_r(&state) % 4 == 0) {
            if (pthread_mutex_trylock(&locks[lock]) != 0) {
                failed[lock]++;
                continue;
            }
        } else {
            pthread_mutex_lock(&locks[lock]);
        }
        taken[lock]++;
        for (volatile int spin = rand_r(&state) % 200; spin > 0; spin--) {}
        if (rand_r(&state) % 512 == 0) sched_yield();
        pthread_mutex_unlock(&locks[lock]);
    }
    return NULL;
}

int main(int count, char **arguments) {
    seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start(work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < LOCKS; i++) {
        expect("mutex", &locks[i], "acquisitions = %ld", taken[i]);
        expect("mutex", &locks[i], "hold_ns.count = %ld", taken[i]);
        expect("mutex", &locks[i], "try_failed = %ld", failed[i]);
        expect("mutex", &locks[i], "threads = %d", THREADS);
    }
    return 0;
}
