/* Locks taken while a thread ends, by destructors that are called again and again: nothing is lost but what comes after
 * the last of them. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static _Atomic int called;

static void destroy(void *value) {
    pthread_mutex_lock(&m);
    called++;
    pthread_mutex_unlock(&m);
    if ((uintptr_t)value > 1) pthread_setspecific(key, (void *)((uintptr_t)value - 1));
}

static void *body(void *unused) {
    pthread_setspecific(key, (void *)3);
    return unused;
}

int main(void) {
    pthread_key_create(&key, destroy);
    for (int i = 0; i < 20; i++) pthread_join(start(body, NULL), NULL);
    REQUIRE(called == 60);
    expect("mutex", &m, "acquisitions = 60");
    expect("mutex", &m, "threads = 20");
    return 0;
}
