/* A child ends after 150 ms, in the way that is asked for, while a thread of it holds a mutex and another waits; the
 * program lives on for much longer. What the child waited for and held ended with it. */
#include "truth.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;
static _Atomic int is_held;

static void *hold(void *unused) {
    pthread_mutex_lock(&m);
    is_held = 1;
    nap_ms(60000);
    return unused;
}

static void *want_in_vain(void *unused) {
    waiter = my_tid();
    pthread_mutex_lock(&m);
    return unused;
}

static void end(const char *how) {
    char *bare[] = {NULL}, *words[] = {"sleep", "2", NULL};
    if (strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
    if (strcmp(how, "aborts") == 0) abort();
    if (strcmp(how, "exits") == 0) exit(0);
    if (strcmp(how, "_exits") == 0) _exit(0);
    if (strcmp(how, "quick_exits") == 0) quick_exit(0);
    if (strcmp(how, "executes") == 0) execvp("sleep", words);
    if (strcmp(how, "executes bare") == 0) execle("/bin/sleep", "sleep", "2", (char *)NULL, bare);
    if (strcmp(how, "vforks") == 0) {
        pid_t child = vfork();
        if (child == 0) {
            execv("/nowhere", words);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        nap_ms(600);
        exit(0);
    }
}

static void child(const char *how) {
    int is_late = strcmp(how, "vforks") == 0;
    start(hold, NULL);
    while (!is_held) nap_ms(1);
    int64_t begun = now_ns();
    start(want_in_vain, NULL);
    await_asleep(&waiter);
    nap_ms(150);
    expect("mutex", &m, "unfinished.longest_ns >= %lld", (is_late ? 700 : 100) * MS);
    expect("mutex", &m, "unfinished.longest_ns <= %lld", (long long)(now_ns() - begun) + (is_late ? 1300 : 700) * MS);
    expect("mutex", &m, "unfinished.waiters_ended = true");
    end(how);
    _exit(99);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    pid_t pid = fork();
    if (pid == 0) child(arguments[1]);
    nap_ms(3000);
    waitpid(pid, NULL, 0);
    return 0;
}
