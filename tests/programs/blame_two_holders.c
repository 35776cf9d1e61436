/* Two functions hold a lock while the same thread waits: 70 ms and 30 ms at a time. Their shares are 7 to 3. The thread
 * waits in two places. */
#include "truth.h"

enum { ROUNDS = 3, LONG_MS = 70, SHORT_MS = 30 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, taken;
static _Atomic pid_t waiter;

/* What the program itself saw of the waiting: at least, and at most. */
typedef struct {
    int64_t least, most;
} bounds;
static bounds seven, three;

static void hold_for(int ms, int64_t call, bounds *waited) {
    pthread_barrier_wait(&held);
    await_asleep(&waiter);
    int64_t asleep = now_ns();
    nap_ms(ms);
    waited->least += now_ns() - asleep;
    pthread_mutex_unlock(&m);
    waited->most += now_ns() - call;
}

NOINLINE static void hold_seven(void) {
    int64_t call = now_ns();
    pthread_mutex_lock(&m);
    hold_for(LONG_MS, call, &seven);
    __asm__ volatile("");
}

NOINLINE static void hold_three(void) {
    int64_t call = now_ns();
    pthread_mutex_lock(&m);
    hold_for(SHORT_MS, call, &three);
    __asm__ volatile("");
}

NOINLINE static void want_after_seven(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void want_after_three(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *wait_for_it(void *unused) {
    waiter = my_tid();
    for (int i = 0; i < 2 * ROUNDS; i++) {
        pthread_barrier_wait(&held);
        i % 2 == 0 ? want_after_seven() : want_after_three();
        pthread_barrier_wait(&taken);
    }
    return unused;
}

int main(void) {
    pthread_barrier_init(&held, NULL, 2);
    pthread_barrier_init(&taken, NULL, 2);
    pthread_t thread = start(wait_for_it, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        hold_seven();
        pthread_barrier_wait(&taken);
        hold_three();
        pthread_barrier_wait(&taken);
    }
    pthread_join(thread, NULL);
    expect("mutex", &m, "blocked = %d", 2 * ROUNDS);
    expect("mutex", &m, "held_by(hold_seven) >= %lld", (long long)seven.least);
    expect("mutex", &m, "held_by(hold_seven) <= %lld", (long long)seven.most);
    expect("mutex", &m, "held_by(hold_three) >= %lld", (long long)three.least);
    expect("mutex", &m, "held_by(hold_three) <= %lld", (long long)three.most);
    expect("mutex", &m, "waited_in(want_after_seven) >= %lld", (long long)seven.least);
    expect("mutex", &m, "waited_in(want_after_three) >= %lld", (long long)three.least);
    expect("mutex", &m, "waited_in.0.site.function = want_after_seven");
    expect("mutex", &m, "waited_in.0.waits = %d", ROUNDS);
    expect("mutex", &m, "held_by.0.holds = %d", ROUNDS);
    expect("mutex", &m, "held_by.1.waits = %d", ROUNDS);
    return 0;
}
