/* Rounds of a barrier, on one CPU: one thread comes late each time. Of the others, woken together, the first to run is
 * at the next round before the second has returned. */
#include "truth.h"

enum { QUICK = 4, ROUNDS = 15, LATE_MS = 10 };
static pthread_barrier_t barrier;

NOINLINE static void arrive_quickly(void) {
    pthread_barrier_wait(&barrier);
    __asm__ volatile("");
}

NOINLINE static void arrive_late(void) {
    nap_ms(LATE_MS);
    pthread_barrier_wait(&barrier);
    __asm__ volatile("");
}

static void *quick(void *unused) {
    for (int i = 0; i < ROUNDS; i++) arrive_quickly();
    return unused;
}

int main(void) {
    cpu_set_t one, all;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    REQUIRE(pthread_barrier_init(&barrier, NULL, QUICK + 1) == 0);
    pthread_t threads[QUICK];
    for (int i = 0; i < QUICK; i++) threads[i] = start(quick, NULL);
    for (int i = 0; i < ROUNDS; i++) arrive_late();
    for (int i = 0; i < QUICK; i++) pthread_join(threads[i], NULL);
    expect("barrier", &barrier, "acquisitions = %d", (QUICK + 1) * ROUNDS);
    expect("barrier", &barrier, "blocked = %d", QUICK * ROUNDS);
    expect("barrier", &barrier, "ended_by(arrive_late) >= %lld", QUICK * ROUNDS * LATE_MS * MS * 95 / 100);
    expect("barrier", &barrier, "ended_by(arrive_quickly) <= %lld", LATE_MS * MS);
    return 0;
}
