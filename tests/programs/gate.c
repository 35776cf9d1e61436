/* A thread holds others off: each of ROUNDS times it holds the lock while all of them wait. They hold it for as long, one
 * after the other, while no thread waits for it. So one thread's holds cause the waiting, and not most of the holding. The
 * argument is the kind of lock: `mutex`, `semaphore`, `rwlock` (the thread writes, the others read) or `spin`. */
#include "truth.h"

enum { ROUNDS = 5, HOLD_MS = 20, WORKERS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static enum { MUTEX, SEMAPHORE, RWLOCK, SPIN } kind;
static _Atomic int kept, gone, turn;
static _Atomic pid_t waiting[WORKERS];
static pthread_t threads[WORKERS];

static void take(int writes) {
    switch (kind) {
    case MUTEX: pthread_mutex_lock(&m); break;
    case SEMAPHORE: while (sem_wait(&s) != 0) {} break;
    case RWLOCK: writes ? pthread_rwlock_wrlock(&rw) : pthread_rwlock_rdlock(&rw); break;
    case SPIN: pthread_spin_lock(&spin); break;
    }
}

static void give(void) {
    switch (kind) {
    case MUTEX: pthread_mutex_unlock(&m); break;
    case SEMAPHORE: sem_post(&s); break;
    case RWLOCK: pthread_rwlock_unlock(&rw); break;
    case SPIN: pthread_spin_unlock(&spin); break;
    }
}

static int64_t ran_ns(pthread_t thread) {
    clockid_t clock;
    struct timespec ran;
    REQUIRE(pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &ran) == 0);
    return ran.tv_sec * 1000 * MS + ran.tv_nsec;
}

/* Waits until a worker, which says so before, waits for the lock: it sleeps, or spins. */
static void await_waiter(int worker) {
    if (kind != SPIN) return await_asleep(&waiting[worker]);
    while (waiting[worker] == 0) nap_ms(1);
    int64_t before = ran_ns(threads[worker]);
    while (ran_ns(threads[worker]) < before + MS) nap_ms(1);
}

NOINLINE static void keep(void) {
    take(1);
    kept++;
    for (int i = 0; i < WORKERS; i++) await_waiter(i);
    nap_ms(HOLD_MS);
    give();
    __asm__ volatile("");
}

NOINLINE static void hold_alone(void) {
    take(0);
    nap_ms(2 * HOLD_MS);
    give();
    __asm__ volatile("");
}

static void *work(void *number) {
    int own = (int)(intptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        while (kept <= round) nap_ms(1);
        waiting[own] = my_tid();
        take(0);
        give();
        waiting[own] = 0;
        gone++;
        while (gone < (round + 1) * WORKERS || turn % WORKERS != own) nap_ms(1);
        hold_alone();
        turn++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "mutex";
    static const char *const names[] = {"mutex", "semaphore", "rwlock", "spin"};
    while (strcmp(names[kind], name) != 0) REQUIRE(++kind <= SPIN);
    sem_init(&s, 0, 1);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (intptr_t i = 0; i < WORKERS; i++) threads[i] = start(work, (void *)i);
    for (int round = 0; round < ROUNDS; round++) {
        keep();
        while (turn < (round + 1) * WORKERS) nap_ms(1);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    const char *row = kind == RWLOCK ? "rwlock-read" : name;
    const volatile void *locks[] = {&m, &s, &rw, &spin}, *lock = locks[kind];
    expect(row, lock, "class = gate");
    expect(row, lock, "keeper.tid = %d", getpid());
    expect(row, lock, "keeper.holds = %d", ROUNDS);
    expect(row, lock, "keeper.hold_ns >= %lld", (long long)ROUNDS * HOLD_MS * MS);
    expect(row, lock, "keeper.longest_ns >= %lld", (long long)HOLD_MS * MS);
    expect(row, lock, "keeper.wait_ns >= %lld", (long long)ROUNDS * WORKERS * HOLD_MS * MS);
    expect(row, lock, "held_by(keep) >= %lld", (long long)ROUNDS * WORKERS * HOLD_MS * MS);
    return 0;
}
