/* Children that no handler of fork is told of: their records start empty all the same, and the parent's goes on. */
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}

static void child_takes(pid_t child, int times) {
    REQUIRE(child >= 0);
    if (child == 0) {
        take(times);
        expect("mutex", &lock, "acquisitions = %d", times);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    take(2);
    child_takes((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), 30);
    take(3);
#if __GLIBC_PREREQ(2, 34)
    child_takes(_Fork(), 40);
#endif
    child_takes(fork(), 50);
    expect("mutex", &lock, "acquisitions = 5");
    return 0;
}
