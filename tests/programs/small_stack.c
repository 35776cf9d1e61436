/* Threads on the smallest stacks that the C library gives: looking at such a stack must not need much of it. */
#include "truth.h"
#include <limits.h>

enum { WAITERS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[WAITERS];

NOINLINE static void want_it_on_little_stack(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *body(void *tid) {
    *(_Atomic pid_t *)tid = my_tid();
    want_it_on_little_stack();
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t threads[WAITERS];
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    pthread_mutex_lock(&m);
    for (int i = 0; i < WAITERS; i++) REQUIRE(pthread_create(&threads[i], &attributes, body, (void *)&tids[i]) == 0);
    for (int i = 0; i < WAITERS; i++) await_asleep(&tids[i]);
    nap_ms(10);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "acquisitions = %d", WAITERS + 1);
    expect("mutex", &m, "blocked = %d", WAITERS);
    expect("mutex", &m, "wait_ns.max >= %lld", 10 * MS);
    expect("mutex", &m, "worst_wait.waiter ~ want_it_on_little_stack");
    return 0;
}
