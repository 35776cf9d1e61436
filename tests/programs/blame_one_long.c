/* One thread holds the lock asleep for 20 ms, a few times; six others hold it for a few microseconds, all the time. Of the
 * waiting, what fell into the long holds is theirs: nearly all of it. */
#include "truth.h"

enum { SHORT = 6, HOLDS = 5, HOLD_MS = 20 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int done;

NOINLINE static void hold_long(void) {
    pthread_mutex_lock(&m);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void hold_short(void) {
    pthread_mutex_lock(&m);
    for (volatile int spin = 0; spin < 500; spin++) {}
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *many_short(void *unused) {
    while (!done) {
        hold_short();
        nap_ms(1);
    }
    return unused;
}

int main(void) {
    pthread_t threads[SHORT];
    for (int i = 0; i < SHORT; i++) threads[i] = start(many_short, NULL);
    for (int i = 0; i < HOLDS; i++) {
        nap_ms(10);
        hold_long();
    }
    done = 1;
    for (int i = 0; i < SHORT; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "wait_ns.total >= %lld", HOLDS * HOLD_MS * MS);
    expect("mutex", &m, "held_by.0.site.function = hold_long");
    expect("mutex", &m, "held_by.0.longest_ns >= %lld", HOLD_MS * MS);
    expect("mutex", &m, "held_by.0.holds = %d", HOLDS);
    return 0;
}
