/* Futex calls for the benchmark of attaching: for each line of input a block of them, whose CPU and wall time it prints, in
   nanoseconds. `s`: two threads in turns, which sleep and wake each other. `r`: calls that return at once. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t turn[2], word;
static int rounds;

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void call(uint32_t *at, int operation, uint32_t value) {
    syscall(SYS_futex, at, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void *in_turns(void *first) {
    int me = first != NULL;
    for (int i = 0; i < rounds; i++) {
        while (!__atomic_load_n(&turn[me], __ATOMIC_SEQ_CST)) call(&turn[me], FUTEX_WAIT, 0);
        __atomic_store_n(&turn[me], 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&turn[!me], 1, __ATOMIC_SEQ_CST);
        call(&turn[!me], FUTEX_WAKE, 1);
    }
    return NULL;
}

static void sleep_and_wake(void) {
    pthread_t threads[2];
    turn[0] = 1;
    turn[1] = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, in_turns, i ? &word : NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void return_at_once(void) {
    for (int i = 0; i < 2 * rounds; i++) {
        call(&word, FUTEX_WAKE, 1);
        call(&word, FUTEX_WAIT, 1);
    }
}

int main(int count, char **arguments) {
    char line[8];
    rounds = count > 1 ? atoi(arguments[1]) / 4 : 0;
    while (fgets(line, sizeof line, stdin)) {
        long cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
        if (line[0] == 's') sleep_and_wake(); else return_at_once();
        printf("%ld %ld\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - wall);
        fflush(stdout);
    }
    return 0;
}
