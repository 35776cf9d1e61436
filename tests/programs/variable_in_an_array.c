/* A lock in a structure in an array inside a function; one whose memory was allocated is no variable. */
#include "truth.h"

struct slot {
    long before;
    pthread_mutex_t lock;
};

int main(void) {
    static struct slot slots[2] = {{0, PTHREAD_MUTEX_INITIALIZER}, {0, PTHREAD_MUTEX_INITIALIZER}};
    pthread_mutex_t *allocated = malloc(sizeof *allocated);
    pthread_mutex_init(allocated, NULL);
    pthread_mutex_t *locks[] = {&slots[1].lock, allocated};
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(locks[i]);
        pthread_mutex_unlock(locks[i]);
    }
    expect("mutex", &slots[1].lock, "variable = slots+0x%x", (int)((char *)&slots[1].lock - (char *)slots));
    expect("mutex", allocated, "variable = null");
    return 0;
}
