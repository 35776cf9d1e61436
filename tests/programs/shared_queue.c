/* Two processes hand work over: by a condition and its mutex, by a semaphore, and meet at a barrier. The first makes
 * the work, the second waits for it. */
#include "truth.h"

enum { ROUNDS = 4, WORK_MS = 25, BYTES = 4096 };

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    sem_t semaphore;
    pthread_barrier_t barrier;
    int made;
    _Atomic pid_t second;
    int64_t for_condition, for_semaphore, for_barrier;
} shared;

static shared *s;

NOINLINE static void announce(void) {
    await_process(&s->second, 'S');
    int64_t since = now_ns();
    nap_ms(WORK_MS);
    pthread_mutex_lock(&s->mutex);
    s->made++;
    s->for_condition += now_ns() - since;
    pthread_cond_signal(&s->condition);
    pthread_mutex_unlock(&s->mutex);
    __asm__ volatile("");
}

NOINLINE static void post(void) {
    await_process(&s->second, 'S');
    int64_t since = now_ns();
    nap_ms(WORK_MS);
    s->for_semaphore += now_ns() - since;
    REQUIRE(sem_post(&s->semaphore) == 0);
    __asm__ volatile("");
}

NOINLINE static void arrive_last(void) {
    await_process(&s->second, 'S');
    int64_t since = now_ns();
    nap_ms(WORK_MS);
    s->for_barrier += now_ns() - since;
    s->second = 0;
    pthread_barrier_wait(&s->barrier);
    __asm__ volatile("");
}

NOINLINE static void await_made(int made) {
    pthread_mutex_lock(&s->mutex);
    s->second = getpid();
    while (s->made < made) pthread_cond_wait(&s->condition, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    __asm__ volatile("");
}

static void second(void) {
    for (int round = 1; round <= ROUNDS; round++) {
        await_made(round);
        while (sem_wait(&s->semaphore) != 0) {}
        pthread_barrier_wait(&s->barrier);
    }
}

static void make(void) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    REQUIRE(pthread_cond_init(&s->condition, &condition) == 0);
    REQUIRE(sem_init(&s->semaphore, 1, 0) == 0);
    REQUIRE(pthread_barrier_init(&s->barrier, &barrier, 2) == 0);
}

static void say(const char *kind, const void *address, const char *by, int64_t waited) {
    expect(kind, address, "rows = 1");
    expect(kind, address, "shared = true");
    expect(kind, address, "processes.1 >= 1");
    expect(kind, address, "idle_ns = null");
    expect(kind, address, "ended_by.0.site.function = %s", by);
    expect(kind, address, "ended_by(%s) >= %lld", by, (long long)waited);
    expect(kind, address, "ended_by.0.pids.0 = %d", getpid());
    expect(kind, address, "ended_by.0.pids.1 = null");
}

int main(void) {
    s = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED);
    make();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        second();
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        announce();
        post();
        arrive_last();
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    say("condition", &s->condition, "announce", s->for_condition);
    say("semaphore", &s->semaphore, "post", s->for_semaphore);
    say("barrier", &s->barrier, "arrive_last", s->for_barrier);
    expect("condition", &s->condition, "class = queue");
    expect("semaphore", &s->semaphore, "class = queue");
    expect("mutex", &s->mutex, "rows = 1");
    return 0;
}
