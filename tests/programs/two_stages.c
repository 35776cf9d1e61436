/* Threads pass through two locks in turn. They wait at the first alone, since that lets them through one by one; but
 * without its holds they would wait at the second, whose holds are nearly as long. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 10, FIRST_MS = 20, SECOND_MS = 15 };
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void first_stage(void) {
    pthread_mutex_lock(&first);
    nap_ms(FIRST_MS);
    pthread_mutex_unlock(&first);
    __asm__ volatile("");
}

NOINLINE static void second_stage(void) {
    pthread_mutex_lock(&second);
    nap_ms(SECOND_MS);
    pthread_mutex_unlock(&second);
    __asm__ volatile("");
}

static void *passes(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        first_stage();
        second_stage();
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start(passes, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect("culprit", &first, "function = first_stage");
    return 0;
}
