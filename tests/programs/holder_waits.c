/* A thread holds a mutex while it waits for something else, for ROUNDS times; two others wait for the mutex meanwhile. What
 * it waits for is the argument: `condition`, `reader`, `join`, `semaphore`, `barrier`, or `deadline`, a condition that changes
 * without a signal; with `work` it works instead. */
#include "truth.h"

enum { ROUNDS = 6, WAIT_MS = 30, WAITERS = 2 };
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t posted;
static const char *mode;
static _Atomic int round_of, table_held, ready, has_changed;
static _Atomic pid_t waiters[WAITERS];

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void await_waiters(void) {
    for (int i = 0; i < WAITERS; i++) await_asleep(&waiters[i]);
}

static void *ends(void *unused) {
    if (is("reader")) {
        pthread_rwlock_wrlock(&table);
        table_held = 1;
    }
    ready = 1;
    await_waiters();
    nap_ms(WAIT_MS);
    pthread_mutex_lock(&inner);
    has_changed = 1;
    if (!is("deadline")) pthread_cond_signal(&changed);
    pthread_mutex_unlock(&inner);
    sem_post(&posted);
    if (is("reader")) pthread_rwlock_unlock(&table);
    if (is("barrier")) pthread_barrier_wait(&meeting);
    return unused;
}

static void spin(int64_t ns) {
    for (int64_t from = now_ns(); now_ns() - from < ns;) {}
}

NOINLINE static void wait_inside(pthread_t other) {
    if (is("condition")) {
        pthread_mutex_lock(&inner);
        while (!has_changed) pthread_cond_wait(&changed, &inner);
        pthread_mutex_unlock(&inner);
    } else if (is("deadline")) {
        pthread_mutex_lock(&inner);
        while (!has_changed) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            const int64_t ns = until.tv_nsec + WAIT_MS * MS / 4;
            until.tv_sec += ns / 1000000000;
            until.tv_nsec = ns % 1000000000;
            pthread_cond_timedwait(&changed, &inner, &until);
        }
        pthread_mutex_unlock(&inner);
    } else if (is("reader")) {
        pthread_rwlock_rdlock(&table);
        pthread_rwlock_unlock(&table);
    } else if (is("join")) {
        pthread_join(other, NULL);
    } else if (is("semaphore")) {
        while (sem_wait(&posted) != 0) {}
    } else if (is("barrier")) {
        pthread_barrier_wait(&meeting);
    } else {
        spin(WAIT_MS * MS);
    }
    __asm__ volatile("");
}

NOINLINE static void hold_outer(void) {
    pthread_mutex_lock(&outer);
    pthread_t other = start(ends, NULL);
    round_of++;
    while (!ready) nap_ms(1);
    if (is("work")) await_waiters();
    wait_inside(other);
    pthread_mutex_unlock(&outer);
    if (!is("join")) pthread_join(other, NULL);
}

static void *wants(void *number) {
    for (int seen = 0; seen < ROUNDS; seen++) {
        while (round_of <= seen) nap_ms(1);
        waiters[(uintptr_t)number] = my_tid();
        pthread_mutex_lock(&outer);
        waiters[(uintptr_t)number] = 0;
        pthread_mutex_unlock(&outer);
    }
    return NULL;
}

int main(int count, char **arguments) {
    mode = count > 1 ? arguments[1] : "condition";
    REQUIRE(pthread_barrier_init(&meeting, NULL, 2) == 0 && sem_init(&posted, 0, 0) == 0);
    pthread_t threads[WAITERS];
    for (uintptr_t i = 0; i < WAITERS; i++) threads[i] = start(wants, (void *)i);
    for (int i = 0; i < ROUNDS; i++) {
        has_changed = ready = table_held = 0;
        while (sem_trywait(&posted) == 0) {}
        hold_outer();
        for (int w = 0; w < WAITERS; w++) while (waiters[w] != 0) nap_ms(1);
    }
    for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
    long long waited = (long long)ROUNDS * WAITERS * WAIT_MS * MS;
    expect("mutex", &outer, "holders_waited.wait_ns >= %lld", waited);
    if (is("work")) {
        expect("mutex", &outer, "holders_waited.waited_ns = 0");
    } else {
        expect("mutex", &outer, "holders_waited.waited_ns >= %lld", waited);
        expect("mutex", &outer, "holders_waited.on.0.wait_ns >= %lld", waited);
        if (is("join")) expect("mutex", &outer, "holders_waited.on.0.lock = null");
        else expect("mutex", &outer, "holders_waited.on.0.site.function = wait_inside");
    }
    return 0;
}
