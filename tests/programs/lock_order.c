/* Threads that take locks while they hold others, one after the other, so that none ever waits. Which of them might wait
 * for each other for ever is in crates/cli/tests/ground_truth.rs. */
#include "truth.h"

enum { LOCKS = 72 };
static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlocks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
static pthread_spinlock_t spinlocks[2];
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int turn;
static const char *mode;

static int is(const char *name) { return strcmp(mode, name) == 0; }

NOINLINE static void outer(int n) { pthread_mutex_lock(&mutexes[n]); __asm__ volatile(""); }
NOINLINE static void inner(int n) { pthread_mutex_lock(&mutexes[n]); __asm__ volatile(""); }
static void unlock(int n) { pthread_mutex_unlock(&mutexes[n]); }

static void both(int first, int second) {
    outer(first);
    inner(second);
    unlock(second);
    unlock(first);
}

static struct timespec soon(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 10 * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    return until;
}

static void limited(int first, int second) {
    struct timespec until = soon();
    outer(first);
    if (is("tries")) REQUIRE(pthread_mutex_trylock(&mutexes[second]) == 0);
    else REQUIRE(pthread_mutex_timedlock(&mutexes[second], &until) == 0);
    unlock(second);
    unlock(first);
}

NOINLINE static void reads(int n) { REQUIRE(pthread_rwlock_rdlock(&rwlocks[n]) == 0); __asm__ volatile(""); }
NOINLINE static void writes(int n) { REQUIRE(pthread_rwlock_wrlock(&rwlocks[n]) == 0); __asm__ volatile(""); }

static void shares(int first, int second) {
    reads(first);
    if (is("readers")) reads(second);
    else writes(second);
    pthread_rwlock_unlock(&rwlocks[second]);
    pthread_rwlock_unlock(&rwlocks[first]);
}

NOINLINE static void spins(int n) { REQUIRE(pthread_spin_lock(&spinlocks[n]) == 0); __asm__ volatile(""); }

static void spins_both(int first, int second) {
    spins(first);
    spins(second);
    pthread_spin_unlock(&spinlocks[second]);
    pthread_spin_unlock(&spinlocks[first]);
}

/* Returns to the first mutex while it holds the second one. */
NOINLINE static void comes_back(void) {
    struct timespec until = soon();
    outer(0);
    inner(1);
    REQUIRE(pthread_cond_timedwait(&never, &mutexes[0], &until) == ETIMEDOUT);
    unlock(1);
    unlock(0);
}

static void guarded(int first, int second) {
    outer(2);
    both(first, second);
    unlock(2);
}

static void takes(int number) {
    int next = (number + 1) % 2;
    if (is("three")) both(number, (number + 1) % 3);
    else if (is("same")) both(0, 1);
    else if (is("alone")) both(0, 1), both(1, 0);
    else if (is("gate")) guarded(number, next);
    else if (is("tries") || is("limits")) limited(number, next);
    else if (is("readers") || is("writers")) shares(number, next);
    else if (is("spins")) spins_both(number, next);
    else if (is("comes-back") && number == 0) comes_back();
    else if (is("comes-back")) both(0, 1);
    else if (is("before")) both(0, 1);
    else if (is("again")) {
        outer(0);
        inner(1);
        inner(0);
        unlock(0), unlock(1), unlock(0);
    } else if (is("many")) {
        for (int n = 0; n < LOCKS; n++) outer(n);
        for (int n = 0; n < LOCKS; n++) unlock(n);
    } else if (is("pairs")) {
        for (int pair = 0; pair < 4; pair++) both(2 * pair + number, 2 * pair + next);
    } else both(number, next);
}

/* All threads live at the same time; each takes its locks when the one before is done. */
static void *thread(void *argument) {
    int number = (int)(uintptr_t)argument;
    while (turn != number) sched_yield();
    takes(number);
    turn = number + 1;
    while (turn >= 0) nap_ms(1);
    return NULL;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    mode = argv[1];
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int n = 0; n < LOCKS; n++) pthread_mutex_init(&mutexes[n], &recursive);
    for (int n = 0; n < 2; n++) pthread_spin_init(&spinlocks[n], PTHREAD_PROCESS_PRIVATE);
    if (is("before")) both(1, 0);
    int threads = is("three") ? 3 : is("alone") || is("many") ? 1 : 2;
    pthread_t started[3];
    for (int n = 0; n < threads; n++) started[n] = start(thread, (void *)(uintptr_t)n);
    while (turn != threads) nap_ms(1);
    turn = -1;
    for (int n = 0; n < threads; n++) pthread_join(started[n], NULL);
    pthread_mutex_lock(&mutexes[LOCKS - 1]);
    expect("mutex", &mutexes[LOCKS - 1], "acquisitions = %d", is("many") ? 2 : 1);
    return 0;
}
