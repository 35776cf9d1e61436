/* A thread holds others off: each of ROUNDS times it holds the lock while all of them wait. They hold it for as long, one
 * after the other, while no thread waits for it. So one thread's holds cause the waiting, and not most of the holding. The
 * argument is the kind of lock: `mutex` or `semaphore`. */
#include "truth.h"

enum { ROUNDS = 5, HOLD_MS = 20, WORKERS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static int is_semaphore;
static _Atomic int kept, gone, turn;
static _Atomic pid_t waiting[WORKERS];

static void take(void) {
    if (is_semaphore) while (sem_wait(&s) != 0) {}
    else pthread_mutex_lock(&m);
}

static void give(void) {
    if (is_semaphore) sem_post(&s);
    else pthread_mutex_unlock(&m);
}

NOINLINE static void keep(void) {
    take();
    kept++;
    for (int i = 0; i < WORKERS; i++) await_asleep(&waiting[i]);
    nap_ms(HOLD_MS);
    give();
    __asm__ volatile("");
}

NOINLINE static void hold_alone(void) {
    take();
    nap_ms(2 * HOLD_MS);
    give();
    __asm__ volatile("");
}

static void *work(void *number) {
    int own = (int)(intptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        while (kept <= round) nap_ms(1);
        waiting[own] = my_tid();
        take();
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
    is_semaphore = count > 1 && strcmp(arguments[1], "semaphore") == 0;
    sem_init(&s, 0, 1);
    pthread_t threads[WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++) threads[i] = start(work, (void *)i);
    for (int round = 0; round < ROUNDS; round++) {
        keep();
        while (turn < (round + 1) * WORKERS) nap_ms(1);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    const char *kind = is_semaphore ? "semaphore" : "mutex";
    const void *lock = is_semaphore ? (void *)&s : (void *)&m;
    expect(kind, lock, "class = gate");
    expect(kind, lock, "keeper.tid = %d", getpid());
    expect(kind, lock, "keeper.holds = %d", ROUNDS);
    expect(kind, lock, "keeper.wait_ns >= %lld", (long long)ROUNDS * WORKERS * HOLD_MS * MS);
    expect(kind, lock, "held_by(keep) >= %lld", (long long)ROUNDS * WORKERS * HOLD_MS * MS);
    return 0;
}
