/* A convoy at two locks, one of which the program makes of futexes: a crowd waits for the middle, which waits for the head,
 * which is to blame for all of that. The argument says which lock the crowd waits for: `mutex` or `futex`. */
#include "truth.h"
#include <linux/futex.h>

enum { ROUNDS = 4, HEAD_MS = 100, CROWD = 3 };

typedef _Atomic int lock; /* 0: free, 1: taken, 2: taken, and others may wait */

static lock own;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_outer_mutex;
static _Atomic int head_has, open_rounds;
static _Atomic pid_t middle, crowd[CROWD];
/* When the head is about to give its lock back, and how long the middle has the other one after that, in all rounds. */
static _Atomic int64_t done_ns, own_ns;

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

#define TAKE(is_mutex) ((is_mutex) ? (void)pthread_mutex_lock(&mutex) : safe_mutex_lock(&own))
#define GIVE_BACK(is_mutex) ((is_mutex) ? (void)pthread_mutex_unlock(&mutex) : safe_mutex_unlock(&own))

NOINLINE static void *hold_head(void *unused) {
    TAKE(!is_outer_mutex);
    head_has = 1;
    await_asleep(&middle);
    open_rounds++;
    for (int i = 0; i < CROWD; i++) await_asleep(&crowd[i]);
    nap_ms(HEAD_MS);
    done_ns = now_ns();
    GIVE_BACK(!is_outer_mutex);
    __asm__ volatile("");
    return unused;
}

NOINLINE static void hold_middle(void) {
    TAKE(is_outer_mutex);
    middle = my_tid();
    TAKE(!is_outer_mutex);
    GIVE_BACK(!is_outer_mutex);
    GIVE_BACK(is_outer_mutex);
    own_ns += now_ns() - done_ns;
}

NOINLINE static void hold_last(int number) {
    TAKE(is_outer_mutex);
    crowd[number] = 0;
    GIVE_BACK(is_outer_mutex);
    __asm__ volatile("");
}

static void *queue(void *number) {
    for (int seen = 0; seen < ROUNDS; seen++) {
        while (open_rounds <= seen) nap_ms(1);
        crowd[(uintptr_t)number] = my_tid();
        hold_last((int)(uintptr_t)number);
    }
    return NULL;
}

int main(int count, char **arguments) {
    is_outer_mutex = count < 2 || strcmp(arguments[1], "mutex") == 0;
    pthread_t threads[CROWD];
    for (uintptr_t i = 0; i < CROWD; i++) threads[i] = start(queue, (void *)i);
    for (int i = 0; i < ROUNDS; i++) {
        head_has = middle = 0;
        pthread_t head = start(hold_head, NULL);
        while (!head_has) nap_ms(1);
        hold_middle();
        pthread_join(head, NULL);
        for (int w = 0; w < CROWD; w++) while (crowd[w] != 0) nap_ms(1);
    }
    for (int i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
    long long waited = (long long)ROUNDS * CROWD * HEAD_MS * MS * 9 / 10;
    expect("futex", &own, "class = contention");
    expect("culprit", &own, "function = hold_head");
    expect("culprit", &own, "total(hold_head) >= %lld", waited);
    expect("culprit", &own, "total(hold_middle) <= %lld", (long long)(CROWD * own_ns + MS));
    if (is_outer_mutex) expect("mutex", &mutex, "held_by.0.passed_on_ns >= %lld", waited);
    else expect("futex", &own, "ended_by.0.passed_on_ns >= %lld", waited);
    return 0;
}
