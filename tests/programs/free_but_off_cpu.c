/* The lock is free for 40 ms; its only waiter was woken but gets no CPU. On a busy machine it may get one all the same:
 * then the attempt is made again with another lock. */
#include "truth.h"

enum { ATTEMPTS = 20 };
static pthread_mutex_t locks[ATTEMPTS];
static pthread_mutex_t *m;
static _Atomic pid_t waiter;
static _Atomic int had;
static int cpu;

NOINLINE static void wait_off_cpu(void) {
    pthread_mutex_lock(m);
    had = 1;
    pthread_mutex_unlock(m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    pin(cpu);
    be_last();
    waiter = my_tid();
    wait_off_cpu();
    return unused;
}

/* Whether the waiter had to wait. */
NOINLINE static int release_and_keep_the_cpu(void) {
    pthread_mutex_unlock(m);
    spin_ms(40);
    return !had;
}

static int attempt(void) {
    waiter = 0, had = 0;
    pthread_mutex_lock(m);
    pthread_t b = start(second, NULL);
    await_asleep(&waiter);
    int kept_off = release_and_keep_the_cpu();
    pthread_join(b, NULL);
    return kept_off;
}

int main(void) {
    cpu = pin(-1);
    for (m = locks; !attempt(); m++) REQUIRE(m < locks + ATTEMPTS - 1);
    expect("mutex", m, "acquisitions = 2");
    expect("mutex", m, "blocked = 1");
    expect("mutex", m, "idle_ns.count = 1");
    expect("mutex", m, "idle_ns.max >= %lld", 40 * MS);
    expect("mutex", m, "worst_idle.cause = not-scheduled");
    expect("mutex", m, "worst_idle.releaser ~ release_and_keep_the_cpu");
    expect("mutex", m, "worst_idle.waiter ~ wait_off_cpu");
    return 0;
}
