/* A thread ends with a mutex, and others wait for it until their time runs out. */
#include "truth.h"

enum { WAIT_MS = 60 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void *take_and_end(void *unused) {
    pthread_mutex_lock(&mutex);
    __asm__ volatile("");
    return unused;
}

NOINLINE static void *take_for_long(void *unused) {
    pthread_mutex_lock(&mutex);
    nap_ms(WAIT_MS * 2);
    pthread_mutex_unlock(&mutex);
    return unused;
}

NOINLINE static void give_up(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_MS * MS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    REQUIRE(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const int is_alive = !strcmp(argv[1], "alive");
    pthread_t holder = start(is_alive ? take_for_long : take_and_end, NULL);
    if (is_alive) nap_ms(5);
    else pthread_join(holder, NULL);
    give_up();
    if (is_alive) pthread_join(holder, NULL);
    expect("mutex", &mutex, "timed_out.count = 1");
    if (!is_alive) expect("mutex", &mutex, "left.wait_ns >= %lld", WAIT_MS * MS * 9 / 10);
    return 0;
}
