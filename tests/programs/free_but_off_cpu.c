/* The lock is free for 40 ms; its only waiter was woken but gets no CPU. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static int cpu;

NOINLINE static void wait_off_cpu(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    pin(cpu);
    be_last();
    waiter = my_tid();
    wait_off_cpu();
    return unused;
}

NOINLINE static void release_and_keep_the_cpu(void) {
    pthread_mutex_unlock(&m);
    spin_ms(40);
}

int main(void) {
    cpu = pin(-1);
    pthread_mutex_lock(&m);
    pthread_t b = start(second, NULL);
    await_asleep(&waiter);
    release_and_keep_the_cpu();
    pthread_join(b, NULL);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "idle_ns.count = 1");
    expect("mutex", &m, "idle_ns.max >= %lld", 40 * MS);
    expect("mutex", &m, "worst_idle.cause = not-scheduled");
    expect("mutex", &m, "worst_idle.releaser ~ release_and_keep_the_cpu");
    expect("mutex", &m, "worst_idle.waiter ~ wait_off_cpu");
    return 0;
}
