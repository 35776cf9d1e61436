/* Two processes share a mutex, but may not ask the kernel where it is: each knows only its own holds, so when it was
 * free is unknown. Mode before: the first process has met the mutex before it may no longer ask. */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { ROUNDS = 5, HOLD_MS = 30 };

typedef struct {
    pthread_mutex_t mutex;
    pthread_barrier_t held, taken;
} shared;

static shared *s;

/* Opening a file ends the process. */
static void shut(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void hold(void) {
    pthread_mutex_lock(&s->mutex);
    pthread_barrier_wait(&s->held);
    nap_ms(HOLD_MS);
    pthread_mutex_unlock(&s->mutex);
    pthread_barrier_wait(&s->taken);
}

static void want(void) {
    pthread_barrier_wait(&s->held);
    pthread_mutex_lock(&s->mutex);
    pthread_mutex_unlock(&s->mutex);
    pthread_barrier_wait(&s->taken);
}

static void say(void) {
    expect("mutex", &s->mutex, "shared = true");
    expect("mutex", &s->mutex, "processes = null");
    expect("mutex", &s->mutex, "idle_ns = null");
    expect("mutex", &s->mutex, "worst_idle = null");
    expect("mutex", &s->mutex, "owner_changes = null");
    expect("mutex", &s->mutex, "blame.idle_ns = 0");
    expect("mutex", &s->mutex, "blocked = %d", ROUNDS);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED);
    if (arguments[1][0] == 'a') shut();
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_mutex_init(&s->mutex, &mutex) == 0);
    REQUIRE(pthread_barrier_init(&s->held, &barrier, 2) == 0);
    REQUIRE(pthread_barrier_init(&s->taken, &barrier, 2) == 0);
    if (arguments[1][0] == 'b') shut();
    fflush(stdout);
    pid_t child = fork();
    for (int i = 0; i < ROUNDS; i++) {
        child == 0 ? want() : hold();
        child == 0 ? hold() : want();
    }
    say();
    if (child == 0) return 0;
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
