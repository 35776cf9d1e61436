/* A process is killed while it holds a robust mutex that two others wait for: until then its hold is to blame. */
#include "truth.h"

enum { HOLD_MS = 60 };

typedef struct {
    pthread_mutex_t mutex;
    _Atomic pid_t holder, waiters[2];
    _Atomic int64_t killed, taken[2];
} shared;

static shared *s;

NOINLINE static void hold_until_killed(void) {
    REQUIRE(pthread_mutex_lock(&s->mutex) == 0);
    s->holder = getpid();
    for (;;) pause();
}

NOINLINE static void want(int number) {
    s->waiters[number] = getpid();
    int result = pthread_mutex_lock(&s->mutex);
    s->taken[number] = now_ns();
    if (result == EOWNERDEAD) REQUIRE(pthread_mutex_consistent(&s->mutex) == 0);
    else REQUIRE(result == 0);
    pthread_mutex_unlock(&s->mutex);
    __asm__ volatile("");
}

int main(void) {
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    fflush(stdout);
    pid_t holder = fork();
    if (holder == 0) hold_until_killed();
    while (s->holder == 0) nap_ms(1);
    for (int number = 0; number < 2; number++) {
        if (fork() == 0) {
            want(number);
            return 0;
        }
    }
    await_process(&s->waiters[0], 'S');
    await_process(&s->waiters[1], 'S');
    int64_t asleep = now_ns();
    nap_ms(HOLD_MS);
    int64_t killed = now_ns();
    REQUIRE(kill(holder, SIGKILL) == 0);
    int status;
    for (int ended = 0; ended < 3; ended++) REQUIRE(wait(&status) > 0);
    int64_t last = s->taken[0] > s->taken[1] ? s->taken[0] : s->taken[1];
    expect("mutex", &s->mutex, "rows = 1");
    expect("mutex", &s->mutex, "shared = true");
    expect("mutex", &s->mutex, "acquisitions = 3");
    expect("mutex", &s->mutex, "blocked = 2");
    expect("mutex", &s->mutex, "held_by.0.site.function = hold_until_killed");
    expect("mutex", &s->mutex, "held_by.0.pids.0 = %d", (int)holder);
    expect("mutex", &s->mutex, "held_by.0.pids.1 = null");
    expect("mutex", &s->mutex, "held_by(hold_until_killed) >= %lld", (long long)(2 * (killed - asleep)));
    expect("mutex", &s->mutex, "owner_died = 1");
    expect("mutex", &s->mutex, "hold_ns.max >= %lld", (long long)(killed - asleep));
    /* What remains is the time after its death. */
    expect("mutex", &s->mutex, "blame.unknown_ns <= %lld", (long long)(2 * (last - killed) + MS));
    return 0;
}
