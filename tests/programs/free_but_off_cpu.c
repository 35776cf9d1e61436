/* The lock is free for 40 ms; its only waiter is not running. */
#include "off_cpu.h"

NOINLINE static void release_and_go_on(void) {
    pthread_mutex_unlock(&m);
    nap_ms(40);
    __asm__ volatile("");
}

int main(void) {
    keep_off_cpu(release_and_go_on);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "idle_ns.count = 1");
    expect("mutex", &m, "idle_ns.max >= %lld", 40 * MS);
    expect("mutex", &m, "worst_idle.cause = not-scheduled");
    expect("mutex", &m, "worst_idle.releaser ~ release_and_go_on");
    expect("mutex", &m, "worst_idle.waiter ~ wait_off_cpu");
    return 0;
}
