/* A waiter that gets no CPU; the lock stands free for 20 ms; then the thread that released it takes it again. */
#include "off_cpu.h"

NOINLINE static int release_and_barge(void) {
    pthread_mutex_unlock(m);
    spin_ms(20);
    pthread_mutex_lock(m);
    int passed_over = !had;
    spin_ms(5);
    pthread_mutex_unlock(m);
    return passed_over;
}

int main(void) {
    keep_off_cpu(release_and_barge);
    expect("mutex", m, "acquisitions = 3");
    expect("mutex", m, "blocked = 1");
    expect("mutex", m, "idle_ns.count = 2");
    expect("mutex", m, "idle_ns.max >= %lld", 20 * MS);
    expect("mutex", m, "wait_ns.max >= %lld", 25 * MS);
    expect("mutex", m, "worst_idle.cause = barged");
    expect("mutex", m, "worst_idle.releaser ~ release_and_barge");
    return 0;
}
