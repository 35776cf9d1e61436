/* An allocator of the program's own, preloaded beside the observer, that takes a pthread mutex at every call. Compiled once
 * more, by the program itself, as that allocator. */
#include "truth.h"

#ifdef ALLOCATOR
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static char memory[64 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size) {
    pthread_mutex_lock(&heap);
    size_t at = used;
    used += (size + 31) / 16 * 16;
    pthread_mutex_unlock(&heap);
    if (used > sizeof memory) abort();
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) { return malloc(count * size); /* Never used twice, so still zero. */ }

void *realloc(void *block, size_t size) {
    void *fresh = malloc(size);
    if (block) memcpy(fresh, block, size < ((size_t *)block)[-2] ? size : ((size_t *)block)[-2]);
    return fresh;
}

pthread_mutex_t *heap_lock(void) { return &heap; }
#else
pthread_mutex_t *heap_lock(void) __attribute__((weak));
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&m);
        void *volatile block = malloc(24);
        free(block);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(int count, char **arguments) {
    if (count < 2) {
        char path[2000], text[8000];
        const char *present = getenv("LD_PRELOAD");
        snprintf(path, sizeof path, "%s.malloc.so", arguments[0]);
        snprintf(text, sizeof text, "unset LD_PRELOAD; ${CC:-cc} -DALLOCATOR -O1 -shared -fPIC -pthread -o '%s' '%s'", path,
                 __FILE__);
        REQUIRE(system(text) == 0);
        snprintf(text, sizeof text, "%s%s%s", present ? present : "", present ? ":" : "", path);
        setenv("LD_PRELOAD", text, 1);
        execl(arguments[0], arguments[0], "again", (char *)NULL);
        REQUIRE(!"execl");
    }
    REQUIRE(heap_lock != NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) threads[i] = start(body, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    expect("mutex", &m, "acquisitions = 3000");
    expect("mutex", heap_lock(), "acquisitions >= 3000");
    return 0;
}
#endif
