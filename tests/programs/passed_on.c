/* Locks in all but name: a flag with a condition, one whose waiters ask again after a timeout (as Python's interpreter
 * lock), and a futex. Each has one thread that keeps it for 20 ms at a time and three that keep it for a moment: the
 * waiting is the long one's, although the others wake each other. Then objects that only look like it: workers that
 * take turns at a queue which they fill themselves, a queue that announces each change to all at one condition (as
 * pigz's), and a barrier of a condition. */
#include "truth.h"
#include <linux/futex.h>

enum { LONG = 10, SHORT = 3, LONG_MS = 20, PAUSE_MS = 2 };

struct flag {
    pthread_mutex_t m;
    pthread_cond_t c;
    int taken, again_ms;
};
static struct flag flag = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
static struct flag asking = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 3};
static _Atomic uint32_t word;
static _Atomic int done, wanting;
static _Atomic pid_t long_tid;

static void wait_for(struct flag *f) {
    if (f->again_ms == 0) {
        pthread_cond_wait(&f->c, &f->m);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    if ((until.tv_nsec += f->again_ms * MS) >= 1000 * MS) until.tv_sec++, until.tv_nsec -= 1000 * MS;
    pthread_cond_timedwait(&f->c, &f->m, &until);
}

static void take_flag(struct flag *f) {
    pthread_mutex_lock(&f->m);
    while (f->taken) wait_for(f);
    f->taken = 1;
    pthread_mutex_unlock(&f->m);
}

static void take_word(void) {
    uint32_t free = 0;
    if (atomic_compare_exchange_strong(&word, &free, 1)) return;
    while (atomic_exchange(&word, 2) != 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

/* In the code that keeps it, which is to be named. */
#define LEAVE(f)                                                                                                \
    if (f) {                                                                                                    \
        pthread_mutex_lock(&f->m);                                                                              \
        f->taken = 0;                                                                                           \
        pthread_cond_signal(&f->c);                                                                             \
        pthread_mutex_unlock(&f->m);                                                                            \
    } else if (atomic_exchange(&word, 0) == 2) {                                                                \
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);                                        \
    }

static void take(struct flag *f) {
    wanting++;
    f ? take_flag(f) : take_word();
    wanting--;
}

NOINLINE static void keep_long(struct flag *f) {
    take(f);
    nap_ms(LONG_MS);
    LEAVE(f)
    __asm__ volatile("");
}

NOINLINE static void keep_short(struct flag *f) {
    take(f);
    LEAVE(f)
    __asm__ volatile("");
}

static void *long_one(void *f) {
    long_tid = my_tid();
    for (int i = 0; i < LONG; i++) {
        keep_long(f);
        do nap_ms(PAUSE_MS);
        while (wanting > 0); /* It takes what is free, not what a thread has been woken for. */
    }
    done = 1;
    return NULL;
}

static void *short_one(void *f) {
    while (!done) {
        keep_short(f);
        struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void together(struct flag *f) {
    pthread_t threads[1 + SHORT];
    done = 0;
    long_tid = 0;
    if (!f) take_word();
    threads[0] = start(long_one, f);
    if (!f) { /* A thread is known to have a futex that it once waited for. */
        await_asleep(&long_tid);
        LEAVE(f)
    }
    for (int i = 1; i <= SHORT; i++) threads[i] = start(short_one, f);
    for (int i = 0; i <= SHORT; i++) pthread_join(threads[i], NULL);
}

/* Workers that add what they find: each wakes others, and several are awake at a time. */
enum { WORKERS = 4, JOBS = 300 };
static pthread_mutex_t queue_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_c = PTHREAD_COND_INITIALIZER;
static int queued = 1, made = 1, finished;

static void *worker(void *unused) {
    pthread_mutex_lock(&queue_m);
    while (finished < JOBS) {
        if (queued == 0) {
            pthread_cond_wait(&queue_c, &queue_m);
            continue;
        }
        queued--;
        pthread_mutex_unlock(&queue_m);
        nap_ms(1);
        pthread_mutex_lock(&queue_m);
        finished++;
        for (int more = 0; more < 2 && made < JOBS; more++) {
            made++, queued++;
            pthread_cond_signal(&queue_c);
        }
        if (finished == JOBS) pthread_cond_broadcast(&queue_c);
        nap_ms(0);
    }
    pthread_mutex_unlock(&queue_m);
    return unused;
}

/* A queue of room for one: producer and consumer wait at one condition, in turn. */
enum { ITEMS = 100 };
static pthread_mutex_t both_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t both_c = PTHREAD_COND_INITIALIZER;
static int in_queue;

static void change(int from, int to) {
    pthread_mutex_lock(&both_m);
    while (in_queue != from) pthread_cond_wait(&both_c, &both_m);
    in_queue = to;
    pthread_cond_broadcast(&both_c);
    pthread_mutex_unlock(&both_m);
}

static void *consumer(void *unused) {
    for (int i = 0; i < ITEMS; i++) change(1, 0);
    return unused;
}

static void produce(void) {
    pthread_t thread = start(consumer, NULL);
    for (int i = 0; i < ITEMS; i++) {
        change(0, 1);
        nap_ms(1);
    }
    pthread_join(thread, NULL);
}

/* A barrier of three. */
enum { PARTIES = 3, ROUNDS = 60 };
static pthread_mutex_t barrier_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t barrier_c = PTHREAD_COND_INITIALIZER;
static int arrived, round_of;

static void *party(void *number) {
    for (int i = 0; i < ROUNDS; i++) {
        if ((i + (int)(intptr_t)number) % PARTIES == 0) nap_ms(1);
        pthread_mutex_lock(&barrier_m);
        int mine = round_of;
        if (++arrived == PARTIES) {
            arrived = 0, round_of++;
            pthread_cond_broadcast(&barrier_c);
        }
        while (round_of == mine) pthread_cond_wait(&barrier_c, &barrier_m);
        pthread_mutex_unlock(&barrier_m);
    }
    return NULL;
}

int main(void) {
    together(&flag);
    together(&asking);
    together(NULL);
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) threads[i] = start(worker, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    produce();
    for (int i = 0; i < PARTIES; i++) threads[i] = start(party, (void *)(intptr_t)i);
    for (int i = 0; i < PARTIES; i++) pthread_join(threads[i], NULL);

    expect("condition", &flag.c, "class = contention");
    expect("condition", &asking.c, "class = contention");
    expect("futex", &word, "class = contention");
    expect("futex", &word, "like = mutex");
    expect("condition", &flag.c, "ended_by.0.site.function = keep_long");
    expect("condition", &asking.c, "ended_by.0.site.function = keep_long");
    expect("futex", &word, "ended_by.0.site.function = keep_long");
    expect("condition", &flag.c, "ended_by(keep_long) >= %lld", LONG * LONG_MS * MS);
    expect("condition", &asking.c, "ended_by(keep_long) >= %lld", LONG * LONG_MS * MS);
    expect("futex", &word, "ended_by(keep_long) >= %lld", LONG * LONG_MS * MS);
    expect("condition", &flag.c, "waited_in.0.site.function = wait_for");
    expect("futex", &word, "waited_in.0.site.function = take_word");
    expect("condition", &queue_c, "class = queue");
    expect("condition", &both_c, "class = queue");
    expect("condition", &barrier_c, "class = queue");
    return 0;
}
