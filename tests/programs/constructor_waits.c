/* A library's constructor waits for a thread that calls each of these functions for the first time: whoever asked the
 * loader for something then would wait for ever, because the loader is busy with that very library. Compiled once more, by
 * the program itself, as that library. */
#include "truth.h"
#include <dlfcn.h>

#ifdef PLUGIN
__attribute__((constructor)) static void at_load(void) {
    void (*use)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "use_in_a_thread");
    REQUIRE(use != NULL);
    use();
}
#else
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;

static void *body(void *unused) {
    pthread_mutex_lock(&m);
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    pthread_rwlock_wrlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    sem_init(&semaphore, 0, 1);
    sem_wait(&semaphore);
    sem_post(&semaphore);
    return unused;
}

void use_in_a_thread(void) {
    pthread_join(start(body, NULL), NULL);
}

int main(int count, char **arguments) {
    (void)count;
    REQUIRE(dlerror() == NULL); /* whatever the observer looked for and did not find */
    char path[4096], command[9000];
    snprintf(path, sizeof path, "%s.plugin.so", arguments[0]);
    snprintf(command, sizeof command, "unset LD_PRELOAD; ${CC:-cc} -DPLUGIN -O1 -g -shared -fPIC -pthread -o '%s' '%s'",
             path, __FILE__);
    REQUIRE(system(command) == 0);
    alarm(20);
    REQUIRE(dlopen(path, RTLD_NOW) != NULL);
    unlink(path);
    expect("mutex", &m, "acquisitions = 1");
    expect("rwlock-write", &rw, "acquisitions = 1");
    expect("spin", (const void *)&spin, "acquisitions = 1");
    expect("semaphore", &semaphore, "acquisitions = 1");
    return 0;
}
#endif
