/* A library that a user preloads: it has the program's own calls of two functions, and counts what it gets of three. OWN:
 * its lock is its own, for programs that never try. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static long locks, tries, unlocks;

#define NEXT(name, mutex)                                                            \
    ({                                                                               \
        static int (*next)(pthread_mutex_t *);                                       \
        if (!next) next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, name);        \
        next(mutex);                                                                 \
    })

#ifdef OWN
static int *word(pthread_mutex_t *mutex) { return (int *)mutex + 6; }

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    while (__sync_lock_test_and_set(word(mutex), 1)) sched_yield();
    __sync_fetch_and_add(&locks, 1);
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    __sync_fetch_and_add(&unlocks, 1);
    __sync_lock_release(word(mutex));
    return 0;
}
#else
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    __sync_fetch_and_add(&locks, 1);
    return NEXT("pthread_mutex_lock", mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    __sync_fetch_and_add(&tries, 1);
    return NEXT("pthread_mutex_trylock", mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    __sync_fetch_and_add(&unlocks, 1);
    return NEXT("pthread_mutex_unlock", mutex);
}
#endif

__attribute__((destructor)) static void say(void) {
    if (strcmp(program_invocation_short_name, "interposed") != 0) return;
    printf("results %ld %ld %ld\n", locks, tries, unlocks);
    fflush(stdout);
}
