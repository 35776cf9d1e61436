/* A program that forbids itself, on pain of death, the system calls that a locking program does not need. */
#include "truth.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int waiting, held;

NOINLINE static void want_it_in_a_sandbox(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    __asm__ volatile("");
}

static void *second(void *unused) {
    while (!held) sched_yield();
    waiting = 1;
    want_it_in_a_sandbox();
    return unused;
}

/* Opening, reading other memory, processes and the like end the process; what threads and stdio need is allowed. */
static void shut(void) {
    static const int forbidden[] = {
        SYS_openat, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_socket, SYS_execve, SYS_kill,
        SYS_getrusage, SYS_pipe2, SYS_memfd_create,
#ifdef SYS_open /* Not in Linux's generic table of system calls. */
        SYS_open, SYS_readlink,
#endif
    };
    enum { COUNT = sizeof forbidden / sizeof forbidden[0] };
    struct sock_filter code[1 + 2 * COUNT + 1];
    int at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)at, code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(void) {
    shut();
    pthread_mutex_lock(&m);
    pthread_t a = start(second, NULL);
    held = 1;
    while (!waiting) sched_yield();
    nap_ms(100);
    pthread_mutex_unlock(&m);
    pthread_join(a, NULL);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "worst_wait.waiter ~ want_it_in_a_sandbox");
    return 0;
}
