/* A spinlock held for 150 ms while another thread spins; a barrier whose first thread comes 30 ms early. */
#include "truth.h"

static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static _Atomic int held, tried;
static _Atomic pid_t first;

static void *hold(void *unused) {
    pthread_spin_lock(&spin);
    held = 1;
    while (!tried) nap_ms(1);
    nap_ms(150);
    pthread_spin_unlock(&spin);
    first = my_tid();
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(void) {
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t a = start(hold, NULL);
    while (!held) {}
    REQUIRE(pthread_spin_trylock(&spin) == EBUSY);
    tried = 1;
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    await_asleep(&first);
    nap_ms(30);
    pthread_barrier_wait(&barrier);
    pthread_join(a, NULL);
    expect("spin", &spin, "acquisitions = 2");
    expect("spin", &spin, "blocked = 1");
    expect("spin", &spin, "try_failed = 1");
    expect("spin", &spin, "hold_ns.max >= %lld", 150 * MS);
    expect("barrier", &barrier, "acquisitions = 2");
    expect("barrier", &barrier, "wait_ns.max >= %lld", 30 * MS);
    expect("barrier", &barrier, "ended_by(main) >= %lld", 30 * MS);
    expect("barrier", &barrier, "ended_by(hold) = 0");
    expect("barrier", &barrier, "hold_ns = null");
    return 0;
}
