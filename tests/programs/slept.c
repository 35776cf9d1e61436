/* Which waits slept: those for a mutex until its holder, who had watched them sleep, released it, and those for a
 * condition; not those for a spinlock, however long they take and whatever took the waiter's CPU. Where the C library or
 * the kernel does not tell a thread that it left its CPU, nothing is said. */
#include "truth.h"
#include <stddef.h>

enum { WAITS = 3 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t held;
static _Atomic pid_t waiter;
static _Atomic int spins, is_done;

/* GCC before 11 has no __builtin_thread_pointer on x86-64. */
static char *thread_pointer(void) {
#ifdef __x86_64__
    char *own;
    __asm__("movq %%fs:0, %0" : "=r"(own));
    return own;
#else
    return __builtin_thread_pointer();
#endif
}

static void await_waiter(void) {
    await_asleep(&waiter);
    waiter = 0;
}

static void *wait_for_all(void *unused) {
    for (int i = 0; i < WAITS; i++) {
        pthread_barrier_wait(&held);
        nap_ms(1); /* A sleep before the wait is not in it. */
        waiter = my_tid();
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_barrier_wait(&held);
    }
    pthread_barrier_wait(&held);
    waiter = my_tid();
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_barrier_wait(&held);
    spins = 1;
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    pthread_mutex_lock(&of_condition);
    waiter = my_tid();
    while (!is_done) pthread_cond_wait(&condition, &of_condition);
    pthread_mutex_unlock(&of_condition);
    return unused;
}

/* As crates/sys/src/switches.rs does it. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static int is_told(void) {
    static const uint32_t signature[2] = {
#ifdef __x86_64__
        0x53053053,
#else
        0xd428bc00,
#endif
    };
    static const struct {
        uint32_t version, flags;
        const void *start;
        uint64_t length;
        const void *abort;
    } sequence __attribute__((aligned(32))) = {.start = &signature[1], .abort = &signature[1]};
    if (&__rseq_size == NULL || __rseq_size == 0) return 0;
    volatile uintptr_t *word = (void *)(thread_pointer() + __rseq_offset + 8);
    *word = (uintptr_t)&sequence;
    nap_ms(1);
    return *word != (uintptr_t)&sequence;
}

int main(void) {
    int known = is_told();
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&held, NULL, 2);
    pthread_t thread = start(wait_for_all, NULL);
    for (int i = 0; i < WAITS; i++) {
        pthread_mutex_lock(&m);
        pthread_barrier_wait(&held);
        await_waiter();
        pthread_mutex_unlock(&m);
        pthread_barrier_wait(&held);
    }
    pthread_rwlock_wrlock(&rw);
    pthread_barrier_wait(&held);
    await_waiter();
    pthread_rwlock_unlock(&rw);
    pthread_spin_lock(&spin);
    pthread_barrier_wait(&held);
    while (!spins) nap_ms(1);
    nap_ms(40); /* The waiter spins for longer than a time slice. */
    pthread_spin_unlock(&spin);
    await_waiter();
    is_done = 1;
    pthread_cond_signal(&condition); /* Without the mutex, so that the return to it does not wait. */
    pthread_join(thread, NULL);
    struct {
        const char *kind;
        const volatile void *address;
        int slept;
    } const all[] = {{"mutex", &m, WAITS}, {"rwlock-read", &rw, 1}, {"spin", &spin, 0}, {"condition", &condition, 1}};
    for (int i = 0; i < 4; i++) {
        expect(all[i].kind, all[i].address, "blocked = %d", i == 0 ? WAITS : 1);
        expect(all[i].kind, all[i].address, "slept_known = null");
        if (known) expect(all[i].kind, all[i].address, "slept = %d", all[i].slept);
        else expect(all[i].kind, all[i].address, "slept = null");
    }
    return 0;
}
