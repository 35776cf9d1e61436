/* A library of the user's that is preloaded gets just the calls that the program makes, and its lock excludes. */
#include "truth.h"

enum { TIMES = 500 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int count;

static void *add(void *unused) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&m);
        int before = count;
        if (i % 100 == 0) nap_ms(1);
        count = before + 1;
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t threads[2] = {start(add, NULL), start(add, NULL)};
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    REQUIRE(count == 2 * TIMES);
    expect("barrier", &both, "acquisitions = 2");
    if (argc > 1 && strcmp(argv[1], "seen") == 0) expect("mutex", &m, "acquisitions = %d", 2 * TIMES);
    return 0;
}
