/* Every type of mutex keeps what POSIX says of it: recursive, error-checking, robust, process-shared, inheriting. */
#include "truth.h"

static void typed(pthread_mutex_t *mutex, int type, int robust, int protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    REQUIRE(pthread_mutex_init(mutex, &attributes) == 0);
}

static pthread_mutex_t recursive, checking, robust, inheriting;
static pthread_rwlock_t writing = PTHREAD_RWLOCK_INITIALIZER;

static void *die_holding(void *unused) {
    pthread_mutex_lock(&robust);
    return unused;
}

static void *unlock_a_strangers(void *unused) {
    REQUIRE(pthread_mutex_unlock(&checking) == EPERM);
    return unused;
}

static void *take_inheriting(void *unused) {
    pthread_mutex_lock(&inheriting);
    pthread_mutex_unlock(&inheriting);
    return unused;
}

int main(void) {
    typed(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    for (int i = 0; i < 3; i++) REQUIRE(pthread_mutex_lock(&recursive) == 0);
    nap_ms(10);
    for (int i = 0; i < 3; i++) REQUIRE(pthread_mutex_unlock(&recursive) == 0);
    REQUIRE(pthread_mutex_unlock(&recursive) == EPERM);
    expect("mutex", &recursive, "acquisitions = 3");
    expect("mutex", &recursive, "blocked = 0");
    expect("mutex", &recursive, "hold_ns.max >= %lld", 10 * MS);

    typed(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    REQUIRE(pthread_mutex_lock(&checking) == 0);
    REQUIRE(pthread_mutex_lock(&checking) == EDEADLK);
    pthread_join(start(unlock_a_strangers, NULL), NULL);
    REQUIRE(pthread_mutex_unlock(&checking) == 0);
    expect("mutex", &checking, "acquisitions = 1");
    expect("mutex", &checking, "blocked = 0");
    expect("mutex", &checking, "hold_ns.count = 1");

    REQUIRE(pthread_rwlock_wrlock(&writing) == 0);
    REQUIRE(pthread_rwlock_wrlock(&writing) == EDEADLK);
    REQUIRE(pthread_rwlock_rdlock(&writing) == EDEADLK);
    REQUIRE(pthread_rwlock_unlock(&writing) == 0);
    expect("rwlock-write", &writing, "acquisitions = 1");
    expect("rwlock-write", &writing, "blocked = 0");
    expect("rwlock-write", &writing, "variable = writing");

    typed(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    pthread_join(start(die_holding, NULL), NULL);
    REQUIRE(pthread_mutex_lock(&robust) == EOWNERDEAD);
    REQUIRE(pthread_mutex_consistent(&robust) == 0);
    REQUIRE(pthread_mutex_unlock(&robust) == 0);
    expect("mutex", &robust, "acquisitions = 2");

    typed(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    pthread_mutex_lock(&inheriting);
    pthread_t other = start(take_inheriting, NULL);
    nap_ms(30);
    pthread_mutex_unlock(&inheriting);
    pthread_join(other, NULL);
    expect("mutex", &inheriting, "acquisitions = 2");

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_init(shared, &attributes);
    pthread_mutex_lock(shared);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(shared);
        pthread_mutex_unlock(shared);
        _exit(0);
    }
    nap_ms(60);
    pthread_mutex_unlock(shared);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    expect("mutex", shared, "shared = true");
    expect("mutex", shared, "acquisitions = 2");
    expect("mutex", shared, "blocked = 1");
    expect("mutex", &robust, "shared = false");
    return 0;
}
