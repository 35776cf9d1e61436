/* A signal handler after single instructions of a lock and an unlock: one that locks, one that never returns
 * (siglongjmp), and, with a second argument, one that forks a child, which returns into the lock or the unlock too. Every
 * STRIDEth instruction; x86-64 alone has the flag by which a program interrupts itself after each. */
#include "truth.h"
#include <setjmp.h>
#include <ucontext.h>

enum { MOST = 4096, WARM = 8, ALL = 1 << 30 };
static pthread_mutex_t mine[2][MOST], theirs[MOST], after[MOST], handlers = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;
static volatile sig_atomic_t left, jumps, forks, handled;
static volatile pid_t child = -1;

#ifdef __x86_64__
static void step(int on) {
    unsigned long flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(on ? flags | 0x100 : flags & ~0x100UL);
}

static void on_step(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    if (left == 0 || --left > 0) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    if (jumps) siglongjmp(back, 1);
    if (forks) {
        child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        return;
    }
    pthread_mutex_lock(&theirs[handled]);
    pthread_mutex_unlock(&theirs[handled]);
    pthread_mutex_lock(&handlers);
    pthread_mutex_unlock(&handlers);
    handled++;
}

/* Locks and unlocks, interrupted after `steps` instructions; how many there were, if fewer. */
NOINLINE static int interrupted(pthread_mutex_t *lock, int steps) {
    int used = 0;
    if (sigsetjmp(back, 1) == 0) {
        left = steps;
        if (steps > 0) step(1);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        step(0);
        used = steps - left;
    }
    left = 0;
    return used;
}

/* Both processes end what the handler interrupted. They share the record of it, of which nothing is expected,
 * and nothing else. */
static int fork_after_each(int length, int stride) {
    forks = 1;
    for (int steps = 1; steps <= length; steps += stride) {
        interrupted(&mine[0][WARM + steps], steps);
        if (child == 0) {
            pthread_mutex_lock(&after[steps]);
            pthread_mutex_unlock(&after[steps]);
            _exit(pthread_mutex_trylock(&mine[0][WARM + steps]));
        }
        int status;
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        child = -1;
        pthread_mutex_lock(&after[steps]);
        pthread_mutex_unlock(&after[steps]);
    }
    for (int steps = 1; steps <= length; steps += stride) expect("mutex", &after[steps], "acquisitions = 1");
    return 0;
}

int main(int count, char **arguments) {
    int stride = count > 1 ? atoi(arguments[1]) : 1;
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    int length = ALL; /* The shortest: a hold that is interrupted for long has its stack recorded. */
    for (int i = 0; i < WARM; i++) {
        int used = interrupted(&mine[0][i], i < WARM / 2 ? 0 : ALL);
        if (i >= WARM / 2 && used < length) length = used;
    }
    REQUIRE(length > 10 && length < MOST - WARM);
    if (count > 2) return fork_after_each(length, stride);
    for (int n = 0; n < 2; n++) {
        jumps = n;
        for (int steps = 1; steps <= length; steps += stride) {
            interrupted(&mine[n][WARM + steps], steps);
            pthread_mutex_lock(&after[steps]); /* What a jump left undone, the growth of a table, is done here. */
            pthread_mutex_unlock(&after[steps]);
        }
    }
    for (int steps = 1; steps <= length; steps += stride) {
        expect("mutex", &mine[0][WARM + steps], "acquisitions = 1");
        expect("mutex", &mine[0][WARM + steps], "hold_ns.count = 1");
        expect("mutex", &after[steps], "acquisitions = 2");
    }
    expect("mutex", &handlers, "acquisitions <= %d", (int)handled);
    expect("mutex", &handlers, "acquisitions+dropped >= %d", (int)handled);

    /* What was left in any state is made anew, and counts. */
    for (int steps = 1; steps <= length; steps += stride) {
        pthread_mutex_t *lock = &mine[1][WARM + steps];
        pthread_mutex_init(lock, NULL);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        expect("mutex", lock, "acquisitions+dropped >= 1");
    }
    return 0;
}
#else
int main(void) {
    expect("mutex", &handlers, "acquisitions+dropped >= 0");
    return 0;
}
#endif
