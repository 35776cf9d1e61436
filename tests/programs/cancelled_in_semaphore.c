/* A thread cancelled while it waits for a semaphore no longer wants it: the semaphore does not stand idle for it. */
#include "truth.h"

static sem_t s;
static _Atomic pid_t waiter;

static void *wait_for_ever(void *unused) {
    waiter = my_tid();
    sem_wait(&s);
    return unused;
}

int main(void) {
    sem_init(&s, 0, 1);
    sem_wait(&s);
    pthread_t a = start(wait_for_ever, NULL);
    await_asleep(&waiter);
    cancel(a);
    sem_post(&s);
    nap_ms(20);
    sem_wait(&s);
    sem_post(&s);
    expect("semaphore", &s, "acquisitions = 2");
    expect("semaphore", &s, "blocked = 1");
    expect("semaphore", &s, "timed_out.count = 1");
    expect("semaphore", &s, "try_failed = 0");
    expect("semaphore", &s, "idle_ns = null");
    expect("semaphore", &s, "unfinished = null");
    return 0;
}
