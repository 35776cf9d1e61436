/* More keys of threads than the C library holds without memory of its own, made before the observer's; and an allocator
 * that locks, as in own_malloc.c, but without recursion: to allocate while it is locked never ends. */
#include "truth.h"

enum { KEYS = 100 };
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static char memory[16 << 20] __attribute__((aligned(16)));
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

static void make_keys(void) {
    pthread_key_t key;
    for (int i = 0; i < KEYS; i++) REQUIRE(pthread_key_create(&key, NULL) == 0);
}

/* Runs before every constructor of a library. */
__attribute__((section(".preinit_array"), used)) static void (*const keys_first)(void) = make_keys;

static void *allocate(void *unused) {
    void *volatile block = malloc(24);
    free(block);
    return unused;
}

int main(void) {
    alarm(20);
    for (int i = 0; i < 3; i++) pthread_join(start(allocate, NULL), NULL);
    expect("mutex", &heap, "acquisitions >= 3");
    return 0;
}
