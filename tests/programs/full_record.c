/* Threads that come when the record is full are not recorded, and take no memory for it. */
#include "truth.h"
#include <sys/resource.h>

enum { LOCKS = 1 << 17, AFTER = 20000 };
static pthread_mutex_t locks[LOCKS], late = PTHREAD_MUTEX_INITIALIZER;
static const rlim_t SPACE = 64 << 20;

/* Kilobytes of address space. */
static long space_kb(void) {
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    REQUIRE(length > 0);
    text[length] = 0;
    char *line = strstr(text, "VmSize:");
    REQUIRE(line != NULL);
    return atol(line + 7);
}

static void *come_late(void *unused) {
    long before = space_kb();
    for (int i = 0; i < AFTER; i++) {
        pthread_mutex_lock(&late);
        pthread_mutex_unlock(&late);
    }
    long more = space_kb() - before;
    if (more > 1024) fprintf(stderr, "%ld kB for %d events that are not recorded\n", more, AFTER);
    REQUIRE(more <= 1024);
    return unused;
}

int main(int count, char **arguments) {
    if (count < 2) {
        struct rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = SPACE; /* The observer takes an eighth. */
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
        execl(arguments[0], arguments[0], "again", (char *)NULL);
        REQUIRE(!"execl");
    }
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&locks[i]);
        pthread_mutex_unlock(&locks[i]);
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &small, come_late, NULL) == 0);
    pthread_join(thread, NULL);
    expect("mutex", &locks[0], "acquisitions = 1");
    return 0;
}
