/* Threads that take only their own locks: there is nothing to find. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 20000 };
static pthread_mutex_t locks[THREADS];

static void *work(void *mutex) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
        for (volatile int k = 0; k < 200; k++) {}
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&locks[i], NULL);
        threads[i] = start(work, &locks[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        expect("mutex", &locks[i], "acquisitions = %d", ROUNDS);
        expect("mutex", &locks[i], "wait_ns = null");
    }
    return 0;
}
