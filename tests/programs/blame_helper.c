/* Two functions take a lock through with_lock, and meet through sync_all: compact holds the lock for long, and come_late
 * comes last. With an argument, the report is to pass over the helpers. */
#include "truth.h"

enum { ROUNDS = 5, LONG_MS = 30 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static _Atomic int held;
static _Atomic pid_t waiter, early;

NOINLINE static void with_lock(void (*body)(void)) {
    REQUIRE(pthread_mutex_lock(&m) == 0);
    body();
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void sync_all(void) {
    pthread_barrier_wait(&barrier);
    __asm__ volatile("");
}

static void long_work(void) {
    held++;
    await_asleep(&waiter);
    nap_ms(LONG_MS);
    waiter = 0;
}

static void no_work(void) {}

NOINLINE static void compact(void) {
    with_lock(long_work);
    __asm__ volatile("");
}

NOINLINE static void insert(void) {
    with_lock(no_work);
    __asm__ volatile("");
}

NOINLINE static void come_early(void) {
    sync_all();
    __asm__ volatile("");
}

NOINLINE static void come_late(void) {
    sync_all();
    __asm__ volatile("");
}

static void *inserts(void *unused) {
    for (int round = 1; round <= ROUNDS; round++) {
        while (held < round) nap_ms(1);
        waiter = my_tid();
        insert();
        early = my_tid();
        come_early();
    }
    return unused;
}

int main(int count, char **arguments) {
    (void)arguments;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread = start(inserts, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        compact();
        await_asleep(&early);
        nap_ms(LONG_MS);
        early = 0;
        come_late();
    }
    pthread_join(thread, NULL);
    int is_skipped = count > 1;
    const char *holder = is_skipped ? "compact" : "with_lock", *last = is_skipped ? "come_late" : "sync_all";
    char held_by[64], ended_by[64];
    snprintf(held_by, sizeof held_by, "held_by(%s) >= %lld", holder, ROUNDS * LONG_MS * MS);
    snprintf(ended_by, sizeof ended_by, "ended_by(%s) >= %lld", last, ROUNDS * LONG_MS * MS);
    expect("mutex", &m, "%s", held_by);
    expect("barrier", &barrier, "%s", ended_by);
    return 0;
}
