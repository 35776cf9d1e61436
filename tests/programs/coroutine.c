/* A lock wanted on a stack of the program's own that ends where memory ends, by a function that lost its way back. */
#include "truth.h"
#include <ucontext.h>

enum { BYTES = 64 << 10 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static ucontext_t before, inside;

NOINLINE static void want_it_elsewhere(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void coroutine(void) {
    want_it_elsewhere();
    swapcontext(&inside, &before);
}

static void *body(void *unused) {
    char *memory = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && munmap(memory + BYTES, 4096) == 0);
    getcontext(&inside);
    inside.uc_stack.ss_sp = memory;
    inside.uc_stack.ss_size = BYTES;
    makecontext(&inside, coroutine, 0);
    waiter = my_tid();
    swapcontext(&before, &inside);
    munmap(memory, BYTES);
    return unused;
}

int main(void) {
    pthread_mutex_lock(&m);
    pthread_t a = start(body, NULL);
    await_asleep(&waiter);
    nap_ms(10);
    pthread_mutex_unlock(&m);
    pthread_join(a, NULL);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "wait_ns.max >= %lld", 10 * MS);
    expect("mutex", &m, "worst_wait.waiter ~ want_it_elsewhere");
    return 0;
}
