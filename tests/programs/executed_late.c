/* A process that used the CPU before this program began in it: as `first` the program spins and executes itself, so that what
 * the process used before is none of what the second one lived. */
#include "truth.h"

enum { SPIN_MS = 300 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void spin(void) {
    int64_t until = now_ns() + SPIN_MS * MS;
    while (now_ns() < until) {}
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "first") == 0) {
        spin();
        execl(arguments[0], arguments[0], "second", (char *)NULL);
        _exit(99);
    }
    pthread_mutex_lock(&m);
    nap_ms(30);
    pthread_mutex_unlock(&m);
    expect("mutex", &m, "acquisitions = 1");
    return 0;
}
