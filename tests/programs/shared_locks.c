/* Two processes share a lock: shared_locks HOW WHERE. HOW: mutex, rwlock, semaphore. WHERE: inherited (memory without a
 * name, from before the fork), file (a file that each maps at an address of its own). Each holds it while the other
 * waits, 60 ms and 20 ms at a time; then it is free for 40 ms while the other process, stopped, wants it. The first
 * process makes the lock, and so has its row. */
#include "truth.h"

enum { ROUNDS = 3, LONG_MS = 60, SHORT_MS = 20, FREE_MS = 40, OFFSET = 8192 + 64, BYTES = 16384 };

typedef struct {
    int64_t least, most;
} bounds;

typedef struct {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    sem_t semaphore;
    pthread_barrier_t held, taken;
    _Atomic pid_t waiter;
    /* By process: of the waiting for it, and while the lock was free. */
    bounds holds[2], idle;
    _Atomic int64_t released;
} shared;

static shared *s;
static char how;

NOINLINE static void take(void) {
    if (how == 'm') REQUIRE(pthread_mutex_lock(&s->mutex) == 0);
    if (how == 'r') REQUIRE(pthread_rwlock_wrlock(&s->rwlock) == 0);
    if (how == 's') REQUIRE(sem_wait(&s->semaphore) == 0);
    __asm__ volatile("");
}

NOINLINE static void give(void) {
    if (how == 'm') REQUIRE(pthread_mutex_unlock(&s->mutex) == 0);
    if (how == 'r') REQUIRE(pthread_rwlock_unlock(&s->rwlock) == 0);
    if (how == 's') REQUIRE(sem_post(&s->semaphore) == 0);
    __asm__ volatile("");
}

static void hold_while_wanted(int ms, bounds *waited) {
    int64_t call = now_ns();
    pthread_barrier_wait(&s->held);
    await_process(&s->waiter, 'S');
    int64_t asleep = now_ns();
    nap_ms(ms);
    waited->least += now_ns() - asleep;
    s->released = now_ns();
    give();
    waited->most += now_ns() - call;
}

NOINLINE static void hold_in_first(void) {
    take();
    hold_while_wanted(LONG_MS, &s->holds[0]);
    __asm__ volatile("");
}

NOINLINE static void hold_in_second(void) {
    take();
    hold_while_wanted(SHORT_MS, &s->holds[1]);
    __asm__ volatile("");
}

NOINLINE static void want(void) {
    s->waiter = 0;
    pthread_barrier_wait(&s->held);
    s->waiter = getpid();
    take();
    s->idle.most += now_ns() - s->released;
    give();
    pthread_barrier_wait(&s->taken);
    __asm__ volatile("");
}

NOINLINE static void hold_and_leave_free(void) {
    take();
    pthread_barrier_wait(&s->held);
    await_process(&s->waiter, 'S');
    pid_t other = s->waiter;
    REQUIRE(kill(other, SIGSTOP) == 0);
    await_process(&s->waiter, 'T');
    s->released = now_ns();
    give();
    int64_t since = now_ns();
    nap_ms(FREE_MS);
    s->idle.least += now_ns() - since;
    REQUIRE(kill(other, SIGCONT) == 0);
    pthread_barrier_wait(&s->taken);
    __asm__ volatile("");
}

static void make(void) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_t rwlock;
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    REQUIRE(pthread_rwlock_init(&s->rwlock, &rwlock) == 0);
    REQUIRE(sem_init(&s->semaphore, 1, 1) == 0);
    REQUIRE(pthread_barrier_init(&s->held, &barrier, 2) == 0);
    REQUIRE(pthread_barrier_init(&s->taken, &barrier, 2) == 0);
}

static void second(int file, char *first) {
    if (file >= 0) {
        char *own = mmap(first + 64 * BYTES, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        REQUIRE(own != MAP_FAILED && own != first);
        REQUIRE(munmap(first, BYTES) == 0);
        s = (shared *)(own + OFFSET);
    }
    for (int i = 0; i < ROUNDS; i++) {
        want();
        hold_in_second();
        pthread_barrier_wait(&s->taken);
        want();
    }
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    how = arguments[1][0];
    int file = arguments[2][0] == 'f' ? (int)syscall(SYS_memfd_create, "shared", 0) : -1;
    REQUIRE(file < 0 || ftruncate(file, BYTES) == 0);
    char *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    REQUIRE(memory != MAP_FAILED);
    s = (shared *)(memory + OFFSET);
    make();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        second(file, memory);
        return 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        hold_in_first();
        pthread_barrier_wait(&s->taken);
        want();
        hold_and_leave_free();
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    const char *kind = how == 'm' ? "mutex" : how == 'r' ? "rwlock-write" : "semaphore";
    const void *lock = how == 'm' ? (void *)&s->mutex : how == 'r' ? (void *)&s->rwlock : (void *)&s->semaphore;
    expect(kind, lock, "shared = true");
    expect(kind, lock, "rows = 1");
    expect(kind, lock, "threads = 2");
    expect(kind, lock, "acquisitions = %d", 6 * ROUNDS);
    expect(kind, lock, "blocked = %d", 3 * ROUNDS);
    expect(kind, lock, "class = contention");
    expect(kind, lock, "held_by(hold_in_first) >= %lld", (long long)s->holds[0].least);
    expect(kind, lock, "held_by(hold_in_first) <= %lld", (long long)s->holds[0].most);
    expect(kind, lock, "held_by(hold_in_second) >= %lld", (long long)s->holds[1].least);
    expect(kind, lock, "held_by(hold_in_second) <= %lld", (long long)s->holds[1].most);
    expect(kind, lock, "idle_ns.total >= %lld", (long long)s->idle.least);
    expect(kind, lock, "idle_ns.total <= %lld", (long long)s->idle.most);
    expect(kind, lock, "idle_ns.max >= %lld", FREE_MS * MS);
    expect(kind, lock, "worst_idle.releaser ~ hold_and_leave_free");
    expect(kind, lock, "worst_idle.waiter ~ want");
    return 0;
}
