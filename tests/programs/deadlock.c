/* Threads that wait for each other until the program is killed; and threads that look as if they did. The cycles are in
 * crates/cli/tests/ground_truth.rs. */
#include "truth.h"
#include <setjmp.h>

enum { MOST = 3, LONG_MS = 100 };
static pthread_mutex_t mutexes[MOST] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rwlocks[MOST] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER,
                                         PTHREAD_RWLOCK_INITIALIZER};
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_hold;
static int count;
static _Atomic pid_t tids[MOST + 1];

static void has_started(uintptr_t number) { tids[number] = my_tid(); }

/* Mutexes: thread n holds n and wants n + 1. */
NOINLINE static void take_first(uintptr_t n) { pthread_mutex_lock(&mutexes[n]); __asm__ volatile(""); }
NOINLINE static void take_second(uintptr_t n) { pthread_mutex_lock(&mutexes[n]); __asm__ volatile(""); }

static void *ring(void *number) {
    uintptr_t n = (uintptr_t)number;
    take_first(n);
    pthread_barrier_wait(&all_hold);
    has_started(n);
    take_second((n + 1) % count);
    return NULL;
}

/* One more, behind the cycle. */
static void *behind(void *number) {
    has_started((uintptr_t)number);
    pthread_mutex_lock(&mutexes[0]);
    return NULL;
}

/* One thread holds a mutex and waits for the end of another, which wants it. */
static void *wants_it(void *number) {
    has_started((uintptr_t)number);
    take_second(0);
    return NULL;
}

NOINLINE static void wait_for_its_end(pthread_t thread) { pthread_join(thread, NULL); __asm__ volatile(""); }

static void *joins(void *number) {
    take_first(0);
    pthread_t other = start(wants_it, (void *)1);
    await_asleep(&tids[1]);
    has_started((uintptr_t)number);
    wait_for_its_end(other);
    return NULL;
}

/* Read-write locks: thread n reads n and wants to write n + 1. */
NOINLINE static void read_first(uintptr_t n) { pthread_rwlock_rdlock(&rwlocks[n]); __asm__ volatile(""); }
NOINLINE static void write_second(uintptr_t n) { pthread_rwlock_wrlock(&rwlocks[n]); __asm__ volatile(""); }

static void *readers(void *number) {
    uintptr_t n = (uintptr_t)number;
    read_first(n);
    pthread_barrier_wait(&all_hold);
    has_started(n);
    write_second((n + 1) % count);
    return NULL;
}

/* A reader that reads again, behind a writer. */
static void *reads_twice(void *number) {
    read_first(0);
    await_asleep(&tids[1]);
    has_started((uintptr_t)number);
    read_first(0);
    return NULL;
}

static void *writes(void *number) {
    nap_ms(20);
    has_started((uintptr_t)number);
    write_second(0);
    return NULL;
}

/* The same as a ring, but the second wait has a deadline. */
static long deadline_ms;

static struct timespec deadline(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += deadline_ms / 1000;
    until.tv_nsec += deadline_ms % 1000 * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    return until;
}

static void *gives_up(void *number) {
    uintptr_t n = (uintptr_t)number;
    take_first(n);
    pthread_barrier_wait(&all_hold);
    struct timespec until = deadline();
    has_started(n);
    REQUIRE(pthread_mutex_timedlock(&mutexes[(n + 1) % count], &until) == ETIMEDOUT);
    for (;;) pause();
}

/* The first thread jumps out of its wait and takes another lock. */
static sigjmp_buf out;

static void jump(int signal) { siglongjmp(out, signal); }

static void *jumps(void *number) {
    uintptr_t n = (uintptr_t)number;
    take_first(n);
    pthread_barrier_wait(&all_hold);
    if (n == 0 && sigsetjmp(out, 1) != 0) {
        pthread_mutex_lock(&other);
        tids[MOST] = my_tid();
        for (;;) pause();
    }
    has_started(n);
    take_second((n + 1) % count);
    return NULL;
}

/* Semaphores as locks, which a thread that took them has given back before; as events, which no thread has posted; or one
 * that another thread posted, as a signal. */
static sem_t semaphores[2];

NOINLINE static void take_semaphore(uintptr_t n) { sem_wait(&semaphores[n]); __asm__ volatile(""); }

static void *tokens(void *number) {
    uintptr_t n = (uintptr_t)number;
    take_semaphore(n);
    pthread_barrier_wait(&all_hold);
    has_started(n);
    take_semaphore((n + 1) % count);
    return NULL;
}

static void *tokens_for_a_time(void *number) {
    uintptr_t n = (uintptr_t)number;
    take_semaphore(n);
    pthread_barrier_wait(&all_hold);
    struct timespec until = deadline();
    has_started(n);
    REQUIRE(sem_timedwait(&semaphores[(n + 1) % count], &until) == 0);
    return NULL;
}

static void *posts(void *unused) {
    sem_post(&semaphores[1]);
    return unused;
}

/* Waits for a holder that waits for nothing. */
static void *waits(void *number) {
    has_started((uintptr_t)number);
    take_second(0);
    return NULL;
}

static void begin(int threads, void *(*body)(void *)) {
    count = threads;
    REQUIRE(pthread_barrier_init(&all_hold, NULL, threads) == 0);
    for (uintptr_t n = 0; n < (uintptr_t)threads; n++) start(body, (void *)n);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const char *mode = argv[1];
    int threads = 2;
    if (strcmp(mode, "two") == 0) {
        begin(threads, ring);
        for (int n = 0; n < threads; n++) await_asleep(&tids[n]);
        start(behind, (void *)(uintptr_t)threads++);
    } else if (strcmp(mode, "three") == 0) {
        begin(threads = 3, ring);
    } else if (strcmp(mode, "self") == 0) {
        begin(threads = 1, ring);
    } else if (strcmp(mode, "readers") == 0) {
        begin(threads, readers);
    } else if (strcmp(mode, "upgrade") == 0) {
        begin(threads = 1, readers);
    } else if (strcmp(mode, "join") == 0) {
        start(joins, (void *)0);
    } else if (strcmp(mode, "reads-twice") == 0) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&rwlocks[0], &attributes);
        start(reads_twice, (void *)0);
        start(writes, (void *)1);
    } else if (strcmp(mode, "semaphores") == 0 || strcmp(mode, "signals") == 0 || strcmp(mode, "sometimes") == 0 ||
               strcmp(mode, "events") == 0) {
        for (int n = 0; n < 2; n++) {
            sem_init(&semaphores[n], 0, 1);
            if (mode[0] == 'e') continue;
            take_semaphore(n);
            sem_post(&semaphores[n]);
        }
        if (mode[1] == 'i') {
            take_semaphore(1);
            pthread_join(start(posts, NULL), NULL);
        }
        deadline_ms = 100000;
        begin(threads, mode[1] == 'o' ? tokens_for_a_time : tokens);
    } else if (strcmp(mode, "deadline") == 0) {
        deadline_ms = 100000;
        begin(threads, gives_up);
    } else if (strcmp(mode, "recovers") == 0) {
        deadline_ms = LONG_MS;
        begin(threads, gives_up);
    } else if (strcmp(mode, "jumps") == 0) {
        signal(SIGUSR1, jump);
        begin(threads, jumps);
        for (int n = 0; n < threads; n++) await_asleep(&tids[n]);
        REQUIRE(syscall(SYS_tgkill, getpid(), (pid_t)tids[0], SIGUSR1) == 0);
        await_asleep(&tids[MOST]);
    } else {
        REQUIRE(strcmp(mode, "waits") == 0);
        take_first(0);
        threads = 1;
        start(waits, (void *)0);
    }
    for (int n = 0; n < threads; n++) await_asleep(&tids[n]);
    nap_ms(2 * LONG_MS);
    if (strstr(mode, "read") != NULL || strcmp(mode, "upgrade") == 0)
        expect("rwlock-read", &rwlocks[0], "acquisitions = 1");
    else if (mode[0] == 's' && mode[2] != 'l') expect("semaphore", &semaphores[0], "acquisitions = 2");
    else if (mode[0] == 'e') expect("semaphore", &semaphores[0], "acquisitions = 1");
    else expect("mutex", &mutexes[0], "acquisitions = 1");
    raise(SIGKILL);
    return 0;
}
