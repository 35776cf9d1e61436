/* A thread waits for a mutex whose holder has ended without giving it back, until the program is killed. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter, dead;

static void *die_holding(void *unused) {
    dead = my_tid();
    pthread_mutex_lock(&m);
    return unused;
}

static void *wait_for_the_dead(void *unused) {
    waiter = my_tid();
    pthread_mutex_lock(&m);
    return unused;
}

int main(void) {
    pthread_join(start(die_holding, NULL), NULL);
    start(wait_for_the_dead, NULL);
    await_asleep(&waiter);
    nap_ms(1200);
    expect("mutex", &m, "unfinished.count = 1");
    expect("mutex", &m, "unfinished.longest_ns >= %lld", 1200 * MS);
    expect("mutex", &m, "unfinished.holder = %d", (int)dead);
    raise(SIGKILL);
    return 0;
}
