/* A program that limits its own address space: limits_itself HOW. HOW: setrlimit, prlimit, call (by `syscall`). What it
 * may still map is what it could without an observer, except for a few percent. */
#include "truth.h"
#include <sys/resource.h>

enum { MIB = 1 << 20, LIMIT_MIB = 512, MOST_TAKEN = 64, THREADS = 4, TIMES = 1000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

static void limit(char how) {
    struct rlimit limit = {(rlim_t)LIMIT_MIB * MIB, RLIM_INFINITY}, now;
    REQUIRE(getrlimit(RLIMIT_AS, &now) == 0);
    limit.rlim_max = now.rlim_max;
    if (how == 's') REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    else if (how == 'p') REQUIRE(prlimit(getpid(), RLIMIT_AS, &limit, NULL) == 0);
    else REQUIRE(syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL) == 0);
    REQUIRE(getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == limit.rlim_cur);
}

static int mappable(void) {
    static void *pieces[LIMIT_MIB];
    int count = 0;
    while (count < LIMIT_MIB) {
        void *piece = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED) break;
        pieces[count++] = piece;
    }
    for (int i = 0; i < count; i++) munmap(pieces[i], MIB);
    return count;
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    run(NULL);
    limit(arguments[1][0]);
    limit(arguments[1][0]);
    REQUIRE(mappable() >= LIMIT_MIB - MOST_TAKEN);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start(run, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "acquisitions = %d", (THREADS + 1) * TIMES);
    return 0;
}
