/* The lock stands free for 200 ms while its waiter is not running; then the thread that released it takes it again, for 5 ms
 * more. */
#include "off_cpu.h"

NOINLINE static void release_and_barge(void) {
    pthread_mutex_unlock(&m);
    nap_ms(200);
    pthread_mutex_lock(&m);
    nap_ms(5);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

int main(void) {
    keep_off_cpu(release_and_barge);
    expect("mutex", &m, "acquisitions = 3");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "idle_ns.count = 2");
    expect("mutex", &m, "idle_ns.max >= %lld", 200 * MS);
    expect("mutex", &m, "wait_ns.max >= %lld", 205 * MS);
    expect("mutex", &m, "worst_idle.cause = barged");
    expect("mutex", &m, "worst_idle.releaser ~ release_and_barge");
    return 0;
}
