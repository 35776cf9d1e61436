/* Observed, a function does what the C library's does: a wait for a semaphore acts on a cancellation even if the semaphore
 * is free, a deadline that is none is refused even if the lock is free, and a wait that succeeds leaves errno alone. */
#include "truth.h"

static sem_t s;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER, writers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static struct timespec none = {1, -1}, far = {4000000000, 0};

static void *wait_cancelled(void *is_timed) {
    pthread_cancel(pthread_self());
    if (is_timed) {
        sem_timedwait(&s, &far);
    } else {
        sem_wait(&s);
    }
    return NULL;
}

static void *wait_blocked(void *unused) {
    errno = 0;
    waiter = my_tid();
    REQUIRE(sem_wait(&s) == 0 && errno == 0);
    return unused;
}

int main(void) {
    sem_init(&s, 0, 1);
    for (intptr_t is_timed = 0; is_timed < 2; is_timed++) {
        void *result;
        pthread_join(start(wait_cancelled, (void *)is_timed), &result);
        REQUIRE(result == PTHREAD_CANCELED);
    }

    errno = 0;
    REQUIRE(sem_timedwait(&s, &none) == -1 && errno == EINVAL);
    REQUIRE(sem_trywait(&s) == 0);
    pthread_t a = start(wait_blocked, NULL);
    await_asleep(&waiter);
    sem_post(&s);
    pthread_join(a, NULL);
    expect("semaphore", &s, "acquisitions = 2");

    REQUIRE(pthread_rwlock_timedrdlock(&readers, &none) == EINVAL);
    REQUIRE(pthread_rwlock_timedwrlock(&writers, &none) == EINVAL);
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 30)
    int no_clock = 77;
    REQUIRE(sem_clockwait(&s, no_clock, &far) == -1 && errno == EINVAL);
    REQUIRE(pthread_rwlock_clockrdlock(&readers, no_clock, &far) == EINVAL);
    REQUIRE(pthread_rwlock_clockwrlock(&writers, no_clock, &far) == EINVAL);
    REQUIRE(pthread_mutex_clocklock(&m, no_clock, &far) == EINVAL);
#endif
#endif
    REQUIRE(pthread_mutex_timedlock(&m, &none) == 0); /* It is free, and glibc does not look. */
    REQUIRE(pthread_mutex_unlock(&m) == 0);
    expect("mutex", &m, "acquisitions = 1");
    return 0;
}
