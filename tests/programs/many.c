/* Many locks and many threads: every one is counted, and a lock used by nobody is no row. */
#include "truth.h"

enum { LOCKS = 3000, THREADS = 24, UNUSED = 10 };
static pthread_mutex_t locks[LOCKS], unused[UNUSED];

static void *body(void *number) {
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&locks[(i + 97 * (int)(uintptr_t)number) % LOCKS]);
        pthread_mutex_unlock(&locks[(i + 97 * (int)(uintptr_t)number) % LOCKS]);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
    for (int i = 0; i < UNUSED; i++) pthread_mutex_init(&unused[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start(body, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < LOCKS; i += 100) {
        expect("mutex", &locks[i], "acquisitions = %d", THREADS);
        expect("mutex", &locks[i], "threads = %d", THREADS);
    }
    for (int i = 0; i < UNUSED; i++) expect("mutex", &unused[i], "rows = 0");
    return 0;
}
