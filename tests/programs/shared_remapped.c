/* Two files with a mutex each, mapped one after the other at one address: each mutex is itself wherever it is mapped. Then
 * two named semaphores, of which the C library maps the second where the first was. shared_remapped HOW: munmap, fixed
 * (mapped over), moved (mremap). */
#include "truth.h"

enum { BYTES = 4096 };

static int files[2];
static pthread_mutex_t *made[2];
static void *place;

static pthread_mutex_t *map(int file, int where) {
    void *at = where == 0 ? NULL : place;
    void *mapped = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | (at != NULL ? MAP_FIXED : 0), file, 0);
    REQUIRE(mapped != MAP_FAILED && (at == NULL || mapped == at));
    return mapped;
}

/* Makes room for two where nothing else is mapped. */
static void reserve(void) {
    place = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place != MAP_FAILED);
}

static void leave(pthread_mutex_t *mutex, const char *how) {
    if (strcmp(how, "munmap") == 0) REQUIRE(munmap(mutex, BYTES) == 0);
    if (strcmp(how, "moved") == 0) {
        void *away = mremap(mutex, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)place + BYTES);
        REQUIRE(away != MAP_FAILED);
        munmap(away, BYTES);
    }
}

NOINLINE static void take(pthread_mutex_t *mutex, int times) {
    for (int i = 0; i < times; i++) {
        REQUIRE(pthread_mutex_lock(mutex) == 0);
        REQUIRE(pthread_mutex_unlock(mutex) == 0);
    }
}

/* By a thread that has not met the other one there, too. */
static void *take_one(void *mutex) {
    take(mutex, 1);
    return NULL;
}

static void semaphores(void) {
    sem_t *all[2];
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "/remapped-%d-%d", (int)getpid(), i);
        all[i] = sem_open(name, O_CREAT | O_EXCL, 0600, 8);
        REQUIRE(all[i] != SEM_FAILED);
        sem_unlink(name);
        for (int times = 0; times < 2 + i; times++) REQUIRE(sem_wait(all[i]) == 0);
        sem_close(all[i]);
    }
    if (all[0] != all[1]) return;
    expect("semaphore", NULL, "rows = 2");
}

int main(int count, char **words) {
    REQUIRE(count == 2);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++) {
        files[i] = fileno(tmpfile());
        REQUIRE(ftruncate(files[i], BYTES) == 0);
        made[i] = map(files[i], 0);
        REQUIRE(pthread_mutex_init(made[i], &attributes) == 0);
        take(made[i], 1);
    }
    reserve();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            pthread_mutex_t *mutex = map(files[i], 1);
            take(mutex, 10 + i);
            pthread_join(start(take_one, mutex), NULL);
            leave(mutex, words[1]);
        }
    }
    for (int i = 0; i < 2; i++) {
        take(made[i], 1);
        expect("mutex", made[i], "acquisitions = %d", 2 + 3 * (11 + i));
    }
    semaphores();
    return 0;
}
