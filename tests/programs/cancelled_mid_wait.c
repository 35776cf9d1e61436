/* A thread cancelled in a condition wait gives the mutex back by its cleanup handler; the lock works on. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static _Atomic pid_t waiter;
static int cleaned;

static void give_back(void *unused) {
    (void)unused;
    cleaned = 1;
    pthread_mutex_unlock(&m);
}

static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&m);
    pthread_cleanup_push(give_back, NULL);
    waiter = my_tid();
    for (;;) pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    return unused;
}

int main(void) {
    pthread_t a = start(wait_for_ever, NULL);
    await_asleep(&waiter);
    REQUIRE(pthread_cancel(a) == 0);
    void *result;
    pthread_join(a, &result);
    REQUIRE(result == PTHREAD_CANCELED && cleaned);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    expect("mutex", &m, "acquisitions >= 2");
    expect("mutex", &m, "acquisitions <= 3");
    expect("mutex", &m, "blocked <= 1");
    return 0;
}
