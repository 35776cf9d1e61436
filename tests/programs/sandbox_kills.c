/* A program that is killed for any system call but the few that its own locking needs: sandbox_kills HOW. HOW: first
 * (its first lock comes after the filter), warm (not its first), threads (made after it), strict (the strict mode, in
 * which it may not even read the clock). It ends with status 9. */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

enum { TIMES = 2000, THREADS = 4, IN_TURN = 100 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void work(void) {
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    __asm__ volatile("");
}

static void *run(void *unused) {
    work();
    return unused;
}

static void shut(void) {
    static const int allowed[] = {
        SYS_write, SYS_futex, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group,
        SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_madvise, SYS_brk, SYS_getrandom,
    };
    enum { COUNT = sizeof allowed / sizeof allowed[0] };
    struct sock_filter code[1 + 2 * COUNT + 1];
    int at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    for (int i = 0; i < COUNT; i++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)at, code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    const char how = arguments[1][0];
    /* More threads than the observer has memory for at a time: each ends before the next one begins. */
    const int times = how == 'f' || how == 's' ? 1 : how == 't' ? 1 + THREADS + IN_TURN : 2;
    expect("mutex", &m, "acquisitions = %d", times * TIMES);
    if (how == 'w' || how == 's') work();
    pthread_t threads[THREADS];
    if (how == 't') { /* The first one needs more. */
        pthread_create(&threads[0], NULL, run, NULL);
        pthread_join(threads[0], NULL);
    }
    if (how == 's') prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    else shut();
    if (how != 't') {
        work();
        syscall(SYS_exit, 9);
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < IN_TURN; i++) {
        pthread_create(&threads[0], NULL, run, NULL);
        pthread_join(threads[0], NULL);
    }
    syscall(SYS_exit_group, 9);
}
