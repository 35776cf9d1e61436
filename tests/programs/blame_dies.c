/* A thread dies holding a robust mutex: what the others waited for it is in its hold. Then a recursive one: its hold is
 * that of the outermost acquisition.
 *
 * short: several threads wait for the one that dies, and all other holds are short. */
#include "truth.h"

enum { HOLD_MS = 40 };
static pthread_mutex_t robust, recursive;
static pthread_barrier_t held;
static _Atomic pid_t waiter;

NOINLINE static void *die(void *unused) {
    pthread_mutex_lock(&robust);
    pthread_barrier_wait(&held);
    await_asleep(&waiter);
    nap_ms(HOLD_MS);
    return unused;
}

static void *want(void *mutex) {
    pthread_barrier_wait(&held);
    waiter = my_tid();
    int result = pthread_mutex_lock(mutex);
    if (result == EOWNERDEAD) REQUIRE(pthread_mutex_consistent(mutex) == 0);
    else REQUIRE(result == 0);
    pthread_mutex_unlock(mutex);
    return NULL;
}

NOINLINE static void hold_inner(void) {
    pthread_mutex_lock(&recursive);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&recursive);
    __asm__ volatile("");
}

NOINLINE static void hold_outermost(void) {
    pthread_mutex_lock(&recursive);
    pthread_barrier_wait(&held);
    await_asleep(&waiter);
    hold_inner();
    pthread_mutex_unlock(&recursive);
    __asm__ volatile("");
}

enum { HEIRS = 3, TIMES = 100, LONG_MS = 200 };
static _Atomic int is_held;

NOINLINE static void *die_late(void *unused) {
    pthread_mutex_lock(&robust);
    is_held = 1;
    nap_ms(LONG_MS);
    return unused;
}

NOINLINE static void inherit(void) {
    int result = pthread_mutex_lock(&robust);
    if (result == EOWNERDEAD) REQUIRE(pthread_mutex_consistent(&robust) == 0);
    else REQUIRE(result == 0);
    pthread_mutex_unlock(&robust);
    __asm__ volatile("");
}

static void *heirs(void *unused) {
    while (!is_held) nap_ms(1);
    for (int i = 0; i < TIMES; i++) {
        inherit();
        nap_ms(1);
    }
    return unused;
}

static int short_holds(void) {
    pthread_t of[HEIRS], dies = start(die_late, NULL);
    for (int i = 0; i < HEIRS; i++) of[i] = start(heirs, NULL);
    for (int i = 0; i < HEIRS; i++) pthread_join(of[i], NULL);
    pthread_join(dies, NULL);
    expect("mutex", &robust, "owner_died = 1");
    expect("mutex", &robust, "held_by.0.site.function = die_late");
    expect("mutex", &robust, "hold_ns.max >= %lld", LONG_MS * MS);
    return 0;
}

int main(int argc, char **argv) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    if (argc > 1 && strcmp(argv[1], "short") == 0) return short_holds();
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_barrier_init(&held, NULL, 2);
    pthread_t waits = start(want, &robust), dies = start(die, NULL);
    pthread_join(dies, NULL);
    pthread_join(waits, NULL);
    waiter = 0;
    waits = start(want, &recursive);
    hold_outermost();
    pthread_join(waits, NULL);
    expect("mutex", &robust, "held_by(die) >= %lld", HOLD_MS * MS);
    expect("mutex", &robust, "owner_died = 1");
    expect("mutex", &robust, "held_by.0.died_ns >= %lld", HOLD_MS * MS);
    expect("mutex", &robust, "hold_ns.count = 1");
    expect("mutex", &robust, "hold_ns.max >= %lld", HOLD_MS * MS);
    expect("mutex", &recursive, "held_by.0.died_ns = null");
    expect("mutex", &recursive, "held_by.0.site.function = hold_outermost");
    expect("mutex", &recursive, "held_by.0.wait_ns >= %lld", HOLD_MS * MS);
    return 0;
}
