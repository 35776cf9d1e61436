/* A process that waits for a shared mutex is killed after 150 ms; the mutex is held on for 300 ms, and the program lives
 * on for longer. The wait ended with its process. */
#include "truth.h"

int main(void) {
    pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(m, &attributes);
    pthread_mutex_lock(m);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_mutex_lock(m);
        _exit(99);
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    await_state(path, 'S');
    int64_t begun = now_ns();
    nap_ms(150);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    long long waited = now_ns() - begun;
    nap_ms(300);
    pthread_mutex_unlock(m);
    nap_ms(1200);
    expect("mutex", m, "unfinished.longest_ns >= %lld", 150 * MS);
    expect("mutex", m, "unfinished.longest_ns <= %lld", waited + 700 * MS);
    expect("mutex", m, "unfinished.waiters_ended = true");
    return 0;
}
