/* Observed, mutexes that glibc's trylock changes are only locked: a robust one that cannot be recovered, whose next lock
 * would hang, and priority-protected ones, whose second call has another result than their first. */
#include "truth.h"

static pthread_mutex_t lost, guarded;
static pthread_mutex_t *left;
static struct timespec past = {1, 0};

static void make(pthread_mutex_t *mutex, int type, int robust, int protocol, int shared) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setpshared(&attributes, shared);
    REQUIRE(pthread_mutex_init(mutex, &attributes) == 0);
}

static void *die_holding(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}

static int in_child(void) {
    pid_t child = fork();
    if (child == 0) {
        int result = pthread_mutex_lock(left);
        if (result == EOWNERDEAD) pthread_mutex_unlock(left);
        _exit(result);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* What the calls return: the same as bare. */
static void protected_results(int type) {
    make(&guarded, type, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT, PTHREAD_PROCESS_PRIVATE);
    printf("results %d", pthread_mutex_lock(&guarded));
    printf(" %d", pthread_mutex_timedlock(&guarded, &past));
    printf(" %d\n", pthread_mutex_trylock(&guarded));
}

int main(void) {
    alarm(30);
    int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE};
    for (int i = 0; i < 3; i++) protected_results(types[i]);

    make(&lost, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    pthread_join(start(die_holding, &lost), NULL);
    REQUIRE(pthread_mutex_lock(&lost) == EOWNERDEAD);
    REQUIRE(pthread_mutex_unlock(&lost) == 0);
    for (int i = 0; i < 3; i++) REQUIRE(pthread_mutex_lock(&lost) == ENOTRECOVERABLE);
    for (int i = 0; i < 3; i++) REQUIRE(pthread_mutex_timedlock(&lost, &past) == ENOTRECOVERABLE);
    expect("mutex", &lost, "acquisitions = 2");
    expect("mutex", &lost, "blocked = 0");

    left = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make(left, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    pthread_mutex_lock(left);
    pthread_mutex_unlock(left);
    fflush(stdout);
    if (fork() == 0) {
        pthread_mutex_lock(left);
        _exit(0);
    }
    wait(NULL);
    REQUIRE(in_child() == EOWNERDEAD);
    for (int i = 0; i < 3; i++) REQUIRE(in_child() == ENOTRECOVERABLE);
    return 0;
}
