/* A signal handler that locks (where POSIX does not forbid what it interrupts: a lock of its own) while the thread itself
 * locks all the time. Every acquisition is either counted or reported as dropped. */
#include "truth.h"

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, handlers = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t handled;

static void on_alarm(int signal) {
    (void)signal;
    pthread_mutex_lock(&handlers);
    pthread_mutex_unlock(&handlers);
    handled++;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerspec often = {{0, MS / 5}, {0, MS / 5}};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    REQUIRE(timer_settime(timer, 0, &often, NULL) == 0);
    int locked = 0;
    for (; handled < 500; locked++) {
        pthread_mutex_lock(&mine);
        pthread_mutex_unlock(&mine);
    }
    timer_delete(timer);
    nap_ms(5);
    expect("mutex", &mine, "acquisitions = %d", locked);
    expect("mutex", &handlers, "acquisitions <= %d", (int)handled);
    expect("mutex", &handlers, "acquisitions+dropped >= %d", (int)handled);
    return 0;
}
