// Three workers count requests under a mutex, and take almost no time for it. Every 50 ms, a reporter holds the same
// mutex for as long as its (slow) output takes. Which of the two is to blame for the workers' waiting?
//
//     cc -g -pthread examples/report_under_lock.c -o report_under_lock && unc run -- ./report_under_lock
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t counters = PTHREAD_MUTEX_INITIALIZER;
static long requests;
static _Atomic int done;

__attribute__((noinline)) static void count_request(void) {
    pthread_mutex_lock(&counters);
    requests++;
    pthread_mutex_unlock(&counters);
}

__attribute__((noinline)) static void write_report(void) {
    pthread_mutex_lock(&counters);
    usleep(20000); // stands for output to a slow disk
    pthread_mutex_unlock(&counters);
}

static void *work(void *unused) {
    while (!done) {
        count_request();
        usleep(200); // stands for the work on a request
    }
    return unused;
}

static void *report(void *unused) {
    for (int i = 0; i < 20; i++) {
        usleep(50000);
        write_report();
    }
    done = 1;
    return unused;
}

int main(void) {
    pthread_t of[4];
    for (int i = 0; i < 4; i++) pthread_create(&of[i], NULL, i < 3 ? work : report, NULL);
    for (int i = 0; i < 4; i++) pthread_join(of[i], NULL);
    return 0;
}
