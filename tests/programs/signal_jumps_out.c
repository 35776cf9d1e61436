/* A signal handler that never returns (siglongjmp) leaves whatever it interrupted unfinished, the observer's own work too:
 * what is locked afterwards is counted all the same. */
#include "truth.h"
#include <setjmp.h>
#include <sys/time.h>

/* Fewer than those of which a record has each one. */
enum { LOCKS = 7000, JUMPS = 300, AFTER = 1000, THREADS = 300, EACH = 10 };
static pthread_mutex_t fresh[LOCKS], after = PTHREAD_MUTEX_INITIALIZER, by_threads = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first[THREADS];
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t armed;
static volatile sig_atomic_t jumps, next;
static _Atomic int ready, done;

static void jump(int signal) {
    (void)signal;
    if (!armed) return;
    armed = 0;
    jumps++;
    siglongjmp(back, 1);
}

/* The first event of a thread is interrupted, if it can be hit. */
static void *begin(void *mine) {
    if (sigsetjmp(back, 1) == 0) {
        ready = 1;
        armed = 1;
        pthread_mutex_lock(mine);
        pthread_mutex_unlock(mine);
    }
    armed = 0;
    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&by_threads);
        pthread_mutex_unlock(&by_threads);
    }
    done = 1;
    return NULL;
}

int main(void) {
    signal(SIGUSR1, jump);
    for (int i = 0; i < THREADS; i++) {
        ready = done = 0;
        pthread_t thread = start(begin, &first[i]);
        while (!ready) {}
        for (int spin = i % 50 * 20; spin > 0; spin--) __asm__ volatile("");
        if (!done) pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
    expect("mutex", &by_threads, "acquisitions = %d", THREADS * EACH);

    jumps = 0;
    signal(SIGALRM, jump);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(back, 1);
    while (jumps < JUMPS && next < LOCKS) {
        pthread_mutex_t *lock = &fresh[next++]; /* never met before, so that much is recorded */
        armed = 1;
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        armed = 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    REQUIRE(jumps > 0);
    for (int i = 0; i < AFTER; i++) {
        pthread_mutex_lock(&after);
        pthread_mutex_unlock(&after);
    }
    expect("mutex", &after, "acquisitions = %d", AFTER);
    expect("mutex", &after, "hold_ns.count = %d", AFTER);
    return 0;
}
