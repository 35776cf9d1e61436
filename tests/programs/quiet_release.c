/* Releases while nobody waits leave no time behind, and no idle time may come of that: a mutex whose owner died was never
 * free, and one that is released by a thread that did not lock it is free from then on. */
#include "truth.h"

static pthread_mutex_t robust, handed = PTHREAD_MUTEX_INITIALIZER, quiet = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static _Atomic int held;

static void *die_holding(void *unused) {
    REQUIRE(pthread_mutex_lock(&robust) == 0);
    held = 1;
    await_asleep(&waiter);
    nap_ms(20);
    return unused;
}

static void *inherit(void *unused) {
    while (!held) nap_ms(1);
    waiter = my_tid();
    REQUIRE(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0);
    pthread_mutex_unlock(&robust);
    return unused;
}

static void *want(void *unused) {
    waiter = my_tid();
    pthread_mutex_lock(&handed);
    pthread_mutex_unlock(&handed);
    return unused;
}

static void *release_for_main(void *unused) {
    pthread_mutex_unlock(&handed);
    return unused;
}

static void *take_often(void *mutex) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_t owner = start(die_holding, NULL), heir = start(inherit, NULL);
    pthread_join(owner, NULL);
    pthread_join(heir, NULL);
    expect("mutex", &robust, "acquisitions = 2");
    expect("mutex", &robust, "wait_ns.max >= %lld", 20 * MS);
    expect("mutex", &robust, "idle_ns = null");

    waiter = 0;
    take_often(&handed);
    pthread_mutex_lock(&handed);
    pthread_t other = start(want, NULL);
    await_asleep(&waiter);
    nap_ms(20);
    pthread_join(start(release_for_main, NULL), NULL);
    pthread_join(other, NULL);
    expect("mutex", &handed, "acquisitions = 1002");
    expect("mutex", &handed, "wait_ns.max >= %lld", 20 * MS);
    expect("mutex", &handed, "idle_ns.count = 1");

    take_often(&quiet);
    pthread_join(start(take_often, &quiet), NULL);
    expect("mutex", &quiet, "acquisitions = 2000");
    expect("mutex", &quiet, "owner_changes = 1");
    expect("mutex", &quiet, "hold_ns.count = 2000");
    expect("mutex", &quiet, "idle_ns = null");
    return 0;
}
