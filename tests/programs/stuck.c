/* Two threads wait for a mutex whose holder never gives it back, until the program is killed. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiters[2];

static void *wait_for_ever(void *number) {
    waiters[(uintptr_t)number] = my_tid();
    pthread_mutex_lock(&m);
    return NULL;
}

int main(void) {
    pthread_mutex_lock(&m);
    for (uintptr_t i = 0; i < 2; i++) start(wait_for_ever, (void *)i);
    for (int i = 0; i < 2; i++) await_asleep(&waiters[i]);
    nap_ms(100);
    expect("mutex", &m, "acquisitions = 1");
    expect("mutex", &m, "blocked = 0");
    expect("mutex", &m, "unfinished.count = 2");
    expect("mutex", &m, "unfinished.longest_ns >= %lld", 100 * MS);
    expect("mutex", &m, "unfinished.held_ns >= %lld", 100 * MS);
    expect("mutex", &m, "unfinished.holder = %d", getpid());
    raise(SIGKILL);
    return 0;
}
