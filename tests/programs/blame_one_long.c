/* One thread holds the lock asleep for 20 ms, a few times, while all others wait; these hold it for a few microseconds, all
 * the time. The long holds are to blame for all that was waited while they slept. */
#include "truth.h"

enum { SHORT = 6, HOLDS = 5, HOLD_MS = 20 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[SHORT];
static _Atomic int done, wanting;

NOINLINE static void hold_long(void) {
    pthread_mutex_lock(&m);
    while (wanting < SHORT) nap_ms(1);
    for (int i = 0; i < SHORT; i++) await_asleep(&tids[i]);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void hold_short(void) {
    pthread_mutex_lock(&m);
    wanting--;
    for (volatile int spin = 0; spin < 500; spin++) {}
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *many_short(void *tid) {
    *(_Atomic pid_t *)tid = my_tid();
    while (!done) {
        wanting++;
        hold_short();
        nap_ms(1);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[SHORT];
    for (int i = 0; i < SHORT; i++) threads[i] = start(many_short, &tids[i]);
    for (int i = 0; i < HOLDS; i++) {
        nap_ms(10);
        hold_long();
    }
    done = 1;
    for (int i = 0; i < SHORT; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "held_by.0.site.function = hold_long");
    expect("mutex", &m, "held_by.0.wait_ns >= %lld", SHORT * HOLDS * HOLD_MS * MS);
    expect("mutex", &m, "held_by.0.longest_ns >= %lld", HOLD_MS * MS);
    expect("mutex", &m, "held_by.0.holds = %d", HOLDS);
    expect("mutex", &m, "variable = m");
    expect("culprit", &m, "function = hold_long");
    return 0;
}
