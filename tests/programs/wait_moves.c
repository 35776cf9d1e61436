/* A wait for an annotated lock that begins on a stack which is gone when it ends: a fiber waits, its scheduler goes on. */
#include "truth.h"
#include <ucontext.h>
#include <uncontended.h>

enum { BYTES = 64 << 10 };
static int first, second;
static __thread ucontext_t before, inside;

static void want_first(void) {
    uncontended_wait_begin(&first);
    swapcontext(&inside, &before);
}

static void want_second(void) {
    uncontended_wait_begin(&second);
    swapcontext(&inside, &before);
}

static void on_a_stack_that_goes(void (*body)(void)) {
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    getcontext(&inside);
    inside.uc_stack.ss_sp = memory;
    inside.uc_stack.ss_size = BYTES;
    makecontext(&inside, body, 0);
    swapcontext(&before, &inside);
    munmap(memory, BYTES);
}

NOINLINE static void go_on(void) {
    uncontended_acquired(&first);
    uncontended_released(&first);
    __asm__ volatile("");
}

/* The thread ends while it waits. */
static void *wait_for_ever(void *unused) {
    on_a_stack_that_goes(want_second);
    return unused;
}

int main(void) {
    on_a_stack_that_goes(want_first);
    nap_ms(10);
    go_on();
    expect("annotated", &first, "acquisitions = 1");
    expect("annotated", &first, "blocked = 1");
    expect("annotated", &first, "wait_ns.max >= %lld", 10 * MS);
    expect("annotated", &first, "worst_wait.waiter ~ go_on");

    uncontended_acquired(&second);
    pthread_t a = start(wait_for_ever, NULL);
    pthread_t b = start(wait_for_ever, NULL);
    nap_ms(10);
    uncontended_released(&second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    expect("annotated", &second, "acquisitions = 1");
    expect("annotated", &second, "timed_out.count = 2");
    return 0;
}
