/* A thread signals while it holds the mutex, and holds on: who wakes waits for it. Another signals after its release and
 * works on outside: nobody waits for that. A third posts a semaphore. */
#include "truth.h"

enum { ROUNDS = 3, HELD_MS = 30, OUTSIDE_MS = 50 };
static pthread_mutex_t wakes = PTHREAD_MUTEX_INITIALIZER, leaves = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static _Atomic pid_t waiter;
static int turn;

NOINLINE static void signal_holding(void) {
    pthread_mutex_lock(&wakes);
    turn++;
    pthread_cond_signal(&woken);
    nap_ms(HELD_MS);
    pthread_mutex_unlock(&wakes);
    __asm__ volatile("");
}

NOINLINE static void signal_and_leave(void) {
    pthread_mutex_lock(&leaves);
    turn++;
    pthread_mutex_unlock(&leaves);
    pthread_cond_signal(&left);
    nap_ms(OUTSIDE_MS);
    __asm__ volatile("");
}

NOINLINE static void post(void) {
    sem_post(&posted);
    nap_ms(OUTSIDE_MS);
    __asm__ volatile("");
}

static void wait_for(pthread_mutex_t *mutex, pthread_cond_t *condition, int what) {
    pthread_mutex_lock(mutex);
    while (turn < what) pthread_cond_wait(condition, mutex);
    pthread_mutex_unlock(mutex);
}

static void *wait_in_turn(void *unused) {
    waiter = my_tid();
    for (int i = 1; i <= ROUNDS; i++) wait_for(&wakes, &woken, i);
    for (int i = 1; i <= ROUNDS; i++) wait_for(&leaves, &left, ROUNDS + i);
    for (int i = 1; i <= ROUNDS; i++) sem_wait(&posted);
    return unused;
}

int main(void) {
    REQUIRE(sem_init(&posted, 0, 0) == 0);
    pthread_t thread = start(wait_in_turn, NULL);
    for (int i = 0; i < 3 * ROUNDS; i++) {
        await_asleep(&waiter);
        if (i < ROUNDS) signal_holding();
        else if (i < 2 * ROUNDS) signal_and_leave();
        else post();
    }
    pthread_join(thread, NULL);
    expect("mutex", &wakes, "held_by(signal_holding) >= %lld", ROUNDS * HELD_MS / 2 * MS);
    expect("mutex", &wakes, "held_by.0.woken_into_ns >= %lld", ROUNDS * HELD_MS / 2 * MS);
    expect("mutex", &leaves, "held_by.0.woken_into_ns = null");
    expect("condition", &woken, "ended_by(signal_holding) >= 1");
    expect("condition", &left, "ended_by(signal_and_leave) >= %lld", (ROUNDS - 1) * OUTSIDE_MS / 2 * MS);
    expect("semaphore", &posted, "ended_by(post) >= %lld", (ROUNDS - 1) * OUTSIDE_MS / 2 * MS);
    expect("culprit", &wakes, "function = signal_holding");
    expect("mutex", &leaves, "held_by(signal_and_leave) <= %lld", OUTSIDE_MS / 2 * MS);
    return 0;
}
