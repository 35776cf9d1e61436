/* Threads queue for a lock while another one, which takes none, computes for longer than that: it set the run's length, and
 * without their holds the run would be as long. The first argument says how the main thread waits for it: first of all,
 * `last`, with a deadline (`timed`), as one of C11's threads (`c11`); or not at all, since it ends the process (`exits`). */
#include "truth.h"
#include <threads.h>

enum { THREADS = 3, HOLDS = 10, HOLD_MS = 4, COMPUTE_MS = 500 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_t threads[THREADS];
static int ends_the_process;

NOINLINE static void contend(void) {
    pthread_mutex_lock(&m);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *contends(void *unused) {
    for (int i = 0; i < HOLDS; i++) contend();
    return unused;
}

static void *computes(void *unused) {
    for (int64_t end = now_ns() + COMPUTE_MS * MS; now_ns() < end;) {}
    if (ends_the_process) exit(0);
    return unused;
}

static int computes_in_c11(void *unused) {
    computes(unused);
    return 7;
}

static void start_the_others(void) {
    for (int i = 0; i < THREADS; i++) threads[i] = start(contends, NULL);
}

static void join_the_others(void) {
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "first";
    expect("culprit", &m, "function = contend");
    if (strcmp(mode, "c11") == 0) {
        thrd_t longest;
        int answer = 0;
        start_the_others();
        REQUIRE(thrd_create(&longest, computes_in_c11, NULL) == thrd_success);
        join_the_others();
        REQUIRE(thrd_join(longest, &answer) == thrd_success && answer == 7);
        return 0;
    }
    ends_the_process = strcmp(mode, "exits") == 0;
    pthread_t longest = start(computes, NULL);
    start_the_others();
    if (ends_the_process) REQUIRE(pthread_detach(longest) == 0);
    if (strcmp(mode, "first") == 0) pthread_join(longest, NULL);
    join_the_others();
    if (strcmp(mode, "last") == 0) pthread_join(longest, NULL);
    if (strcmp(mode, "timed") == 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 60;
        REQUIRE(pthread_clockjoin_np(longest, NULL, CLOCK_MONOTONIC, &until) == 0);
    }
    while (ends_the_process) pause();
    return 0;
}
