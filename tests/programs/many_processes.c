/* Many processes, one after the other and some at once, each with its own copy of one lock. UNC_DEPTH=full: 1,000. */
#include "truth.h"

enum { AT_ONCE = 10, TIMES = 3 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void take(void) {
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

int main(void) {
    const char *depth = getenv("UNC_DEPTH");
    int processes = depth != NULL && strcmp(depth, "full") == 0 ? 1000 : 50;
    for (int i = 0; i < processes; i += AT_ONCE) {
        pid_t children[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            children[j] = fork();
            REQUIRE(children[j] >= 0);
            if (children[j] == 0) {
                take();
                _exit(0);
            }
            printf("expect %d mutex %p acquisitions = %d\n", children[j], (void *)&mutex, TIMES);
            fflush(stdout);
        }
        for (int j = 0; j < AT_ONCE; j++) {
            int status;
            REQUIRE(waitpid(children[j], &status, 0) == children[j] && status == 0);
        }
    }
    take();
    expect("mutex", &mutex, "acquisitions = %d", TIMES);
    printf("processes %d\n", processes + 1);
    return 0;
}
