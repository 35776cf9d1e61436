/* A function without call frame information, which keeps a frame pointer, is on the stack of a thread that waits. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int held;

void hop(void (*function)(void));
#if defined __x86_64__
__asm__(".text\n.type hop, @function\nhop: push %rbp\nmov %rsp, %rbp\ncall *%rdi\npop %rbp\nret\n.size hop, .-hop\n");
#elif defined __aarch64__
__asm__(".text\n.type hop, %function\nhop: stp x29, x30, [sp, -16]!\nmov x29, sp\nblr x0\n"
        "ldp x29, x30, [sp], 16\nret\n.size hop, .-hop\n");
#endif

NOINLINE static void contend(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

NOINLINE static void begin(void) {
    hop(contend);
    __asm__ volatile("");
}

static void *hold(void *unused) {
    pthread_mutex_lock(&m);
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    nap_ms(60);
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void) {
    pthread_t holder = start(hold, NULL);
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) nap_ms(1);
    begin();
    pthread_join(holder, NULL);
    expect("mutex", &m, "worst_wait.waiter ~ %s", "contend");
    expect("mutex", &m, "worst_wait.waiter ~ %s", "hop");
    expect("mutex", &m, "worst_wait.waiter ~ %s", "begin");
    expect("mutex", &m, "worst_wait.waiter ~ %s", "main");
    return 0;
}
