/* A thread that waits for another's end waits on a futex, and for no lock: it is accounted for as what it is. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static _Atomic pid_t joiner;

static void *sleeps(void *unused) {
    await_asleep(&joiner);
    pthread_mutex_lock(&m); /* Long enough to be kept with its stack. */
    nap_ms(10);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    nap_ms(50);
    return unused;
}

/* It is joined, too, and has the handle of the one before. */
static void *takes_no_lock(void *unused) {
    nap_ms(30);
    return unused;
}

int main(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    joiner = my_tid();
    pthread_join(start(sleeps, NULL), NULL);
    pthread_join(start(takes_no_lock, NULL), NULL);
    expect("mutex", &m, "acquisitions = 3");
    expect("mutex", &m, "wait_ns = null");
    return 0;
}
