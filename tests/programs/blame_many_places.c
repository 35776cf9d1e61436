/* A function that holds the lock is called from a hundred places, more than a thread has room to tell apart. All that
 * was waited is its own all the same. */
#include "truth.h"

enum { NAP_MS = 2 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, over;
static _Atomic pid_t tid;

NOINLINE static void hold(void) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&held);
    await_asleep(&tid);
    nap_ms(NAP_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

#define PLACE hold(); pthread_barrier_wait(&over);
#define TEN(what) what what what what what what what what what what
enum { PLACES = 100 };

static void *waits(void *unused) {
    tid = my_tid();
    for (int i = 0; i < PLACES; i++) {
        pthread_barrier_wait(&held);
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_barrier_wait(&over);
    }
    return unused;
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&over, NULL, 2);
    pthread_t waiter = start(waits, NULL);
    TEN(TEN(PLACE))
    pthread_join(waiter, NULL);
    expect("mutex", &m, "held_by(hold) >= %lld", PLACES * NAP_MS * MS);
    expect("mutex", &m, "held_by.0.site.function = hold");
    expect("culprit", &m, "wait(hold) >= %lld", PLACES * NAP_MS * MS);
    return 0;
}
