/* The lock is free for 40 ms; its only waiter was woken but gets no CPU. */
#include "off_cpu.h"

NOINLINE static int release_and_keep_the_cpu(void) {
    pthread_mutex_unlock(m);
    spin_ms(40);
    return !had;
}

int main(void) {
    keep_off_cpu(release_and_keep_the_cpu);
    expect("mutex", m, "acquisitions = 2");
    expect("mutex", m, "blocked = 1");
    expect("mutex", m, "idle_ns.count = 1");
    expect("mutex", m, "idle_ns.max >= %lld", 40 * MS);
    expect("mutex", m, "worst_idle.cause = not-scheduled");
    expect("mutex", m, "worst_idle.releaser ~ release_and_keep_the_cpu");
    expect("mutex", m, "worst_idle.waiter ~ wait_off_cpu");
    return 0;
}
