/* A waiter that is woken but gets no CPU: it is of the idle class and bound to the CPU of a thread that spins. On a busy
 * machine it may get one all the same: then the attempt is made again with another lock. */
#ifndef OFF_CPU_H
#define OFF_CPU_H
#include "truth.h"

enum { ATTEMPTS = 20 };
static pthread_mutex_t locks[ATTEMPTS];
static pthread_mutex_t *m;
static _Atomic pid_t waiter;
static _Atomic int had;
static int cpu;

NOINLINE static void wait_off_cpu(void) {
    pthread_mutex_lock(m);
    had = 1;
    pthread_mutex_unlock(m);
    __asm__ volatile("");
}

static void *off_cpu_body(void *unused) {
    pin(cpu);
    be_last();
    waiter = my_tid();
    wait_off_cpu();
    return unused;
}

/* Runs `release` with `m` held and wanted until it says that the waiter was kept off; `m` is that attempt's lock. */
static void keep_off_cpu(int (*release)(void)) {
    int kept_off = 0;
    cpu = pin(-1);
    for (m = locks; !kept_off; m += !kept_off) {
        REQUIRE(m < locks + ATTEMPTS);
        waiter = 0, had = 0;
        pthread_mutex_lock(m);
        pthread_t thread = start(off_cpu_body, NULL);
        await_asleep(&waiter);
        kept_off = release();
        pthread_join(thread, NULL);
    }
}
#endif
