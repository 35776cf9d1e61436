/* A convoy at locks that the program makes of futexes, as Rust's and many others are: the last ones wait for the middle,
 * which waits for the head, which is to blame for both waits while it has its lock. Of the middle's, only what it does
 * after that is its own. Two threads are the head and the middle in turns. */
#include "truth.h"
#include <linux/futex.h>

enum { ROUNDS = 6, HEAD_MS = 30, MIDDLE_MS = 5, CROWD = 4 };

typedef _Atomic int lock; /* 0: free, 1: taken, 2: taken, and others may wait */

static lock first, second;
static _Atomic int first_held, second_held, in_crowd;
static _Atomic pid_t middle, crowd[CROWD];
static pthread_barrier_t round_begins, round_ends;

#define INLINE static inline __attribute__((always_inline))

/* Functions of such names are a mutex's, and not the code to open. */
INLINE void safe_mutex_lock(lock *of) {
    int free = 0;
    if (atomic_compare_exchange_strong(of, &free, 1)) return;
    while (atomic_exchange(of, 2) != 0) syscall(SYS_futex, of, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

INLINE void safe_mutex_unlock(lock *of) {
    if (atomic_exchange(of, 0) == 2) syscall(SYS_futex, of, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

NOINLINE static void hold_head(void) {
    safe_mutex_lock(&first);
    first_held = 1;
    await_asleep(&middle);
    for (int i = 0; i < CROWD; i++) await_asleep(&crowd[i]);
    nap_ms(HEAD_MS);
    safe_mutex_unlock(&first);
    __asm__ volatile("");
}

NOINLINE static void hold_middle(void) {
    safe_mutex_lock(&second);
    second_held = 1;
    middle = my_tid();
    safe_mutex_lock(&first);
    safe_mutex_unlock(&first);
    nap_ms(MIDDLE_MS);
    safe_mutex_unlock(&second);
    __asm__ volatile("");
}

NOINLINE static void hold_last(void) {
    safe_mutex_lock(&second);
    safe_mutex_unlock(&second);
    __asm__ volatile("");
}

static void *take_turns(void *number) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        if ((i + (int)(intptr_t)number) % 2 == 0) {
            hold_head();
        } else {
            while (!first_held) nap_ms(1);
            hold_middle();
        }
        pthread_barrier_wait(&round_ends);
        if (number == NULL) first_held = second_held = middle = in_crowd = 0;
        for (int j = 0; number == NULL && j < CROWD; j++) crowd[j] = 0;
    }
    return NULL;
}

static void *queue(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        while (!second_held) nap_ms(1);
        crowd[in_crowd++] = my_tid();
        hold_last();
        pthread_barrier_wait(&round_ends);
    }
    return unused;
}

int main(void) {
    pthread_barrier_init(&round_begins, NULL, 2 + CROWD);
    pthread_barrier_init(&round_ends, NULL, 2 + CROWD);
    pthread_t threads[2 + CROWD] = {start(take_turns, NULL), start(take_turns, (void *)1)};
    for (int i = 0; i < CROWD; i++) threads[2 + i] = start(queue, NULL);
    for (int i = 0; i < 2 + CROWD; i++) pthread_join(threads[i], NULL);
    expect("futex", &first, "class = contention");
    expect("futex", &second, "class = contention");
    expect("culprit", &first, "function = hold_head");
    /* For its own lock's waiter, and for those of the middle's. */
    expect("culprit", &first, "total(hold_head) >= %lld", ROUNDS * (1 + CROWD) * HEAD_MS * MS * 9 / 10);
    expect("culprit", &second, "total(hold_middle) >= %lld", ROUNDS * CROWD * MIDDLE_MS * MS * 9 / 10);
    expect("futex", &second, "ended_by.0.passed_on_ns >= %lld", ROUNDS * CROWD * HEAD_MS * MS * 9 / 10);
    return 0;
}
