/* Many locks that live at the same time, more than have rows of their own, and one that threads wait for: it has its own
 * row, though it comes last. UNC_DEPTH=full: 500,000 of each kind. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 2, HOLDS = 3, HOLD_MS = 30 };

struct lives {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
};

static struct lives *locks;
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static long live;

NOINLINE static void take(struct lives *lock) {
    pthread_mutex_lock(&lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
}

NOINLINE static void share(struct lives *lock) {
    pthread_rwlock_rdlock(&lock->rwlock);
    pthread_rwlock_unlock(&lock->rwlock);
    pthread_rwlock_wrlock(&lock->rwlock);
    pthread_rwlock_unlock(&lock->rwlock);
}

static void *body(void *number) {
    for (int round = 0; round < ROUNDS; round++)
        for (long i = 0; i < live; i++) {
            struct lives *lock = &locks[(i + (long)(intptr_t)number * (live / THREADS)) % live];
            take(lock);
            if (round == 0) share(lock);
        }
    return NULL;
}

NOINLINE static void hold(void) {
    pthread_mutex_lock(&hot);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&hot);
}

static void *contend(void *unused) {
    for (int i = 0; i < HOLDS; i++) hold();
    return unused;
}

int main(void) {
    const char *depth = getenv("UNC_DEPTH");
    live = depth != NULL && strcmp(depth, "full") == 0 ? 500000 : 20000;
    locks = calloc(live, sizeof *locks);
    int64_t begun = now_ns();
    for (long i = 0; i < live; i++) {
        pthread_mutex_init(&locks[i].mutex, NULL);
        pthread_rwlock_init(&locks[i].rwlock, NULL);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start(body, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    fprintf(stderr, "%lld us\n", (long long)(now_ns() - begun) / 1000);
    for (int i = 0; i < THREADS; i++) threads[i] = start(contend, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect("mutex", NULL, "acquisitions+dropped = %ld", THREADS * (ROUNDS * live + HOLDS));
    expect("rwlock-read", NULL, "acquisitions+dropped = %ld", THREADS * live);
    expect("rwlock-write", NULL, "acquisitions+dropped = %ld", THREADS * live);
    /* Each thread's first acquisition may be in a sum: before it waited. */
    expect("mutex", &hot, "acquisitions >= %d", THREADS * HOLDS - THREADS);
    expect("mutex", &hot, "blocked >= %d", THREADS - 1);
    expect("mutex", &hot, "wait_ns.total >= %lld", HOLD_MS * MS);
    expect("mutex", &hot, "idle_ns = null");
    expect("mutex", &hot, "summed = part");
    return 0;
}
