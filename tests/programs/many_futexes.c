/* A thread waits for one futex after another, as many as the argument says, more than the kernel's tables have room for.
 * It says how often it was woken. */
#include "truth.h"
#include <linux/futex.h>

enum { APART = 16 };

static _Atomic int *words;
static int count;
static _Atomic int begun, done, woken;

static long futex(_Atomic int *word, int what, int value) { return syscall(SYS_futex, word, what, value, NULL, NULL, 0); }

static void *waits(void *unused) {
    for (int i = 0; i < count; i++) {
        begun++;
        woken += futex(&words[i * APART], FUTEX_WAIT_PRIVATE, 0) == 0;
        done++;
    }
    return unused;
}

int main(int arguments, char **argument) {
    REQUIRE(arguments == 2 && (count = atoi(argument[1])) > 0);
    words = calloc(count, APART * sizeof *words);
    REQUIRE(words != NULL);
    pthread_t waiter = start(waits, NULL);
    for (int i = 0; i < count; i++) {
        while (begun <= i) sched_yield();
        for (int64_t end = now_ns() + 10000; now_ns() < end;) {} /* So that it sleeps. */
        words[i * APART] = 1;
        for (; done <= i; sched_yield()) futex(&words[i * APART], FUTEX_WAKE_PRIVATE, 1);
    }
    pthread_join(waiter, NULL);
    printf("%d\n", woken);
    return 0;
}
