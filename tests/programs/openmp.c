/* Threads of an OpenMP program wait for a critical section, in which each sleeps. The program says how long they waited,
 * in nanoseconds. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 5, NAP_MS = 10 };
static _Atomic int64_t waited_ns;

NOINLINE static void stand_alone(int64_t call) {
#pragma omp critical
    {
        waited_ns += now_ns() - call;
        nap_ms(NAP_MS);
    }
    __asm__ volatile("");
}

int main(void) {
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++) stand_alone(now_ns());
    printf("%lld\n", (long long)waited_ns);
    return 0;
}
