/* A thread comes back from a condition to a mutex that the one who signalled goes on holding. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int called;
static _Atomic int waiting;

NOINLINE static void come_back(void) {
    pthread_mutex_lock(&m);
    waiting = 1;
    while (!called) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *body(void *unused) {
    come_back();
    return unused;
}

NOINLINE static void call_and_keep(void) {
    pthread_mutex_lock(&m);
    called = 1;
    pthread_cond_signal(&c);
    nap_ms(60);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

int main(void) {
    pthread_t thread = start(body, NULL);
    while (!waiting) nap_ms(1);
    nap_ms(20); /* It gets from there into the wait before anyone wants its mutex. */
    call_and_keep();
    pthread_join(thread, NULL);

    expect("mutex", &m, "blocked >= %d", 1);
    expect("mutex", &m, "wait_ns.max >= %lld", 59 * MS);
    expect("mutex", &m, "worst_wait.waiter ~ %s", "come_back");
    expect("mutex", &m, "worst_wait.holder ~ %s", "call_and_keep");
    expect("mutex", &m, "worst_idle.releaser ~ %s", "call_and_keep");
    expect("mutex", &m, "worst_idle.waiter ~ %s", "come_back");
    return 0;
}
