/* A futex waited on through syscall(): seen as kind futex, its wait and the code that wakes. */
#include "truth.h"
#include <linux/futex.h>

static _Atomic uint32_t word;
static _Atomic pid_t waiter;

NOINLINE static void wait_for_change(void) {
    while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    __asm__ volatile("");
}

NOINLINE static void wake(void) {
    word = 1;
    REQUIRE(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1);
}

static void *body(void *unused) {
    waiter = my_tid();
    wait_for_change();
    return unused;
}

int main(void) {
    pthread_t a = start(body, NULL);
    await_asleep(&waiter);
    nap_ms(30);
    wake();
    pthread_join(a, NULL);
    REQUIRE(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EAGAIN);
    REQUIRE(syscall(SYS_getpid) == getpid());
    expect("futex", &word, "wait_ns.count = 1");
    expect("futex", &word, "wait_ns.max >= %lld", 30 * MS);
    expect("futex", &word, "worst_wait.waiter ~ wait_for_change");
    expect("futex", &word, "ended_by(wake) >= %lld", 30 * MS);
    expect("futex", &word, "hold_ns = null");
    return 0;
}
