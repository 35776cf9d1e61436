/* A pool of two permits. A thread that waits for one waits for both of their holders: each is to blame for half of the
 * time. Then the same function has both. */
#include "truth.h"

enum { NAP_MS = 60, LONGER_MS = 20 };
static sem_t pool;
static pthread_barrier_t held, over;

NOINLINE static void keep(int ms) {
    sem_wait(&pool);
    pthread_barrier_wait(&held);
    nap_ms(ms);
    sem_post(&pool);
    __asm__ volatile("");
}

NOINLINE static void use(int ms) {
    sem_wait(&pool);
    pthread_barrier_wait(&held);
    nap_ms(ms);
    sem_post(&pool);
    __asm__ volatile("");
}

static void *keeps(void *unused) {
    keep(NAP_MS + LONGER_MS);
    pthread_barrier_wait(&over);
    keep(NAP_MS + LONGER_MS);
    return unused;
}

static void *uses(void *unused) {
    use(NAP_MS);
    pthread_barrier_wait(&over);
    keep(NAP_MS);
    return unused;
}

/* How long it waited. */
static int64_t want(void) {
    pthread_barrier_wait(&held);
    int64_t call = now_ns();
    sem_wait(&pool);
    int64_t ns = now_ns() - call;
    sem_post(&pool);
    return ns;
}

int main(void) {
    sem_init(&pool, 0, 2);
    pthread_barrier_init(&held, NULL, 3);
    pthread_barrier_init(&over, NULL, 3);
    pthread_t a = start(keeps, NULL), b = start(uses, NULL);
    int64_t both = want();
    pthread_barrier_wait(&over);
    int64_t one = want();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int64_t slack = 2 * MS + both / 50;
    expect("semaphore", &pool, "variable = pool");
    expect("semaphore", &pool, "class = contention");
    expect("semaphore", &pool, "blocked = 2");
    expect("semaphore", &pool, "wait_ns.total <= %lld", (long long)(both + one));
    expect("semaphore", &pool, "held_by(keep) >= %lld", (long long)(both / 2 + one - slack));
    expect("semaphore", &pool, "held_by(keep) <= %lld", (long long)(both / 2 + one + slack));
    expect("semaphore", &pool, "held_by(use) >= %lld", (long long)(both / 2 - slack));
    expect("semaphore", &pool, "held_by(use) <= %lld", (long long)(both / 2 + slack));
    expect("semaphore", &pool, "held_by.0.holds = 3");
    expect("semaphore", &pool, "hold_ns = null");
    return 0;
}
