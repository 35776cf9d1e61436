/* A signal handler that takes ever new locks while the thread locks without a pause: what the observer remembers of the
 * thread's locks grows under its hands. */
#include "truth.h"

enum { LOCKS = 1500 };
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, handlers[LOCKS];
static volatile sig_atomic_t handled;

static void on_alarm(int signal) {
    (void)signal;
    if (handled == LOCKS) return;
    pthread_mutex_lock(&handlers[handled]);
    pthread_mutex_unlock(&handlers[handled]);
    handled++;
}

int main(void) {
    for (int i = 0; i < LOCKS; i++) handlers[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerspec often = {{0, MS / 10}, {0, MS / 10}};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    REQUIRE(timer_settime(timer, 0, &often, NULL) == 0);
    int locked = 0;
    for (; handled < LOCKS; locked++) {
        pthread_mutex_lock(&mine);
        pthread_mutex_unlock(&mine);
    }
    timer_delete(timer);
    nap_ms(5);
    expect("mutex", &mine, "acquisitions = %d", locked);
    for (int i = 0; i < LOCKS; i += 100) {
        expect("mutex", &handlers[i], "rows <= 1");
        expect("mutex", &handlers[i], "acquisitions+dropped >= 1");
    }
    return 0;
}
