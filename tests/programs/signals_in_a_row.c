/* On one CPU: a thread waits, for a condition, a semaphore or a futex. One call wakes it, and another one wakes it for nothing
 * before it runs. The first one ended the wait. */
#include "truth.h"
#include <linux/futex.h>

enum { ROUNDS = 10, WORK_MS = 10 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int jobs;
static _Atomic int word;

NOINLINE static void give_job(void) {
    pthread_mutex_lock(&mutex);
    jobs++;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
    __asm__ volatile("");
}

NOINLINE static void remind(void) {
    pthread_cond_signal(&condition);
    __asm__ volatile("");
}

NOINLINE static void post_job(void) {
    sem_post(&semaphore);
    __asm__ volatile("");
}

NOINLINE static void post_reminder(void) {
    sem_post(&semaphore);
    __asm__ volatile("");
}

NOINLINE static void set_word(void) {
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    __asm__ volatile("");
}

NOINLINE static void wake_word(void) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    __asm__ volatile("");
}

static void *work(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        while (!jobs) pthread_cond_wait(&condition, &mutex);
        jobs--;
        pthread_mutex_unlock(&mutex);
        for (int token = 0; token < 2; token++) sem_wait(&semaphore);
        while (!word) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        word = 0;
    }
    return unused;
}

int main(void) {
    cpu_set_t one, all;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    sem_init(&semaphore, 0, 0);
    pthread_t worker = start(work, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        nap_ms(WORK_MS);
        give_job(), remind();
        nap_ms(WORK_MS);
        post_job(), post_reminder();
        nap_ms(WORK_MS);
        set_word(), wake_word();
    }
    pthread_join(worker, NULL);
    const long long waited = ROUNDS * WORK_MS * MS;
    expect("condition", &condition, "ended_by(give_job) >= %lld", waited * 9 / 10);
    expect("condition", &condition, "ended_by(remind) <= %lld", waited / 10);
    expect("semaphore", &semaphore, "ended_by(post_job) >= %lld", waited * 9 / 10);
    expect("semaphore", &semaphore, "ended_by(post_reminder) <= %lld", waited / 10);
    expect("futex", &word, "ended_by(set_word) >= %lld", waited * 9 / 10);
    expect("futex", &word, "ended_by(wake_word) <= %lld", waited / 10);
    return 0;
}
