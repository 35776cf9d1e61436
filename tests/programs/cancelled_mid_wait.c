/* A thread is cancelled in a condition wait, which ends then: until its cleanup handler gives the mutex back. The lock works
 * on. The argument: `forever` (pthread_cond_wait), `timed` (pthread_cond_timedwait), or `kept`: there is no handler, so the
 * mutex stays with the thread that has ended. */
#include "truth.h"

enum { WAIT_MS = 50 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static const char *mode;
static _Atomic pid_t waiter;
static int64_t called_ns, cleaned_ns;

static struct timespec in_s(int s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += s;
    return until;
}

static void give_back(void *unused) {
    (void)unused;
    pthread_mutex_unlock(&m);
    cleaned_ns = now_ns();
    nap_ms(2 * WAIT_MS);
}

NOINLINE static void wait_here(void) {
    struct timespec until = in_s(1000);
    called_ns = now_ns();
    waiter = my_tid();
    for (;;) {
        if (strcmp(mode, "timed") == 0) pthread_cond_timedwait(&c, &m, &until);
        else pthread_cond_wait(&c, &m);
    }
}

static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&m);
    if (strcmp(mode, "kept") == 0) wait_here();
    pthread_cleanup_push(give_back, NULL);
    wait_here();
    pthread_cleanup_pop(0);
    return unused;
}

int main(int count, char **arguments) {
    mode = count > 1 ? arguments[1] : "forever";
    pthread_t a = start(wait_for_ever, NULL);
    await_asleep(&waiter);
    nap_ms(WAIT_MS);
    cancel(a);
    int is_kept = strcmp(mode, "kept") == 0;
    if (is_kept) {
        struct timespec until = in_s(1);
        REQUIRE(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
    } else {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    expect("condition", &c, "acquisitions = 1");
    expect("condition", &c, "blocked = 1");
    expect("condition", &c, "timed_out.count = 1");
    expect("condition", &c, "wait_ns.total >= %lld", WAIT_MS * MS);
    expect("condition", &c, "waited_in(wait_here) >= %lld", WAIT_MS * MS);
    expect("condition", &c, "unfinished = null");
    expect("mutex", &m, "acquisitions = %d", is_kept ? 2 : 3);
    if (is_kept) {
        expect("mutex", &m, "timed_out.count = 1");
        expect("mutex", &m, "blame.held_ns >= %lld", 900 * MS);
    } else {
        expect("condition", &c, "wait_ns.total <= %lld", (long long)(cleaned_ns - called_ns + MS));
        expect("mutex", &m, "blocked <= 1");
    }
    return 0;
}
