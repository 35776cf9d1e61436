/* Threads of an OpenMP program wait for a critical section, in which each sleeps. The program says how long they waited,
 * in nanoseconds. They begin late: the kernel watches from some milliseconds after the start, and later on a busy machine. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 5, NAP_MS = 10, BEFORE_MS = 300 };
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
    nap_ms(BEFORE_MS);
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++) stand_alone(now_ns());
    printf("%lld\n", (long long)waited_ns);
    return 0;
}
