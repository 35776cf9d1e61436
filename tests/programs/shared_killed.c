/* Processes that others kill, while they have locks: shared_killed WHOSE. WHOSE: shared (a mutex that the program waits
 * for, with a deadline, after the end of the process), own (a mutex that no other process has), none (no lock). */
#include "truth.h"

enum { WAIT_MS = 60 };

static pthread_mutex_t *shared;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int *is_ready;

NOINLINE static void take_and_stay(pthread_mutex_t *mutex) {
    if (mutex) REQUIRE(pthread_mutex_lock(mutex) == 0);
    *is_ready = 1;
    nap_ms(60000);
    __asm__ volatile("");
}

NOINLINE static void give_up(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_MS * MS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    REQUIRE(pthread_mutex_timedlock(shared, &until) == ETIMEDOUT);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    shared = memory;
    is_ready = (_Atomic int *)((char *)memory + 1024);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(shared, &attributes) == 0);
    REQUIRE(pthread_mutex_lock(shared) == 0 && pthread_mutex_unlock(shared) == 0);
    const int is_shared = !strcmp(argv[1], "shared"), is_own = !strcmp(argv[1], "own");
    pid_t pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(&own); /* Every process takes it. */
        pthread_mutex_unlock(&own);
        take_and_stay(is_shared ? shared : is_own ? &own : NULL);
        _exit(99);
    }
    while (!*is_ready) nap_ms(1);
    nap_ms(50);
    REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    nap_ms(50);
    if (is_shared) {
        give_up();
        expect("mutex", shared, "timed_out.count = 1");
        expect("mutex", shared, "left.wait_ns >= %lld", WAIT_MS * MS * 9 / 10);
    }
    expect("mutex", shared, "acquisitions = %d", is_shared ? 2 : 1);
    nap_ms(100);
    return 0;
}
