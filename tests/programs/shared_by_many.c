/* Twenty processes share a mutex. Each logs its waits and holds in memory that they share; the report says the same. */
#include "truth.h"

enum { PROCESSES = 20, ROUNDS = 15, HOLD_MS = 2 };

/* When a process called, had the lock, was about to give it back, and had given it back. */
typedef struct {
    int64_t call, taken, giving, given;
} turn;

typedef struct {
    pthread_mutex_t mutex;
    pthread_barrier_t ready;
    turn turns[PROCESSES * ROUNDS];
} shared;

static shared *s;

NOINLINE static void take_turns(int process) {
    pthread_barrier_wait(&s->ready);
    for (int round = 0; round < ROUNDS; round++) {
        turn *mine = &s->turns[process * ROUNDS + round];
        mine->call = now_ns();
        REQUIRE(pthread_mutex_lock(&s->mutex) == 0);
        mine->taken = now_ns();
        nap_ms(HOLD_MS);
        mine->giving = now_ns();
        pthread_mutex_unlock(&s->mutex);
        mine->given = now_ns();
        nap_ms(HOLD_MS);
    }
    __asm__ volatile("");
}

static int64_t both(int64_t from, int64_t to, int64_t since, int64_t until) {
    int64_t first = from > since ? from : since, last = to < until ? to : until;
    return last > first ? last - first : 0;
}

static int by_time(const void *a, const void *b) {
    int64_t one = ((const turn *)a)->taken, two = ((const turn *)b)->taken;
    return one < two ? -1 : one > two;
}

int main(void) {
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    REQUIRE(pthread_barrier_init(&s->ready, &barrier, PROCESSES) == 0);
    fflush(stdout);
    for (int process = 1; process < PROCESSES; process++) {
        if (fork() == 0) {
            take_turns(process);
            return 0;
        }
    }
    take_turns(0);
    int status;
    for (int process = 1; process < PROCESSES; process++) REQUIRE(wait(&status) > 0 && status == 0);
    enum { TURNS = PROCESSES * ROUNDS };
    qsort(s->turns, TURNS, sizeof *s->turns, by_time);
    int64_t waited = 0, held = 0, most_idle = 0;
    for (int i = 0; i < TURNS; i++) {
        turn *one = &s->turns[i];
        waited += one->taken - one->call;
        for (int j = 0; j < i; j++) held += both(one->call, one->taken, s->turns[j].taken, s->turns[j].giving);
        if (i > 0) most_idle += one->taken - s->turns[i - 1].giving;
    }
    expect("mutex", &s->mutex, "rows = 1");
    expect("mutex", &s->mutex, "shared = true");
    expect("mutex", &s->mutex, "threads = %d", PROCESSES);
    expect("mutex", &s->mutex, "processes.%d >= 1", PROCESSES - 1);
    expect("mutex", &s->mutex, "processes.%d = null", PROCESSES);
    expect("mutex", &s->mutex, "acquisitions = %d", TURNS);
    expect("mutex", &s->mutex, "hold_ns.count = %d", TURNS);
    expect("mutex", &s->mutex, "wait_ns.total <= %lld", (long long)waited);
    /* What it adds to a wait before it knows of it is small. */
    expect("mutex", &s->mutex, "wait_ns.total >= %lld", (long long)(waited - waited / 20));
    expect("mutex", &s->mutex, "held_by(take_turns) >= %lld", (long long)(held - held / 20));
    expect("mutex", &s->mutex, "held_by(take_turns) <= %lld", (long long)waited);
    expect("mutex", &s->mutex, "idle_ns.total <= %lld", (long long)most_idle);
    expect("mutex", &s->mutex, "held_by.0.pids.%d >= 1", PROCESSES - 1);
    return 0;
}
