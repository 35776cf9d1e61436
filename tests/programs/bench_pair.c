/* Cost of one uncontended lock and unlock, in nanoseconds, with a second thread alive (glibc spares atomic instructions
 * while there is one thread only). Prints the median of many short batches. Arguments: [locks], used in turn; "nested" to
 * hold another lock meanwhile, or "apart" to use each far from the last. */
#include "truth.h"

enum { BATCHES = 101, PAIRS = 20000, MOST = 500000 };
static pthread_mutex_t locks[MOST], outer = PTHREAD_MUTEX_INITIALIZER;

static void *stay(void *unused) {
    pause();
    return unused;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    int used = count > 1 ? atoi(arguments[1]) : 1;
    REQUIRE(used >= 1 && used <= MOST);
    int is_nested = count > 2 && strcmp(arguments[2], "nested") == 0;
    int is_apart = count > 2 && !is_nested;
    for (int i = 0; i < used; i++) pthread_mutex_init(&locks[i], NULL);
    start(stay, NULL);
    double ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        if (is_nested) pthread_mutex_lock(&outer);
        int64_t begun = now_ns();
        for (int pair = 0, lock = 0; pair < PAIRS; pair++) {
            pthread_mutex_lock(&locks[lock]);
            pthread_mutex_unlock(&locks[lock]);
            lock += is_apart ? 7919 : 1; /* A prime: each lock comes in its turn, far from the last one. */
            if (lock >= used) lock %= used;
        }
        ns[batch] = (double)(now_ns() - begun) / PAIRS;
        if (is_nested) pthread_mutex_unlock(&outer);
    }
    qsort(ns, BATCHES, sizeof ns[0], by_value);
    printf("%.3f\n", ns[BATCHES / 2]);
    return 0;
}
