/* A convoy whose head holds no lock: a crowd waits for a mutex, its holder waits for what another thread does, and that one
 * is to blame. What the holder waits for is the argument: `condition`, `barrier`, `semaphore`, `join`; with `timeout` it is
 * a time that runs out, which is the holder's own. `broadcast`: another thread wakes the holder every millisecond, for
 * nothing; `polled`: the holder looks every 10 ms, until the head wakes it; `reader`: the holder is the reader of a
 * read-write lock, and the crowd are writers. */
#include "truth.h"

enum { ROUNDS = 4, HEAD_MS = 100, CROWD = 3 };
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t of_readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t posted;
static const char *mode;
static _Atomic int open_rounds, has_changed;
static _Atomic pid_t middle, crowd[CROWD];
/* When the head is about to end the wait, and how long its holder has the mutex after that, in all rounds. */
static _Atomic int64_t done_ns, own_ns;

static int is(const char *name) { return strcmp(mode, name) == 0; }
static int is_condition(void) { return is("condition") || is("broadcast") || is("polled") || is("reader"); }
static _Atomic int is_over, wants_quiet, is_quiet;

NOINLINE static void *make_noise(void *unused) {
    while (!is_over) {
        is_quiet = wants_quiet;
        if (is_quiet) {
            nap_ms(1);
            continue;
        }
        pthread_mutex_lock(&inner);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&inner);
        nap_ms(1);
    }
    return unused;
}

/* So that what wakes the holder last is its own. */
NOINLINE static void await_quiet(void) {
    wants_quiet = 1;
    while (!is_quiet) nap_ms(1);
    await_asleep(&middle);
}

/* The crowd comes when the holder is asleep: so the holder's own part is what it does after that alone. */
NOINLINE static void *work_head(void *unused) {
    await_asleep(&middle);
    open_rounds++;
    for (int i = 0; i < CROWD; i++) await_asleep(&crowd[i]);
    nap_ms(HEAD_MS);
    if (is("broadcast")) await_quiet();
    done_ns = now_ns();
    if (is_condition()) {
        pthread_mutex_lock(&inner);
        has_changed = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&inner);
    } else if (is("semaphore")) {
        sem_post(&posted);
    } else if (is("barrier")) {
        pthread_barrier_wait(&meeting);
    }
    __asm__ volatile("");
    return unused;
}

static struct timespec in_ms(int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * MS;
    return (struct timespec){until.tv_sec + until.tv_nsec / 1000000000, until.tv_nsec % 1000000000};
}

NOINLINE static void wait_looking(void) {
    while (!has_changed) {
        struct timespec soon = in_ms(10);
        pthread_cond_timedwait(&changed, &inner, &soon);
    }
    __asm__ volatile("");
}

NOINLINE static void wait_inside(pthread_t head) {
    middle = my_tid();
    if (is_condition() || is("timeout")) {
        struct timespec until = in_ms(5 * HEAD_MS);
        pthread_mutex_lock(&inner);
        if (is("timeout")) while (pthread_cond_timedwait(&changed, &inner, &until) != ETIMEDOUT) {}
        else if (is("polled")) wait_looking();
        else while (!has_changed) pthread_cond_wait(&changed, &inner);
        pthread_mutex_unlock(&inner);
    } else if (is("semaphore")) {
        while (sem_wait(&posted) != 0) {}
    } else if (is("barrier")) {
        pthread_barrier_wait(&meeting);
    } else {
        pthread_join(head, NULL);
    }
    __asm__ volatile("");
}

NOINLINE static void hold_middle(void) {
    if (is("reader")) pthread_rwlock_rdlock(&of_readers);
    else pthread_mutex_lock(&outer);
    pthread_t head = start(work_head, NULL);
    wait_inside(head);
    if (is("reader")) pthread_rwlock_unlock(&of_readers);
    else pthread_mutex_unlock(&outer);
    own_ns += now_ns() - done_ns;
    if (!is("join")) pthread_join(head, NULL);
}

static void *queue(void *number) {
    for (int seen = 0; seen < ROUNDS; seen++) {
        while (open_rounds <= seen) nap_ms(1);
        crowd[(uintptr_t)number] = my_tid();
        if (is("reader")) pthread_rwlock_wrlock(&of_readers);
        else pthread_mutex_lock(&outer);
        crowd[(uintptr_t)number] = 0;
        if (is("reader")) pthread_rwlock_unlock(&of_readers);
        else pthread_mutex_unlock(&outer);
    }
    return NULL;
}

int main(int count, char **arguments) {
    mode = count > 1 ? arguments[1] : "condition";
    REQUIRE(pthread_barrier_init(&meeting, NULL, 2) == 0 && sem_init(&posted, 0, 0) == 0);
    pthread_t threads[CROWD];
    for (uintptr_t i = 0; i < CROWD; i++) threads[i] = start(queue, (void *)i);
    pthread_t noise = 0;
    if (is("broadcast")) noise = start(make_noise, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        has_changed = middle = wants_quiet = 0;
        hold_middle();
        for (int w = 0; w < CROWD; w++) while (crowd[w] != 0) nap_ms(1);
    }
    for (int i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
    is_over = 1;
    if (noise != 0) pthread_join(noise, NULL);
    long long waited = (long long)ROUNDS * CROWD * HEAD_MS * MS * 9 / 10;
    if (is("timeout")) {
        expect("culprit", &outer, "function = hold_middle");
        expect("culprit", &outer, "total(work_head) = null");
        expect("mutex", &outer, "held_by.0.passed_on_ns = 0");
        return 0;
    }
    const char *kind = is("reader") ? "rwlock-write" : "mutex";
    const void *lock = is("reader") ? (void *)&of_readers : (void *)&outer;
    expect("culprit", lock, "function = work_head");
    expect("culprit", lock, "total(work_head) >= %lld", waited);
    expect("culprit", lock, "total(hold_middle) <= %lld", (long long)(CROWD * own_ns + MS));
    expect(kind, lock, "held_by(hold_middle) >= %lld", waited);
    expect(kind, lock, "held_by.0.passed_on_ns >= %lld", waited);
    return 0;
}
