/* A waiter that gets no CPU; the lock stands free for 20 ms; then the thread that released it takes it again. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static int cpu;

NOINLINE static void wait_last(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    pin(cpu);
    be_last();
    waiter = my_tid();
    wait_last();
    return unused;
}

NOINLINE static void release_and_barge(void) {
    pthread_mutex_unlock(&m);
    spin_ms(20);
    pthread_mutex_lock(&m);
    spin_ms(5);
    pthread_mutex_unlock(&m);
}

int main(void) {
    cpu = pin(-1);
    pthread_mutex_lock(&m);
    pthread_t b = start(second, NULL);
    await_asleep(&waiter);
    release_and_barge();
    pthread_join(b, NULL);
    expect("mutex", &m, "acquisitions = 3");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "idle_ns.count = 2");
    expect("mutex", &m, "idle_ns.max >= %lld", 20 * MS);
    expect("mutex", &m, "wait_ns.max >= %lld", 25 * MS);
    expect("mutex", &m, "worst_idle.cause = barged");
    expect("mutex", &m, "worst_idle.releaser ~ release_and_barge");
    return 0;
}
