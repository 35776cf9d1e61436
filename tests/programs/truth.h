/* What the ground-truth programs share: they say on stdout what must be true of their locks, a line each,
 *
 *     expect PID KIND ADDRESS FIELD OP VALUE
 *
 * and crates/cli/tests/ground_truth.rs holds the report against every line. FIELD is a path in the JSON of a lock
 * (`wait_ns.max`), OP one of = >= <= ~ (~: a stack has a frame of that function). Times come from construction: a lower
 * bound is a sleep or a spin, which can only get longer. Without an ADDRESS (NULL), `acquisitions+dropped` is of all locks
 * of the kind. `held_by(f)` is the waiting that the holds of f caused; KIND
 * `culprit` is the first of all, whatever the address. */
#ifndef TRUTH_H
#define TRUTH_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
#define NOINLINE __attribute__((noinline, noclone))

/* The program itself misbehaved: no statement about the observer. */
#define REQUIRE(what)                                                            \
    do {                                                                         \
        if (!(what)) {                                                           \
            fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #what);    \
            _exit(99);                                                           \
        }                                                                        \
    } while (0)

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void nap_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * MS}, left;
    while (nanosleep(&t, &left) != 0) t = left;
}

static inline void expect(const char *kind, const volatile void *address, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("expect %d %s %p ", getpid(), kind, (const void *)address);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
}

/* Cancels a thread, and joins it. */
static inline void cancel(pthread_t thread) {
    void *result;
    REQUIRE(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

static inline pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

static inline pid_t my_tid(void) { return (pid_t)syscall(SYS_gettid); }

/* Waits until the thread of this file of the kernel's is in `state`. */
static inline void await_state(const char *path, char state) {
    char text[512];
    for (int asleep = 0; asleep < 3;) {
        FILE *file = fopen(path, "r");
        REQUIRE(file != NULL);
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = 0;
        char *end = strrchr(text, ')');
        REQUIRE(end != NULL);
        asleep = end[2] == state ? asleep + 1 : 0;
        nap_ms(1);
    }
}

/* Waits until thread `tid` of this process sleeps in the kernel. */
static inline void await_asleep(const _Atomic pid_t *tid) {
    char path[64];
    while (*tid == 0) nap_ms(1);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)*tid);
    await_state(path, 'S');
}

/* Waits until process `pid`, which has one thread, is in `state`: S sleeps, T is stopped. */
static inline void await_process(const _Atomic pid_t *pid, char state) {
    char path[64];
    while (*pid == 0) nap_ms(1);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)*pid);
    await_state(path, state);
}
#endif
