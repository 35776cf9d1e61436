/* Read-write locks both ways: a long writer among short ones keeps readers out, a long reader among short ones keeps a
 * writer out. The short ones are innocent. */
#include "truth.h"

enum { ROUNDS = 3, LONG_MS = 30, SHORT_US = 100, SHORT_READS = 200 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic pid_t waiter;
static _Atomic int holding, short_reads;

static void nap_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

NOINLINE static void write_for_long(void) {
    pthread_rwlock_wrlock(&lock);
    holding = 1;
    await_asleep(&waiter);
    nap_ms(LONG_MS);
    holding = 0;
    pthread_rwlock_unlock(&lock);
    __asm__ volatile("");
}

NOINLINE static void read_for_long(void) {
    pthread_rwlock_rdlock(&lock);
    holding = 1;
    await_asleep(&waiter);
    nap_ms(LONG_MS);
    while (short_reads < SHORT_READS) nap_us(SHORT_US);
    holding = 0;
    pthread_rwlock_unlock(&lock);
    __asm__ volatile("");
}

/* Inside the long reader's hold, while a writer waits, and more often than holds are noted one by one. */
NOINLINE static void read_shortly(void) {
    pthread_rwlock_rdlock(&lock);
    nap_us(SHORT_US / 10);
    pthread_rwlock_unlock(&lock);
    __asm__ volatile("");
}

static void *short_reader(void *unused) {
    await_asleep(&waiter);
    while (short_reads < SHORT_READS) read_shortly(), short_reads++;
    return unused;
}

static void *want_to_read(void *unused) {
    waiter = my_tid();
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *want_to_write(void *unused) {
    waiter = my_tid();
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *hold(void *body) {
    ((void (*)(void))body)();
    return NULL;
}

/* A holder, then a waiter. */
static void meet(void (*holder)(void), void *(*wants)(void *), int readers) {
    waiter = 0, short_reads = 0;
    pthread_t long_one = start(hold, (void *)holder);
    while (!holding) nap_us(SHORT_US);
    pthread_t other = readers ? start(short_reader, NULL) : 0;
    pthread_t last = start(wants, NULL);
    pthread_join(long_one, NULL);
    pthread_join(last, NULL);
    if (readers) pthread_join(other, NULL);
}

int main(void) {
    for (int i = 0; i < ROUNDS; i++) {
        meet(write_for_long, want_to_read, 0);
        meet(read_for_long, want_to_write, 1);
    }
    expect("rwlock-read", &lock, "held_by(write_for_long) >= %lld", ROUNDS * LONG_MS * MS * 9 / 10);
    expect("rwlock-write", &lock, "held_by(read_for_long) >= %lld", ROUNDS * LONG_MS * MS * 9 / 10);
    expect("rwlock-write", &lock, "held_by(read_shortly) <= %lld", ROUNDS * LONG_MS * MS / 10);
    return 0;
}
