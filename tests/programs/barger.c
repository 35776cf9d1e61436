/* A waiter that gets no CPU; the lock stands free for 20 ms; then the thread that released it takes it again. On a busy
 * machine the waiter may get a CPU all the same: then the attempt is made again with another lock. */
#include "truth.h"

enum { ATTEMPTS = 20 };
static pthread_mutex_t locks[ATTEMPTS];
static pthread_mutex_t *m;
static _Atomic pid_t waiter;
static _Atomic int had;
static int cpu;

NOINLINE static void wait_last(void) {
    pthread_mutex_lock(m);
    had = 1;
    pthread_mutex_unlock(m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    pin(cpu);
    be_last();
    waiter = my_tid();
    wait_last();
    return unused;
}

/* Whether the waiter was passed over. */
NOINLINE static int release_and_barge(void) {
    pthread_mutex_unlock(m);
    spin_ms(20);
    pthread_mutex_lock(m);
    int passed_over = !had;
    spin_ms(5);
    pthread_mutex_unlock(m);
    return passed_over;
}

static int attempt(void) {
    waiter = 0, had = 0;
    pthread_mutex_lock(m);
    pthread_t b = start(second, NULL);
    await_asleep(&waiter);
    int passed_over = release_and_barge();
    pthread_join(b, NULL);
    return passed_over;
}

int main(void) {
    cpu = pin(-1);
    for (m = locks; !attempt(); m++) REQUIRE(m < locks + ATTEMPTS - 1);
    expect("mutex", m, "acquisitions = 3");
    expect("mutex", m, "blocked = 1");
    expect("mutex", m, "idle_ns.count = 2");
    expect("mutex", m, "idle_ns.max >= %lld", 20 * MS);
    expect("mutex", m, "wait_ns.max >= %lld", 25 * MS);
    expect("mutex", m, "worst_idle.cause = barged");
    expect("mutex", m, "worst_idle.releaser ~ release_and_barge");
    return 0;
}
