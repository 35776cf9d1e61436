/* A wait whose time runs out is a wait, whatever it was for: it is counted, timed and said to have timed out. */
#include "truth.h"

/* A thread may be kept off its CPU between the reading of the clock and the call: half of a limit is sure to be waited. */
enum { WAITS = 2, LIMIT_MS = 50 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, clocked = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static _Atomic uint32_t word;
static pthread_barrier_t held, waited;

static struct timespec later(clockid_t clock) {
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_nsec += LIMIT_MS * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    return until;
}

static void *hold(void *unused) {
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&clocked);
    pthread_rwlock_wrlock(&lock);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&waited);
    pthread_rwlock_unlock(&lock);
    pthread_mutex_unlock(&clocked);
    pthread_mutex_unlock(&m);
    return unused;
}

static void expect_lost(const char *kind, const volatile void *address) {
    expect(kind, address, "blocked = %d", WAITS);
    expect(kind, address, "wait_ns.count = %d", WAITS);
    expect(kind, address, "wait_ns.total >= %lld", WAITS * LIMIT_MS / 2 * MS);
    expect(kind, address, "timed_out.count = %d", WAITS);
    expect(kind, address, "timed_out.total >= %lld", WAITS * LIMIT_MS / 2 * MS);
    expect(kind, address, "timed_out.max >= %lld", LIMIT_MS / 2 * MS);
    expect(kind, address, "try_failed = 0");
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&waited, NULL, 2);
    sem_init(&semaphore, 0, 0);
    pthread_t holder = start(hold, NULL);
    pthread_barrier_wait(&held);
    for (int i = 0; i < WAITS; i++) {
        struct timespec until = later(CLOCK_REALTIME);
        REQUIRE(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
        until = later(CLOCK_MONOTONIC);
        REQUIRE(pthread_mutex_clocklock(&clocked, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
        until = later(CLOCK_REALTIME);
        REQUIRE(pthread_rwlock_timedrdlock(&lock, &until) == ETIMEDOUT);
        until = later(CLOCK_REALTIME);
        REQUIRE(pthread_rwlock_timedwrlock(&lock, &until) == ETIMEDOUT);
        until = later(CLOCK_REALTIME);
        REQUIRE(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
        pthread_mutex_lock(&of_condition);
        until = later(CLOCK_REALTIME);
        REQUIRE(pthread_cond_timedwait(&condition, &of_condition, &until) == ETIMEDOUT);
        pthread_mutex_unlock(&of_condition);
        struct timespec limit = {0, LIMIT_MS * MS};
        REQUIRE(syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &limit) == -1 && errno == ETIMEDOUT);
    }
    pthread_barrier_wait(&waited);
    pthread_join(holder, NULL);
    expect_lost("mutex", &m);
    expect_lost("mutex", &clocked);
    expect_lost("rwlock-read", &lock);
    expect_lost("rwlock-write", &lock);
    expect_lost("semaphore", &semaphore);
    expect_lost("condition", &condition);
    expect_lost("futex", &word);
    expect("mutex", &m, "acquisitions = 1");
    expect("semaphore", &semaphore, "acquisitions = 0");
    expect("condition", &condition, "acquisitions = %d", WAITS);
    expect("mutex", &of_condition, "blocked = 0");
    return 0;
}
