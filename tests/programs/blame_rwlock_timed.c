/* A writer whose time runs out among readers: the one that came last has left, and who ends last is to blame. Then a
 * reader that a writer keeps out: when that one gives up, the reader is let in beside the long one. */
#include "truth.h"

enum { ROUNDS = 3, TIMEOUT_MS = 30, LONG_MS = 40 };
static pthread_rwlock_t lock;
static _Atomic pid_t writer;
static _Atomic int holding, gave_up, done;
/* What the calls themselves took. */
static _Atomic long long writing_ns, reading_ns;

NOINLINE static void read_for_long(void) {
    pthread_rwlock_rdlock(&lock);
    holding = 1;
    while (!done) nap_ms(1);
    nap_ms(LONG_MS - TIMEOUT_MS);
    pthread_rwlock_unlock(&lock);
    __asm__ volatile("");
}

/* Comes last, and leaves while the other one stays. */
NOINLINE static void read_shortly(void) {
    pthread_rwlock_rdlock(&lock);
    await_asleep(&writer);
    pthread_rwlock_unlock(&lock);
    __asm__ volatile("");
}

static void *long_reader(void *unused) {
    read_for_long();
    return unused;
}

static void *short_reader(void *unused) {
    read_shortly();
    return unused;
}

static void *give_up(void *unused) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += TIMEOUT_MS * MS;
    end.tv_sec += end.tv_nsec / 1000000000, end.tv_nsec %= 1000000000;
    writer = my_tid();
    const int64_t called = now_ns();
    REQUIRE(pthread_rwlock_timedwrlock(&lock, &end) == ETIMEDOUT);
    writing_ns += now_ns() - called;
    gave_up = 1;
    while (!done) nap_ms(1);
    return unused;
}

static void *read_late(void *unused) {
    await_asleep(&writer);
    const int64_t called = now_ns();
    pthread_rwlock_rdlock(&lock);
    reading_ns += now_ns() - called;
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void meet(void *(*third)(void *), int is_after) {
    writer = 0, holding = 0, gave_up = 0, done = 0;
    pthread_t first = start(long_reader, NULL), other = 0;
    while (!holding) nap_ms(1);
    if (!is_after) other = start(third, NULL), nap_ms(1);
    pthread_t last = start(give_up, NULL);
    if (is_after) other = start(third, NULL);
    while (!gave_up) nap_ms(1);
    pthread_join(other, NULL);
    done = 1;
    pthread_join(first, NULL);
    pthread_join(last, NULL);
}

int main(void) {
    pthread_rwlockattr_t fair;
    pthread_rwlockattr_init(&fair);
    pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &fair);
    for (int i = 0; i < ROUNDS; i++) {
        meet(short_reader, 0);
        meet(read_late, 1);
    }
    /* A reader that runs late finds the writer gone, and waits for nothing. */
    expect("rwlock-write", &lock, "held_by(read_for_long) >= %lld", writing_ns * 9 / 10 - ROUNDS * MS);
    expect("rwlock-write", &lock, "held_by(read_shortly) <= %lld", ROUNDS * MS);
    expect("rwlock-read", &lock, "held_by(read_for_long) >= %lld", reading_ns * 9 / 10 - ROUNDS * MS);
    return 0;
}
