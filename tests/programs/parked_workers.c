/* Workers say that they are ready and wait; the main thread has waited for each of them, and wakes them only to end.
 * Nobody passes anything on: the workers wait for work. */
#include "truth.h"

enum { WORKERS = 3, ALONE_MS = 60 };
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_ready, is_over;
} worker;
static worker workers[WORKERS];

NOINLINE static void *park(void *of) {
    worker *me = of;
    pthread_mutex_lock(&me->mutex);
    me->is_ready = 1;
    pthread_cond_signal(&me->changed);
    while (!me->is_over) pthread_cond_wait(&me->changed, &me->mutex);
    pthread_mutex_unlock(&me->mutex);
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    for (int n = 0; n < WORKERS; n++) {
        worker *one = &workers[n];
        pthread_mutex_init(&one->mutex, NULL);
        pthread_cond_init(&one->changed, NULL);
        pthread_mutex_lock(&one->mutex);
        threads[n] = start(park, one);
        while (!one->is_ready) pthread_cond_wait(&one->changed, &one->mutex);
        pthread_mutex_unlock(&one->mutex);
    }
    nap_ms(ALONE_MS);
    for (int n = 0; n < WORKERS; n++) {
        worker *one = &workers[n];
        pthread_mutex_lock(&one->mutex);
        one->is_over = 1;
        pthread_cond_signal(&one->changed);
        pthread_mutex_unlock(&one->mutex);
    }
    for (int n = 0; n < WORKERS; n++) {
        pthread_join(threads[n], NULL);
        expect("condition", &workers[n].changed, "class = queue");
        expect("condition", &workers[n].changed, "wait_ns.max >= %lld", ALONE_MS * MS);
    }
    return 0;
}
