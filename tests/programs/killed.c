/* SIGKILL in the middle: what was recorded stays. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;

static void *want_in_vain(void *unused) {
    waiter = my_tid();
    pthread_mutex_lock(&m);
    return unused;
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    start(want_in_vain, NULL);
    await_asleep(&waiter);
    expect("mutex", &m, "acquisitions = 1001");
    expect("mutex", &m, "hold_ns.count = 1000");
    kill(getpid(), SIGKILL);
    return 0;
}
