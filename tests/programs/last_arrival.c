/* Two threads wait for a third, which is late ROUNDS times: at a barrier, or at a futex that it wakes (as std::barrier and
 * C++'s waits for atomics do). The argument is `barrier` or `futex`. */
#include "truth.h"
#include <linux/futex.h>

enum { ROUNDS = 5, LATE_MS = 30, EARLY = 2 };
static pthread_barrier_t barrier;
static int is_futex;
static _Atomic uint32_t phase;
static _Atomic int left;
static _Atomic pid_t early[EARLY];

NOINLINE static void come_early(uint32_t round) {
    if (is_futex) {
        while (phase == round) syscall(SYS_futex, &phase, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
    } else {
        pthread_barrier_wait(&barrier);
    }
    __asm__ volatile("");
}

NOINLINE static void come_late(void) {
    if (is_futex) {
        phase++;
        syscall(SYS_futex, &phase, FUTEX_WAKE_PRIVATE, EARLY, NULL, NULL, 0);
    } else {
        pthread_barrier_wait(&barrier);
    }
    __asm__ volatile("");
}

static void *waits(void *number) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        early[(uintptr_t)number] = my_tid();
        come_early(round);
        left++;
        while (left < (int)(round + 1) * EARLY) nap_ms(1);
    }
    return NULL;
}

int main(int count, char **arguments) {
    is_futex = count > 1 && strcmp(arguments[1], "futex") == 0;
    pthread_barrier_init(&barrier, NULL, EARLY + 1);
    pthread_t threads[EARLY];
    for (uintptr_t i = 0; i < EARLY; i++) threads[i] = start(waits, (void *)i);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EARLY; i++) await_asleep(&early[i]);
        nap_ms(LATE_MS);
        for (int i = 0; i < EARLY; i++) early[i] = 0;
        come_late();
        while (left < (round + 1) * EARLY) nap_ms(1);
    }
    for (int i = 0; i < EARLY; i++) pthread_join(threads[i], NULL);
    const char *kind = is_futex ? "futex" : "barrier";
    const volatile void *object = is_futex ? (const volatile void *)&phase : &barrier;
    expect(kind, object, "ended_by(come_late) >= %lld", (long long)ROUNDS * EARLY * LATE_MS * MS);
    return 0;
}
