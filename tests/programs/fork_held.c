/* A fork while a lock is held: the child's record starts empty, the parent's goes on. */
#include "truth.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    for (int i = 0; i < 7; i++) {
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
    }
    pthread_mutex_lock(&held);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            pthread_mutex_lock(&other);
            pthread_mutex_unlock(&other);
        }
        pthread_mutex_unlock(&held);
        expect("mutex", &other, "acquisitions = 3");
        expect("mutex", &held, "rows <= 1");
        return 0;
    }
    nap_ms(20);
    pthread_mutex_unlock(&held);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    expect("mutex", &other, "acquisitions = 7");
    expect("mutex", &held, "acquisitions = 1");
    expect("mutex", &held, "hold_ns.max >= %lld", 20 * MS);
    return 0;
}
