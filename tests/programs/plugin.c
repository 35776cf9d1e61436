/* A library that is loaded late, locks in its constructor, is waited in, and is gone before the report is made. Compiled
 * once more, by the program itself, as that library. */
#include "truth.h"
#include <dlfcn.h>

#ifdef PLUGIN
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void at_load(void) {
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
}

NOINLINE void want_it_in_a_plugin(pthread_mutex_t *m) {
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    __asm__ volatile("");
}
#else
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiter;

static void *body(void *entry) {
    waiter = my_tid();
    ((void (*)(pthread_mutex_t *))entry)(&m);
    return NULL;
}

static void compile_plugin(const char *path) {
    char command[9000];
    snprintf(command, sizeof command, "unset LD_PRELOAD; ${CC:-cc} -DPLUGIN -O1 -g -shared -fPIC -pthread -o '%s' '%s'",
             path, __FILE__);
    REQUIRE(system(command) == 0);
}

int main(int count, char **arguments) {
    (void)count;
    char path[4096];
    snprintf(path, sizeof path, "%s.plugin.so", arguments[0]);
    compile_plugin(path);
    void *library = dlopen(path, RTLD_NOW);
    REQUIRE(library != NULL);
    void *entry = dlsym(library, "want_it_in_a_plugin");
    REQUIRE(entry != NULL);
    pthread_mutex_lock(&m);
    pthread_t a = start(body, entry);
    await_asleep(&waiter);
    nap_ms(20);
    pthread_mutex_unlock(&m);
    pthread_join(a, NULL);
    dlclose(library);
    expect("mutex", &m, "acquisitions = 2");
    expect("mutex", &m, "blocked = 1");
    expect("mutex", &m, "worst_wait.waiter ~ want_it_in_a_plugin");
    return 0;
}
#endif
