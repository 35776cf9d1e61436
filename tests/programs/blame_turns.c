/* Two threads saturate a lock: while one holds it, the other waits for it. Both are named, and it is contention, although
 * every acquisition is a change of owner. */
#include "truth.h"

enum { HOLDS = 20, HOLD_MS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[2];
static _Atomic int holder = -1;

/* Until the other thread holds the lock: only then is it wanted again. */
static void await_other(int mine) {
    while (holder == mine) sched_yield();
}

NOINLINE static void hold_left(void) {
    pthread_mutex_lock(&m);
    holder = 0;
    await_asleep(&tids[1]);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void hold_right(int last) {
    pthread_mutex_lock(&m);
    holder = 1;
    if (!last) await_asleep(&tids[0]);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *left(void *unused) {
    tids[0] = my_tid();
    for (int i = 0; i < HOLDS; i++) {
        hold_left();
        await_other(0);
    }
    return unused;
}

static void *right(void *unused) {
    tids[1] = my_tid();
    while (holder != 0) sched_yield();
    for (int i = 0; i < HOLDS; i++) {
        hold_right(i + 1 == HOLDS);
        if (i + 1 < HOLDS) await_other(1);
    }
    return unused;
}

int main(void) {
    pthread_t a = start(left, NULL), b = start(right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    expect("mutex", &m, "blocked = %d", 2 * HOLDS - 1);
    expect("mutex", &m, "owner_changes = %d", 2 * HOLDS - 1);
    expect("mutex", &m, "class = contention");
    expect("mutex", &m, "held_by(hold_left) >= %lld", HOLDS * HOLD_MS * MS);
    expect("mutex", &m, "held_by(hold_right) >= %lld", (HOLDS - 1) * HOLD_MS * MS);
    return 0;
}
