/* Two locks live one after the other at one address: two rows. */
#include "truth.h"

static pthread_mutex_t m;

NOINLINE static void use(int times) {
    pthread_mutex_init(&m, NULL);
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_destroy(&m);
}

int main(void) {
    use(2);
    use(5);
    expect("mutex", &m, "rows = 2");
    expect("mutex#0", &m, "acquisitions = 2");
    expect("mutex#1", &m, "acquisitions = 5");
    expect("mutex#1", &m, "created ~ use");
    return 0;
}
