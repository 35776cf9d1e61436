/* A process that is not observed holds a lock that this one waits for: shared_unseen HOW. HOW: mutex, rwlock. What
 * looks like a free lock from here was held there. */
#include "truth.h"

enum { ROUNDS = 5, HOLD_MS = 25, BYTES = 4096 };

typedef struct {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    _Atomic int held, taken;
} shared;

static shared *s;
static char how;

static void take(void) {
    if (how == 'm') REQUIRE(pthread_mutex_lock(&s->mutex) == 0);
    else REQUIRE(pthread_rwlock_wrlock(&s->rwlock) == 0);
}

static void give(void) {
    if (how == 'm') REQUIRE(pthread_mutex_unlock(&s->mutex) == 0);
    else REQUIRE(pthread_rwlock_unlock(&s->rwlock) == 0);
}

/* In the other process. */
static void hold(void) {
    for (int round = 1; round <= ROUNDS; round++) {
        take();
        s->held = round;
        nap_ms(HOLD_MS);
        give();
        while (s->taken < round) nap_ms(1);
    }
}

static void make(void) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_t rwlock;
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    REQUIRE(pthread_rwlock_init(&s->rwlock, &rwlock) == 0);
}

int main(int count, char **arguments) {
    how = arguments[1][0];
    int file = count == 3 ? atoi(arguments[2]) : (int)syscall(SYS_memfd_create, "shared", 0);
    REQUIRE(file >= 0 && ftruncate(file, BYTES) == 0);
    s = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(s != MAP_FAILED);
    if (count == 3) {
        hold();
        return 0;
    }
    make();
    take();
    give();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", file);
        unsetenv("LD_PRELOAD");
        execl("/proc/self/exe", arguments[0], arguments[1], number, (char *)NULL);
        _exit(99);
    }
    for (int round = 1; round <= ROUNDS; round++) {
        while (s->held < round) nap_ms(1);
        take();
        give();
        s->taken = round;
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    const char *kind = how == 'm' ? "mutex" : "rwlock-write";
    const void *lock = how == 'm' ? (void *)&s->mutex : (void *)&s->rwlock;
    expect(kind, lock, "blocked = %d", ROUNDS);
    expect(kind, lock, "shared = true");
    expect(kind, lock, "processes = null");
    expect(kind, lock, "idle_ns = null");
    expect(kind, lock, "blame.idle_ns = 0");
    return 0;
}
