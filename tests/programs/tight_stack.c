/* Threads on the smallest stacks, of which they use most themselves: 9 KB are as safe as without an observer, whatever
 * they call. The program's own attributes stay as they are. fiber: calls with less and less left of a stack that the
 * program allocated. */
#include "truth.h"
#include <alloca.h>
#include <limits.h>
#include <ucontext.h>

enum { OWN_USE = 9000, FIBER = 32 << 10, LEFT = 4 << 10, CALLS = 24 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, mine = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static _Atomic pid_t tid;
static ucontext_t outside, fiber;

NOINLINE static void use_and_call(int use) {
    volatile char *own = alloca(use);
    for (int i = 0; i < use; i += 64) own[i] = 1;
    tid = my_tid();
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    sem_post(&s);
    sem_wait(&s);
    own[0] = 2;
}

static void *body(void *unused) {
    use_and_call(OWN_USE);
    return unused;
}

NOINLINE static void lock_below(int use) {
    volatile char *own = alloca(use);
    struct timespec past = {1, 0};
    own[0] = 1;
    pthread_mutex_lock(&mine);
    pthread_mutex_unlock(&mine);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
    sem_post(&s);
    sem_wait(&s);
    pthread_mutex_lock(&m);
    REQUIRE(pthread_cond_timedwait(&c, &m, &past) == ETIMEDOUT);
    pthread_mutex_unlock(&m);
    own[0] = 2;
}

static void run_fiber(void) {
    for (int i = 0; i < CALLS; i++) lock_below(FIBER - LEFT - (CALLS - 1 - i) * 512);
}

static void on_fiber(void) {
    char *stack = mmap(NULL, FIBER + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + 4096, FIBER, PROT_READ | PROT_WRITE);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack + 4096;
    fiber.uc_stack.ss_size = FIBER;
    fiber.uc_link = &outside;
    makecontext(&fiber, run_fiber, 0);
    swapcontext(&outside, &fiber);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "fiber") == 0) {
        on_fiber();
        expect("mutex", &mine, "acquisitions = %d", CALLS);
        return 0;
    }
    pthread_attr_t attributes;
    size_t size, guard;
    sem_init(&s, 0, 1);
    use_and_call(64); /* The loader binds the functions here, which needs more of the stack than they do. */
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    pthread_mutex_lock(&m);
    pthread_t thread;
    tid = 0;
    REQUIRE(pthread_create(&thread, &attributes, body, NULL) == 0);
    await_asleep(&tid);
    nap_ms(10);
    pthread_mutex_unlock(&m);
    pthread_join(thread, NULL);
    REQUIRE(pthread_attr_getstacksize(&attributes, &size) == 0 && size == PTHREAD_STACK_MIN);
    REQUIRE(pthread_attr_getguardsize(&attributes, &guard) == 0 && guard == (size_t)sysconf(_SC_PAGESIZE));
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "worst_wait.waiter ~ use_and_call");
    return 0;
}
