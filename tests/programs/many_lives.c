/* Many short-lived locks, at addresses that they share in turn and at fresh ones: every acquisition is in the report, of a
 * lock or in a sum of many. UNC_DEPTH=full: a million. */
#include "truth.h"

enum { THREADS = 4, FRESH = 40 };

NOINLINE static void live(pthread_mutex_t *mutex) {
    pthread_mutex_init(mutex, NULL);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    pthread_mutex_destroy(mutex);
}

static void *body(void *number) {
    long lives = (long)(intptr_t)number;
    for (long i = 0; i < lives; i++) {
        pthread_mutex_t *mutex = malloc(sizeof *mutex);
        live(mutex);
        if (i % FRESH != 0) free(mutex);
    }
    return NULL;
}

int main(void) {
    const char *depth = getenv("UNC_DEPTH");
    long lives = depth != NULL && strcmp(depth, "full") == 0 ? 250000 : 25000;
    pthread_t threads[THREADS];
    int64_t begun = now_ns();
    for (int i = 0; i < THREADS; i++) threads[i] = start(body, (void *)(intptr_t)lives);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    fprintf(stderr, "%lld us\n", (long long)(now_ns() - begun) / 1000);
    expect("mutex", NULL, "acquisitions+dropped = %ld", THREADS * lives);
    return 0;
}
