/* A signal handler forks while its thread waits, and returns into the wait in the child too. The child goes on as it
 * would without an observer, with a record of its own. */
#include "truth.h"
#include <linux/futex.h>

static sem_t never, holds;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER, with = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int word;
static pid_t (*forks)(void);
static volatile pid_t child;
static _Atomic pid_t waiting;
static pthread_t waiter;

static void fork_now(int signal) {
    (void)signal;
    child = forks();
    REQUIRE(child >= 0);
}

static pid_t bare(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static struct timespec soon(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 500 * MS;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

static int interrupted(void) {
    return sem_wait(&never) == -1 ? errno : 0;
}

static int interrupted_in_futex(void) {
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 ? errno : 0;
}

static int timed_mutex(void) {
    struct timespec at = soon();
    return pthread_mutex_timedlock(&held, &at);
}

static int timed_rwlock(void) {
    struct timespec at = soon();
    return pthread_rwlock_timedwrlock(&rwlock, &at);
}

static int timed_condition(void) {
    struct timespec at = soon();
    pthread_mutex_lock(&with);
    int result = pthread_cond_timedwait(&signal_never, &with, &at);
    pthread_mutex_unlock(&with);
    return result;
}

static void *interrupt(void *unused) {
    await_asleep(&waiting);
    pthread_kill(waiter, SIGUSR1);
    return unused;
}

static void waits(int (*wait)(void), int wanted) {
    child = -1;
    pthread_t interrupter = start(interrupt, NULL);
    int result = wait();
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            pthread_mutex_lock(&own);
            pthread_mutex_unlock(&own);
        }
        expect("mutex", &own, "acquisitions = 3");
        fflush(stdout);
        _exit(result == wanted ? 0 : 1);
    }
    REQUIRE(result == wanted);
    pthread_join(interrupter, NULL);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

static void *hold(void *done) {
    pthread_mutex_lock(&held);
    pthread_rwlock_rdlock(&rwlock);
    sem_post(&holds);
    sem_wait(done);
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_unlock(&held);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = fork_now};
    sem_t done;
    waiter = pthread_self();
    waiting = my_tid();
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    REQUIRE(sem_init(&never, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
    REQUIRE(sem_init(&holds, 0, 0) == 0);
    pthread_t holder = start(hold, &done);
    sem_wait(&holds);
    pid_t (*const ways[])(void) = {fork, bare};
    for (int i = 0; i < 2; i++) {
        forks = ways[i];
        waits(interrupted, EINTR);
        waits(interrupted_in_futex, EINTR);
        waits(timed_mutex, ETIMEDOUT);
        waits(timed_rwlock, ETIMEDOUT);
        waits(timed_condition, ETIMEDOUT);
    }
    sem_post(&done);
    pthread_join(holder, NULL);
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    expect("mutex", &own, "acquisitions = 1");
    expect("semaphore", &never, "blocked = 2");
    expect("futex", &word, "blocked = 2");
    expect("mutex", &held, "blocked = 2");
    expect("mutex", &held, "acquisitions = 1");
    expect("rwlock-write", &rwlock, "blocked = 2");
    expect("condition", &signal_never, "blocked = 2");
    expect("mutex", &with, "acquisitions = 4");
    return 0;
}
