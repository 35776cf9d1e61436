/* Tries that fail are counted as such, never as blocked; a timed wait that times out is a wait. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, tried;

static void *hold(void *unused) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&tried);
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&tried, NULL, 2);
    pthread_t a = start(hold, NULL);
    pthread_barrier_wait(&held);
    for (int i = 0; i < 10; i++) REQUIRE(pthread_mutex_trylock(&m) == EBUSY);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20 * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    REQUIRE(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
    pthread_barrier_wait(&tried);
    pthread_join(a, NULL);
    REQUIRE(pthread_mutex_trylock(&m) == 0);
    pthread_mutex_unlock(&m);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "try_failed = 10");
    expect("mutex", &m, "timed_out.count = 1");
    expect("mutex", &m, "hold_ns.count = 2");
    expect("mutex", &m, "hold_ns.max >= %lld", 20 * MS);
    return 0;
}
