/* A signal handler that never returns (siglongjmp) leaves whatever it interrupted unfinished, the observer's own work too:
 * what is locked afterwards is counted all the same. */
#include "truth.h"
#include <setjmp.h>
#include <sys/time.h>

enum { LOCKS = 1 << 16, JUMPS = 300, AFTER = 1000 };
static pthread_mutex_t fresh[LOCKS], after = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;
static volatile sig_atomic_t armed, jumps, next;

static void jump(int signal) {
    (void)signal;
    if (!armed) return;
    armed = 0;
    jumps++;
    siglongjmp(back, 1);
}

int main(void) {
    signal(SIGALRM, jump);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
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
