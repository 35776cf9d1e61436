/* Threads wait, each in another way, and meanwhile in a signal handler: no thread waits for longer than it lives. */
#include "truth.h"

enum { LONG_MS = 150, SHORT_MS = 60, WAITS = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, its = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, handlers;
static int ready;
static _Atomic pid_t tids[WAITS];
static _Atomic int handled;
static pthread_t other;

static void on_signal(int signal) {
    (void)signal;
    handled++;
    while (sem_wait(&handlers) != 0) {}
}

static void *live_on(void *unused) {
    nap_ms(LONG_MS + SHORT_MS);
    return unused;
}

static void *wait_in(void *how) {
    const intptr_t which = (intptr_t)how;
    pthread_mutex_lock(&its);
    pthread_mutex_unlock(&its);
    tids[which] = my_tid();
    if (which == 0) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    } else if (which == 1) {
        pthread_mutex_lock(&its);
        while (!ready) pthread_cond_wait(&condition, &its);
        pthread_mutex_unlock(&its);
    } else if (which == 2) {
        while (sem_wait(&semaphore) != 0) {}
    } else {
        pthread_join(other, NULL);
    }
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&semaphore, 0, 0);
    sem_init(&handlers, 0, 0);
    other = start(live_on, NULL);
    pthread_mutex_lock(&mutex);
    pthread_t threads[WAITS];
    for (intptr_t which = 0; which < WAITS; which++) {
        threads[which] = start(wait_in, (void *)which);
        await_asleep(&tids[which]);
        REQUIRE(pthread_kill(threads[which], SIGUSR1) == 0);
    }
    while (handled < WAITS) nap_ms(1);
    nap_ms(SHORT_MS);
    for (int which = 0; which < WAITS; which++) sem_post(&handlers);
    nap_ms(LONG_MS - SHORT_MS);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&its);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&its);
    sem_post(&semaphore);
    for (int which = 0; which < WAITS; which++) pthread_join(threads[which], NULL);
    for (int which = 0; which < WAITS; which++) printf("waiter %d\n", (int)tids[which]);
    expect("semaphore", &handlers, "wait_ns.total >= %lld", WAITS * SHORT_MS * MS);
    expect("mutex", &mutex, "wait_ns.max >= %lld", LONG_MS * MS);
    expect("condition", &condition, "wait_ns.max >= %lld", LONG_MS * MS);
    return 0;
}
