/* A convoy: the last waits for the middle, which waits for the head. The head is to blame for both waits, while it holds; the
 * middle's own hold is what it does after that.
 *
 * `long`: a crowd waits for the middle, which waits for another one that waits for the head.
 * `write`, `read`: the middle holds a read-write lock for which the last one waits, on the other side. */
#include "truth.h"

enum { HEAD_MS = 60, MIDDLE_MS = 10, CROWD = 6 };
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
                       third = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t middle, last, crowd[CROWD];
static _Atomic int first_held, second_held, third_held, in_crowd;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static int is_long, writes, reads;

#define INLINE static inline __attribute__((always_inline))

INLINE void take_second(int is_middle) {
    if (writes || reads) {
        (is_middle ? writes : reads) ? pthread_rwlock_wrlock(&shared) : pthread_rwlock_rdlock(&shared);
    } else {
        pthread_mutex_lock(&second);
    }
}

INLINE void leave_second(void) {
    writes || reads ? pthread_rwlock_unlock(&shared) : pthread_mutex_unlock(&second);
}

NOINLINE static void hold_head(void) {
    pthread_mutex_lock(&first);
    first_held = 1;
    await_asleep(&middle);
    await_asleep(&last);
    for (int i = 0; is_long && i < CROWD; i++) await_asleep(&crowd[i]);
    nap_ms(HEAD_MS);
    pthread_mutex_unlock(&first);
    __asm__ volatile("");
}

NOINLINE static void hold_middle(void) {
    take_second(1);
    second_held = 1;
    middle = my_tid();
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    nap_ms(MIDDLE_MS);
    leave_second();
    __asm__ volatile("");
}

NOINLINE static void hold_another(void) {
    pthread_mutex_lock(&third);
    third_held = 1;
    last = my_tid();
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    nap_ms(MIDDLE_MS);
    pthread_mutex_unlock(&third);
    __asm__ volatile("");
}

static void *head(void *unused) {
    hold_head();
    return unused;
}

static void *follow(void *unused) {
    while (!first_held) nap_ms(1);
    hold_middle();
    return unused;
}

static void *end(void *unused) {
    while (!second_held) nap_ms(1);
    if (is_long) {
        hold_another();
        return unused;
    }
    last = my_tid();
    take_second(0);
    leave_second();
    return unused;
}

static void *waits(void *unused) {
    while (!third_held) nap_ms(1);
    crowd[in_crowd++] = my_tid();
    pthread_mutex_lock(&third);
    pthread_mutex_unlock(&third);
    return unused;
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    is_long = strcmp(mode, "long") == 0, writes = strcmp(mode, "write") == 0, reads = strcmp(mode, "read") == 0;
    pthread_t threads[3 + CROWD] = {start(head, NULL), start(follow, NULL), start(end, NULL)};
    int started = 3;
    while (is_long && started < 3 + CROWD) threads[started++] = start(waits, NULL);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (is_long) {
        expect("mutex", &third, "held_by(hold_another) >= %lld", CROWD * HEAD_MS * MS);
        expect("culprit", &first, "total(hold_head) >= %lld", (CROWD + 2) * HEAD_MS * MS);
        expect("culprit", &second, "total(hold_middle) <= %lld", CROWD * HEAD_MS * MS);
    }
    expect("mutex", &first, "held_by(hold_head) >= %lld", HEAD_MS * MS);
    const char *kind = writes ? "rwlock-read" : reads ? "rwlock-write" : "mutex";
    void *middles = writes || reads ? (void *)&shared : (void *)&second;
    expect(kind, middles, "held_by(hold_middle) >= %lld", (HEAD_MS + MIDDLE_MS) * MS);
    expect(kind, middles, "held_by.0.passed_on_ns >= %lld", HEAD_MS * MS);
    expect("culprit", &first, "function = hold_head");
    return 0;
}
