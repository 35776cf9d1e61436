/* A thread cancelled while it waits for another one's end has waited until then. The other one is joined later. */
#include "truth.h"

enum { WAIT_MS = 50 };
static _Atomic pid_t waiter;
static _Atomic int may_end;
static pthread_t other;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *live_on(void *unused) {
    while (!may_end) nap_ms(1);
    return unused;
}

static void *wait_for_other(void *unused) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    waiter = my_tid();
    pthread_join(other, NULL);
    return unused;
}

int main(void) {
    other = start(live_on, NULL);
    pthread_t a = start(wait_for_other, NULL);
    await_asleep(&waiter);
    nap_ms(WAIT_MS);
    cancel(a);
    may_end = 1;
    REQUIRE(pthread_join(other, NULL) == 0);
    printf("waiter %d\n", (int)waiter);
    expect("mutex", &m, "acquisitions = 1");
    return 0;
}
