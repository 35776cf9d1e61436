/* A semaphore that no thread has posted yet: it began with one event, which a thread took. That thread does not hold it,
 * whoever waits for the next event.
 *
 * self: the taker waits again; several: others wait, too; shared: it waits in a process of its own; timed: another thread
 * waits for the event until its time runs out, while it holds a mutex that a third one wants. */
#include "truth.h"
#include <sys/prctl.h>

enum { WAITERS = 3, LONG_MS = 1200, LIMIT_MS = 100 };
static sem_t *events;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t tids[WAITERS];

NOINLINE static void take_event(void) { sem_wait(events); __asm__ volatile(""); }

static void *waits(void *number) {
    tids[(uintptr_t)number] = my_tid();
    take_event();
    return NULL;
}

static void *takes_and_waits(void *number) {
    take_event();
    return waits(number);
}

static void *takes(void *unused) {
    take_event();
    nap_ms(3 * LIMIT_MS);
    return unused;
}

static struct timespec soon(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LIMIT_MS * MS;
    if (until.tv_nsec >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    return until;
}

static void *wants(void *unused) {
    tids[0] = my_tid();
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return unused;
}

NOINLINE static void hold_for_event(void) {
    pthread_mutex_lock(&m);
    pthread_t other = start(wants, NULL);
    await_asleep(&tids[0]);
    struct timespec until = soon();
    REQUIRE(sem_timedwait(events, &until) == -1 && errno == ETIMEDOUT);
    pthread_mutex_unlock(&m);
    pthread_join(other, NULL);
}

static int timed(void) {
    pthread_t taker = start(takes, NULL);
    nap_ms(LIMIT_MS / 2);
    hold_for_event();
    pthread_join(taker, NULL);
    expect("semaphore", events, "timed_out.count = 1");
    expect("semaphore", events, "held_by = null");
    expect("semaphore", events, "class = unknown");
    expect("mutex", &m, "held_by(hold_for_event) >= %lld", LIMIT_MS / 2 * MS);
    expect("mutex", &m, "held_by.0.passed_on_ns = 0");
    expect("culprit", NULL, "function = hold_for_event");
    return 0;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const char *mode = argv[1];
    int is_shared = strcmp(mode, "shared") == 0, waiters = 1;
    events = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(events != MAP_FAILED && sem_init(events, is_shared, 1) == 0);
    if (strcmp(mode, "timed") == 0) return timed();
    if (is_shared) {
        static _Atomic pid_t child;
        if ((child = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            takes_and_waits((void *)0);
            return 98;
        }
        REQUIRE(child > 0);
        await_process(&child, 'S');
    } else {
        start(takes_and_waits, (void *)0);
        await_asleep(&tids[0]);
        if (strcmp(mode, "several") == 0)
            for (; waiters < WAITERS; waiters++) start(waits, (void *)(uintptr_t)waiters);
        for (int n = 0; n < waiters; n++) await_asleep(&tids[n]);
    }
    nap_ms(LONG_MS);
    expect("semaphore", events, "acquisitions = 1");
    expect("semaphore", events, "class = unknown");
    expect("semaphore", events, "unfinished.count = %d", waiters);
    expect("semaphore", events, "unfinished.holder = null");
    expect("semaphore", events, "unfinished.held_ns = null");
    raise(SIGKILL);
    return 0;
}
