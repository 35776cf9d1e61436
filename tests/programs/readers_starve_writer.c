/* Two readers overlap while a writer waits for both; a third reads after it. */
#include "truth.h"

static pthread_rwlock_t rw;
static _Atomic pid_t writer;

static _Atomic int reading;

static void *read_in_turns(void *unused) {
    pthread_rwlock_rdlock(&rw);
    reading++;
    nap_ms(50);
    pthread_rwlock_unlock(&rw);
    return unused;
}

NOINLINE static void write_at_last(void) {
    pthread_rwlock_wrlock(&rw);
    nap_ms(10);
    pthread_rwlock_unlock(&rw);
    __asm__ volatile("");
}

static void *write_once(void *unused) {
    writer = my_tid();
    write_at_last();
    return unused;
}

int main(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_READER_NP);
    pthread_rwlock_init(&rw, &attributes);
    pthread_rwlock_rdlock(&rw);
    pthread_t w = start(write_once, NULL);
    await_asleep(&writer);
    pthread_t readers[2] = {start(read_in_turns, NULL), 0};
    while (reading < 1) nap_ms(1);
    nap_ms(30);
    pthread_rwlock_unlock(&rw);
    pthread_join(readers[0], NULL);
    readers[1] = start(read_in_turns, NULL);
    pthread_join(readers[1], NULL);
    pthread_join(w, NULL);
    REQUIRE(pthread_rwlock_trywrlock(&rw) == 0);
    pthread_rwlock_unlock(&rw);
    expect("rwlock-read", &rw, "acquisitions = 3");
    expect("rwlock-read", &rw, "hold_ns.count = 3");
    expect("rwlock-read", &rw, "hold_ns.total >= %lld", (30 + 50 + 50) * MS);
    expect("rwlock-write", &rw, "acquisitions = 2");
    expect("rwlock-write", &rw, "blocked = 1");
    expect("rwlock-write", &rw, "wait_ns.max >= %lld", 50 * MS);
    expect("rwlock-write", &rw, "hold_ns.max >= %lld", 10 * MS);
    expect("rwlock-write", &rw, "worst_wait.waiter ~ write_at_last");
    return 0;
}
