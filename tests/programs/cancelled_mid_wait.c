/* A thread is cancelled in a condition wait, which ends then. It has the mutex again, until its cleanup handler gives that
 * back. The argument: `forever` (pthread_cond_wait); `timed` (pthread_cond_timedwait); `works`: the handler works with the
 * mutex while another thread waits for that; `behind`: another thread has the mutex when it cancels it, for a while;
 * `kept`: there is no handler, so the mutex stays with the thread that has ended. */
#include "truth.h"

enum { WAIT_MS = 50 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static const char *mode;
static _Atomic pid_t waiter;
static int64_t called_ns, cancelled_ns;
static _Atomic int works;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static struct timespec in_s(int s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += s;
    return until;
}

static void give_back(void *unused) {
    (void)unused;
    works = 1;
    if (is("works")) nap_ms(2 * WAIT_MS);
    pthread_mutex_unlock(&m);
    nap_ms(2 * WAIT_MS);
}

NOINLINE static void wait_here(void) {
    struct timespec until = in_s(1000);
    called_ns = now_ns();
    waiter = my_tid();
    for (;;) {
        if (is("timed")) pthread_cond_timedwait(&c, &m, &until);
        else pthread_cond_wait(&c, &m);
    }
}

static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&m);
    if (is("kept")) wait_here();
    pthread_cleanup_push(give_back, NULL);
    wait_here();
    pthread_cleanup_pop(0);
    return unused;
}

NOINLINE static void cancel_holding(pthread_t thread) {
    pthread_mutex_lock(&m);
    cancelled_ns = now_ns();
    REQUIRE(pthread_cancel(thread) == 0);
    nap_ms(2 * WAIT_MS);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

int main(int count, char **arguments) {
    mode = count > 1 ? arguments[1] : "forever";
    pthread_t a = start(wait_for_ever, NULL);
    await_asleep(&waiter);
    nap_ms(WAIT_MS);
    if (is("behind")) {
        cancel_holding(a);
        REQUIRE(pthread_join(a, NULL) == 0);
    } else {
        cancelled_ns = now_ns();
        REQUIRE(pthread_cancel(a) == 0);
        while (is("works") && !works) nap_ms(1);
        if (!is("works")) REQUIRE(pthread_join(a, NULL) == 0);
    }
    int is_kept = is("kept");
    if (is_kept) {
        struct timespec until = in_s(1);
        REQUIRE(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
    } else {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    if (is("works")) REQUIRE(pthread_join(a, NULL) == 0);
    expect("condition", &c, "acquisitions = 1");
    expect("condition", &c, "blocked = 1");
    expect("condition", &c, "timed_out.count = 1");
    expect("condition", &c, "wait_ns.total >= %lld", WAIT_MS * MS);
    expect("condition", &c, "waited_in(wait_here) >= %lld", WAIT_MS * MS);
    expect("condition", &c, "unfinished = null");
    expect("condition", &c, "wait_ns.total <= %lld", (long long)(cancelled_ns - called_ns + 5 * MS));
    expect("mutex", &m, "acquisitions = %d", is_kept ? 2 : is("behind") ? 4 : 3);
    if (is_kept) {
        expect("mutex", &m, "timed_out.count = 1");
        expect("mutex", &m, "blame.held_ns >= %lld", 900 * MS);
    } else {
        expect("mutex", &m, "blocked <= 1");
    }
    if (is("works") || is("behind")) {
        expect("mutex", &m, "blocked = 1");
        expect("mutex", &m, "held_by(%s) >= %lld", is("works") ? "wait_for_ever" : "cancel_holding", (2 * WAIT_MS - 10) * MS);
    }
    return 0;
}
