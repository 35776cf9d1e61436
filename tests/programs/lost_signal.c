/* Threads wait for what never comes, until a timer ends the program.
 *
 * condition: the signal was sent before the wait; barrier: a thread too few arrives; semaphore: nobody posts; busy: as
 * condition, but another thread goes on; timed: as condition, but the wait has a deadline, a minute later. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static sem_t posts;
static _Atomic pid_t waiters[2];
static const char *how;

NOINLINE static void wait_for_ever(void) {
    if (strcmp(how, "barrier") == 0) {
        pthread_barrier_wait(&all);
    } else if (strcmp(how, "semaphore") == 0) {
        sem_wait(&posts);
    } else {
        pthread_mutex_lock(&m);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        if (strcmp(how, "timed") == 0) pthread_cond_timedwait(&ready, &m, &until);
        else pthread_cond_wait(&ready, &m);
        pthread_mutex_unlock(&m);
    }
    __asm__ volatile(""); /* no tail call */
}

static void *waits(void *number) {
    waiters[(uintptr_t)number] = my_tid();
    wait_for_ever();
    return NULL;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    how = argv[1];
    REQUIRE(pthread_barrier_init(&all, NULL, 3) == 0 && sem_init(&posts, 0, 0) == 0);
    pthread_cond_signal(&ready);
    pthread_t of[2];
    for (uintptr_t i = 0; i < 2; i++) of[i] = start(waits, (void *)i);
    for (int i = 0; i < 2; i++) await_asleep(&waiters[i]);
    if (strcmp(how, "barrier") == 0) expect("barrier", &all, "blocked = 0");
    else if (strcmp(how, "semaphore") == 0) expect("semaphore", &posts, "blocked = 0");
    else expect("condition", &ready, "blocked = 0");
    alarm(2);
    if (strcmp(how, "busy") == 0) nap_ms(60000);
    pthread_join(of[0], NULL);
    return 98;
}
