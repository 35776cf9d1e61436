/* A lock is free while its waiter has no CPU. `same`: the releaser goes on, on the only CPU that the waiter may use.
 * `apart`: the releaser waits on another CPU, and a third thread has the waiter's. A waiter of policy SCHED_IDLE does not
 * preempt them. On a busy machine, the releaser may lose its CPU before it has woken the waiter, which is another cause:
 * hence several rounds. */
#include "truth.h"

#define ROUNDS 5

static pthread_mutex_t same = PTHREAD_MUTEX_INITIALIZER, apart = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t allowed;
static _Atomic pid_t waiter;
static _Atomic int busy, done;

/* Pins the calling thread to the `nth` CPU that it may use. */
static void pin(int nth) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && nth-- == 0) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void yield_to_all(void) {
    struct sched_param none = {0};
    REQUIRE(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
}

NOINLINE static void *wait_for_same(void *unused) {
    yield_to_all();
    waiter = my_tid();
    pthread_mutex_lock(&same);
    pthread_mutex_unlock(&same);
    return unused;
}

NOINLINE static void *wait_for_apart(void *unused) {
    pin(1);
    yield_to_all();
    waiter = my_tid();
    pthread_mutex_lock(&apart);
    done = 1;
    pthread_mutex_unlock(&apart);
    return unused;
}

static void *keep_the_cpu(void *unused) {
    pin(1);
    busy = 1;
    while (!done) {}
    return unused;
}

static void on_one_cpu(void) {
    pin(0);
    for (int round = 0; round < ROUNDS; round++) {
        waiter = 0;
        pthread_mutex_lock(&same);
        pthread_t thread = start(wait_for_same, NULL);
        await_asleep(&waiter);
        pthread_mutex_unlock(&same);
        for (int64_t until = now_ns() + 40 * MS; now_ns() < until;) {}
        pthread_join(thread, NULL);
    }
    expect("mutex", &same, "idle_causes.not_scheduled_ns >= %lld", MS / 10);
#ifdef __x86_64__
    expect("mutex", &same, "idle_causes.releasers_cpu_ns >= %lld", MS / 10);
#endif
}

static void on_two_cpus(void) {
    pin(0);
    for (int round = 0; round < ROUNDS; round++) {
        waiter = 0, busy = done = 0;
        pthread_mutex_lock(&apart);
        pthread_t thread = start(wait_for_apart, NULL);
        await_asleep(&waiter);
        pthread_t other = start(keep_the_cpu, NULL);
        while (!busy) nap_ms(1);
        pthread_mutex_unlock(&apart);
        pthread_join(thread, NULL);
        pthread_join(other, NULL);
    }
    expect("mutex", &apart, "idle_causes.not_scheduled_ns >= %lld", MS / 10);
    expect("mutex", &apart, "worst_idle.on_releasers_cpu = false");
    expect("mutex", &apart, "idle_causes.releasers_cpu_ns <= 0");
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    if (strcmp(arguments[1], "same") == 0)
        on_one_cpu();
    else
        on_two_cpus();
    return 0;
}
