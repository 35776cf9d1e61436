/* Many threads, each with a lock of its own and one that all share. UNC_DEPTH=full: 10,000. */
#include "truth.h"

enum { AT_ONCE = 100, TIMES = 3 };
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *unused) {
    pthread_mutex_t own;
    pthread_mutex_init(&own, NULL);
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_lock(&shared);
        pthread_mutex_unlock(&shared);
        pthread_mutex_unlock(&own);
    }
    pthread_mutex_destroy(&own);
    return unused;
}

int main(void) {
    const char *depth = getenv("UNC_DEPTH");
    int threads = depth != NULL && strcmp(depth, "full") == 0 ? 10000 : 1000;
    pthread_t made[AT_ONCE];
    for (int i = 0; i < threads; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++) made[j] = start(body, NULL);
        for (int j = 0; j < AT_ONCE; j++) pthread_join(made[j], NULL);
    }
    expect("mutex", &shared, "acquisitions = %d", TIMES * threads);
    expect("mutex", &shared, "threads = %d", threads);
    expect("mutex", NULL, "acquisitions+dropped = %d", 2 * TIMES * threads);
    return 0;
}
