/* A convoy: the last waits for the middle, which waits for the head. The head is to blame for both waits, while it holds; the
 * middle's own hold is what it does after that. */
#include "truth.h"

enum { HEAD_MS = 60, MIDDLE_MS = 10 };
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t middle, last;
static _Atomic int first_held, second_held;

NOINLINE static void hold_head(void) {
    pthread_mutex_lock(&first);
    first_held = 1;
    await_asleep(&middle);
    await_asleep(&last);
    nap_ms(HEAD_MS);
    pthread_mutex_unlock(&first);
    __asm__ volatile("");
}

NOINLINE static void hold_middle(void) {
    pthread_mutex_lock(&second);
    second_held = 1;
    middle = my_tid();
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    nap_ms(MIDDLE_MS);
    pthread_mutex_unlock(&second);
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
    last = my_tid();
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    return unused;
}

int main(void) {
    pthread_t threads[] = {start(head, NULL), start(follow, NULL), start(end, NULL)};
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    expect("mutex", &first, "held_by(hold_head) >= %lld", HEAD_MS * MS);
    expect("mutex", &second, "held_by(hold_middle) >= %lld", (HEAD_MS + MIDDLE_MS) * MS);
    expect("mutex", &second, "held_by.0.passed_on_ns >= %lld", HEAD_MS * MS);
    expect("culprit", &first, "function = hold_head");
    return 0;
}
