/* Random work on random mutexes by several threads, each of which logs when it wanted a mutex, had it and gave it back:
 * the observer must divide the waiting for each mutex among the functions that held it, and the time in which it was
 * free, as the logs do. Some holds take a second mutex: of the row of the first one, they are one hold all the same.
 *
 * The observer has times of its own, inside the calls. What it does between its time and the log's, some microseconds
 * for each wait, is less than 1 % of the waiting and 5 ms. A thread that loses its CPU just there, for up to 15 ms
 * (`WITHOUT_CPU_NS` of ground_truth.rs), moves as much from one side to another for each thread that waits meanwhile: at
 * most all others. That is seldom, even on a busy machine. So `expect` allows for it and `close` does not: lines of
 * the same form, which must hold in most runs (ground_truth/division.rs). */
#include "truth.h"

enum { LOCKS = 3, THREADS = 8, STEPS = 200, MOST = 2 * STEPS };
enum site { COMPUTES, SLEEPS, SLEEPS_BRIEFLY, SELDOM_LONG, NESTED, SITES };
static const char *const functions[SITES] = {
    "hold_computing", "hold_sleeping", "hold_sleeping_briefly", "hold_seldom_long", "hold_with_another",
};
static const int64_t between_ns = 5 * MS, without_cpu_ns = 15 * MS;

/* One acquisition. */
struct hold {
    int64_t wanted, taken, given;
    int lock;
    enum site site;
};

struct log {
    struct hold holds[MOST];
    int count;
};

static pthread_mutex_t locks[LOCKS];
static struct log logs[THREADS];
static unsigned seed;

static void nap_us(unsigned us) {
    struct timespec t = {0, us * 1000L}, left;
    while (nanosleep(&t, &left) != 0) t = left;
}

static void spin_us(unsigned us) {
    int64_t end = now_ns() + us * 1000LL;
    while (now_ns() < end) {}
}

/* Macros, so that the function that holds the mutex calls it, and nothing is between the call and the log. */
#define TAKE(log, which, by)                                                     \
    struct hold *own = &(log)->holds[(log)->count++];                            \
    own->lock = (which), own->site = (by);                                       \
    own->wanted = now_ns();                                                      \
    pthread_mutex_lock(&locks[own->lock]);                                       \
    own->taken = now_ns()

#define GIVE()                                                                   \
    own->given = now_ns();                                                       \
    pthread_mutex_unlock(&locks[own->lock]);                                     \
    __asm__ volatile("")

NOINLINE static void hold_computing(struct log *log, int lock, unsigned chance) {
    TAKE(log, lock, COMPUTES);
    spin_us(chance % 100);
    GIVE();
}

NOINLINE static void hold_sleeping(struct log *log, int lock, unsigned chance) {
    TAKE(log, lock, SLEEPS);
    nap_us(500 + chance % 3000);
    GIVE();
}

NOINLINE static void hold_sleeping_briefly(struct log *log, int lock, unsigned chance) {
    TAKE(log, lock, SLEEPS_BRIEFLY);
    nap_us(100 + chance % 400);
    GIVE();
}

NOINLINE static void hold_seldom_long(struct log *log, int lock, unsigned chance) {
    TAKE(log, lock, SELDOM_LONG);
    if (chance % 50 == 0) nap_us(20000);
    GIVE();
}

NOINLINE static void hold_with_another(struct log *log, int lock, unsigned chance) {
    TAKE(log, lock, NESTED);
    if (lock + 1 < LOCKS) hold_sleeping_briefly(log, lock + 1, chance);
    GIVE();
}

static void *work(void *number) {
    static void (*const holds[SITES])(struct log *, int, unsigned) = {
        hold_computing, hold_sleeping, hold_sleeping_briefly, hold_seldom_long, hold_with_another,
    };
    unsigned state = seed * 31 + (unsigned)(uintptr_t)number;
    struct log *log = &logs[(uintptr_t)number];
    for (int i = 0; i < STEPS; i++) {
        int lock = rand_r(&state) % LOCKS;
        holds[rand_r(&state) % SITES](log, lock, (unsigned)rand_r(&state));
        if (rand_r(&state) % 3 == 0) nap_us(rand_r(&state) % 2000);
    }
    return NULL;
}

static int in_order(const void *a, const void *b) {
    const struct hold *first = a, *second = b;
    return (first->taken > second->taken) - (first->taken < second->taken);
}

/* All holds of a mutex, the first one first. */
static int holds_of(int lock, struct hold *all) {
    int count = 0;
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < logs[t].count; i++) {
            if (logs[t].holds[i].lock == lock) all[count++] = logs[t].holds[i];
        }
    }
    qsort(all, count, sizeof *all, in_order);
    for (int i = 1; i < count; i++) REQUIRE(all[i - 1].given <= all[i].taken);
    return count;
}

/* Adds the wait before a hold to the functions that held the mutex in it; returns the part in which it was free. Who
 * found the mutex free waited for no hold. */
static int64_t divide(const struct hold *all, int own, int64_t by[SITES]) {
    int64_t waited = all[own].taken - all[own].wanted, held = 0;
    for (int i = own - 1; i >= 0 && all[i].given > all[own].wanted; i--) {
        int64_t from = all[i].taken > all[own].wanted ? all[i].taken : all[own].wanted;
        by[all[i].site] += all[i].given - from;
        held += all[i].given - from;
    }
    return held > 0 ? waited - held : 0;
}

/* The figure of the report, of which `waited` is all the waiting. */
static void is_about(int lock, const char *field, int64_t ns, int64_t waited) {
    static const char *const how[] = {"close", "expect"};
    for (int i = 0; i < 2; i++) {
        int64_t tolerance = waited / 100 + between_ns + i * (THREADS - 1) * without_cpu_ns;
        const void *address = &locks[lock];
        printf("%s %d mutex %p %s >= %lld\n", how[i], getpid(), address, field, (long long)(ns - tolerance));
        printf("%s %d mutex %p %s <= %lld\n", how[i], getpid(), address, field, (long long)(ns + tolerance));
    }
}

static void check(int lock) {
    static struct hold all[THREADS * MOST];
    int64_t by[SITES] = {0}, held = 0, idle = 0;
    int count = holds_of(lock, all);
    for (int i = 0; i < count; i++) idle += divide(all, i, by);
    for (int site = 0; site < SITES; site++) held += by[site];
    for (int site = 0; site < SITES; site++) {
        char field[64];
        snprintf(field, sizeof field, "held_by(%s)", functions[site]);
        is_about(lock, field, by[site], held + idle);
    }
    is_about(lock, "blame.held_ns", held, held + idle);
    is_about(lock, "blame.idle_ns", idle, held + idle);
    is_about(lock, "wait_ns.total", held + idle, held + idle);
    expect("mutex", &locks[lock], "acquisitions = %d", count);
}

int main(int count, char **arguments) {
    seed = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start(work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < LOCKS; i++) check(i);
    return 0;
}
