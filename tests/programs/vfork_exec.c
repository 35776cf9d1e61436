/* A vfork whose child executes this program again: the parent's record is not the child's. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void use(int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    expect("mutex", &m, "acquisitions = %d", times);
}

int main(int count, char **arguments) {
    if (count > 1) {
        use(4);
        return 0;
    }
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", arguments[0], "again", (char *)NULL);
        _exit(98);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    use(9);
    return 0;
}
