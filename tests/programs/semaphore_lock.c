/* A semaphore used as a lock (wait and post in pairs by one thread) has holds; one used as a queue has none. */
#include "truth.h"

static sem_t lock, queue;
static _Atomic pid_t waiter, consumer;

static void *take_both(void *unused) {
    waiter = my_tid();
    sem_wait(&lock);
    nap_ms(10);
    sem_post(&lock);
    return unused;
}

static void *consume(void *unused) {
    consumer = my_tid();
    for (int i = 0; i < 3; i++) sem_wait(&queue);
    return unused;
}

int main(void) {
    sem_init(&lock, 0, 1);
    sem_init(&queue, 0, 0);
    sem_wait(&lock);
    pthread_t a = start(take_both, NULL);
    await_asleep(&waiter);
    nap_ms(30);
    REQUIRE(sem_trywait(&lock) == -1 && errno == EAGAIN);
    sem_post(&lock);
    pthread_join(a, NULL);
    expect("semaphore", &lock, "acquisitions = 2");
    expect("semaphore", &lock, "blocked = 1");
    expect("semaphore", &lock, "try_failed = 1");
    expect("semaphore", &lock, "wait_ns.max >= %lld", 30 * MS);
    expect("semaphore", &lock, "hold_ns.count = 2");
    expect("semaphore", &lock, "hold_ns.max >= %lld", 30 * MS);

    pthread_t b = start(consume, NULL);
    await_asleep(&consumer);
    nap_ms(20);
    for (int i = 0; i < 3; i++) sem_post(&queue);
    pthread_join(b, NULL);
    expect("semaphore", &queue, "acquisitions = 3");
    expect("semaphore", &queue, "wait_ns.max >= %lld", 20 * MS);
    expect("semaphore", &queue, "hold_ns = null");
    expect("semaphore", &queue, "idle_ns = null");
    return 0;
}
