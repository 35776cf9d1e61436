/* What many of something cost, in nanoseconds of CPU time each: bench_many WHAT [N].
 * random N: a lock and unlock of one of N mutexes, chosen at random.
 * linked N: the same where the mutex guards the place of the next one, so that its cache miss is waited for in any case.
 * threads N: making and joining a thread, a hundred at a time; each takes a lock N times.
 * forks: a fork and the exit of its child, waited for. */
#include "truth.h"
#include <sys/resource.h>

enum { PAIRS = 2000000, THREADS = 100, ROUNDS = 20, FORKS = 500 };

typedef struct node {
    pthread_mutex_t mutex;
    struct node *next;
} node;

static node *nodes;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void *stay(void *unused) {
    pause();
    return unused;
}

static double cpu_ns(void) {
    struct rusage used[2];
    getrusage(RUSAGE_SELF, &used[0]);
    getrusage(RUSAGE_CHILDREN, &used[1]);
    double us = 0;
    for (int i = 0; i < 2; i++) {
        us += 1e6 * (used[i].ru_utime.tv_sec + used[i].ru_stime.tv_sec);
        us += used[i].ru_utime.tv_usec + used[i].ru_stime.tv_usec;
    }
    return 1e3 * us;
}

/* Makes the mutexes, each with another one after it: all of them in a circle. */
static void make(long count) {
    nodes = calloc(count, sizeof *nodes);
    node **order = calloc(count, sizeof *order);
    for (long i = 0; i < count; i++) {
        pthread_mutex_init(&nodes[i].mutex, NULL);
        long other = next_random() % (i + 1);
        order[i] = order[other];
        order[other] = &nodes[i];
    }
    for (long i = 0; i < count; i++) order[i]->next = order[(i + 1) % count];
    free(order);
    start(stay, NULL);
}

static void at_random(long pairs, long count) {
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_t *mutex = &nodes[next_random() % count].mutex;
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

static void along(long pairs) {
    node *at = nodes;
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_lock(&at->mutex);
        node *next = at->next;
        pthread_mutex_unlock(&at->mutex);
        at = next;
    }
}

static void *body(void *takes) {
    for (long i = 0; i < (long)(intptr_t)takes; i++) {
        pthread_mutex_lock(&one);
        pthread_mutex_unlock(&one);
    }
    return NULL;
}

static long threads(long takes) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t all[THREADS];
        for (int i = 0; i < THREADS; i++) all[i] = start(body, (void *)(intptr_t)takes);
        for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    }
    return ROUNDS * THREADS;
}

static long forks(void) {
    body((void *)1);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        REQUIRE(waitpid(child, NULL, 0) == child);
    }
    return FORKS;
}

int main(int count, char **words) {
    REQUIRE(count >= 2);
    const char *what = words[1];
    long n = count > 2 ? atol(words[2]) : 0, done = PAIRS;
    int is_linked = strcmp(what, "linked") == 0, is_random = strcmp(what, "random") == 0;
    if (is_linked || is_random) {
        REQUIRE(n > 0);
        make(n);
        is_linked ? along(n) : at_random(PAIRS, n); /* Each for the first time. */
    }
    double begun = cpu_ns();
    if (is_linked) along(PAIRS);
    if (is_random) at_random(PAIRS, n);
    if (strcmp(what, "threads") == 0) done = threads(n);
    if (strcmp(what, "forks") == 0) done = forks();
    printf("%.3f\n", (cpu_ns() - begun) / done);
    return 0;
}
