/* A thread's end announced by a lock that it holds from its start to its end, as Python's Thread.join waits for it:
 * nothing is contended. The same wait where the holder lives on, or main comes again, is contention. */
#include "truth.h"

static pthread_mutex_t part = PTHREAD_MUTEX_INITIALIZER, often = PTHREAD_MUTEX_INITIALIZER;
static sem_t alive;
static _Atomic int held;

static void *hold_for_life(void *unused) {
    sem_wait(&alive);
    pthread_mutex_lock(&often);
    held = 1;
    nap_ms(300);
    pthread_mutex_unlock(&often);
    sem_post(&alive);
    return unused;
}

static void *hold_and_live_on(void *unused) {
    pthread_mutex_lock(&part);
    held = 1;
    nap_ms(100);
    pthread_mutex_unlock(&part);
    nap_ms(100);
    return unused;
}

static void pass(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}

int main(void) {
    sem_init(&alive, 0, 1);
    pthread_t thread = start(hold_for_life, NULL);
    while (!held) nap_ms(1);
    sem_wait(&alive);
    sem_post(&alive);
    pass(&often);
    pass(&often);
    pthread_join(thread, NULL);
    expect("semaphore", &alive, "class = hand-off");
    expect("semaphore", &alive, "wait_ns.max >= %lld", 200 * MS);
    expect("mutex", &often, "class = contention");

    held = 0;
    thread = start(hold_and_live_on, NULL);
    while (!held) nap_ms(1);
    pass(&part);
    pthread_join(thread, NULL);
    expect("mutex", &part, "class = contention");
    return 0;
}
