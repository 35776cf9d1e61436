/* Waits that run out during one hold: each was for that hold. One more waits for it to the end, with `alone` none.
 *
 * `reader`: a writer's waits run out while a reader holds the lock. No other thread has read. */
#include "truth.h"

enum { WAITS = 3, LIMIT_MS = 30 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static _Atomic int gave_up;
static _Atomic pid_t last;
static int alone;

NOINLINE static void hold_long(void) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&held);
    while (!gave_up) nap_ms(1);
    if (!alone) await_asleep(&last);
    nap_ms(LIMIT_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;

static struct timespec soon(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LIMIT_MS * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    return until;
}

NOINLINE static void read_long(void) {
    pthread_rwlock_rdlock(&shared);
    pthread_barrier_wait(&held);
    while (!gave_up) nap_ms(1);
    pthread_rwlock_unlock(&shared);
    __asm__ volatile("");
}

static void *reads(void *unused) {
    read_long();
    return unused;
}

static int behind_a_reader(void) {
    pthread_t reader = start(reads, NULL);
    pthread_barrier_wait(&held);
    int64_t began = now_ns();
    for (int i = 0; i < WAITS; i++) {
        struct timespec until = soon();
        REQUIRE(pthread_rwlock_timedwrlock(&shared, &until) == ETIMEDOUT);
    }
    int64_t held = now_ns() - began;
    gave_up = 1;
    pthread_join(reader, NULL);
    expect("rwlock-write", &shared, "timed_out.count = %d", WAITS);
    expect("rwlock-write", &shared, "held_by.0.holds = 1");
    expect("rwlock-write", &shared, "held_by.0.longest_ns >= %lld", (long long)held);
    expect("rwlock-write", &shared, "held_by.0.site.function = read_long");
    expect("rwlock-write", &shared, "held_by.0.wait_ns >= %lld", LIMIT_MS / 2 * MS);
    return 0;
}

static void *hold(void *unused) {
    hold_long();
    return unused;
}

static void *stay(void *unused) {
    last = my_tid();
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return unused;
}

int main(int count, char **arguments) {
    pthread_barrier_init(&held, NULL, 2);
    if (count > 1 && strcmp(arguments[1], "reader") == 0) return behind_a_reader();
    alone = count > 1;
    pthread_t holder = start(hold, NULL);
    pthread_barrier_wait(&held);
    int64_t began = now_ns();
    for (int i = 0; i < WAITS; i++) {
        struct timespec until = soon();
        REQUIRE(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
    }
    int64_t held_ns = now_ns() - began + LIMIT_MS * MS;
    gave_up = 1;
    pthread_t other = alone ? 0 : start(stay, NULL);
    pthread_join(holder, NULL);
    if (!alone) pthread_join(other, NULL);
    expect("mutex", &m, "timed_out.count = %d", WAITS);
    expect("mutex", &m, "held_by.0.site.function = hold_long");
    /* A limit may be half over before the call (see timed_out.c); the last wait is for longer than one. */
    int64_t waited = (WAITS * LIMIT_MS / 2 + !alone * LIMIT_MS) * MS;
    expect("mutex", &m, "held_by.0.wait_ns >= %lld", (long long)waited);
    expect("mutex", &m, "held_by.0.waits = %d", WAITS + !alone);
    expect("mutex", &m, "held_by.0.holds = 1");
    expect("mutex", &m, "held_by.0.longest_ns >= %lld", (long long)held_ns);
    expect("mutex", &m, "hold_ns.max >= %lld", (long long)held_ns);
    return 0;
}
