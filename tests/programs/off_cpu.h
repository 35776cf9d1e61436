/* A waiter that is kept from running: a signal takes it out of its wait into a handler, which it leaves when told. To the
 * lock it is a thread that wants it and gets no CPU, whatever else the machine does. */
#ifndef OFF_CPU_H
#define OFF_CPU_H
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static _Atomic int kept, let_go;

static void stay(int signal) {
    (void)signal;
    kept = 1;
    while (!let_go) nap_ms(1);
}

NOINLINE static void wait_off_cpu(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *off_cpu_body(void *unused) {
    waiter = my_tid();
    wait_off_cpu();
    return unused;
}

/* Calls `release` with `m` held and wanted by a waiter that does not run until `release` returns. */
static void keep_off_cpu(void (*release)(void)) {
    struct sigaction action = {.sa_handler = stay};
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_mutex_lock(&m);
    pthread_t thread = start(off_cpu_body, NULL);
    await_asleep(&waiter);
    REQUIRE(pthread_kill(thread, SIGUSR1) == 0);
    while (!kept) nap_ms(1);
    release();
    let_go = 1;
    pthread_join(thread, NULL);
}
#endif
