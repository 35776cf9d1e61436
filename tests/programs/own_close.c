/* The program has functions of its own in the C library's place, which keep books under a lock. The observer must not call
   them: its first event would be inside of a call that it made itself. */
#include "truth.h"

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static int calls;

static void note(void) {
    pthread_mutex_lock(&books);
    calls++;
    pthread_mutex_unlock(&books);
}

int open(const char *path, int flags, ...) {
    note();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

int close(int descriptor) {
    note();
    return (int)syscall(SYS_close, descriptor);
}

ssize_t read(int descriptor, void *room, size_t bytes) {
    note();
    return syscall(SYS_read, descriptor, room, bytes);
}

void *mmap(void *where, size_t bytes, int access, int flags, int file, off_t offset) {
    note();
    return (void *)syscall(SYS_mmap, where, bytes, access, flags, file, offset);
}

int munmap(void *where, size_t bytes) {
    note();
    return (int)syscall(SYS_munmap, where, bytes);
}

int madvise(void *where, size_t bytes, int advice) {
    note();
    return (int)syscall(SYS_madvise, where, bytes, advice);
}

ssize_t readlink(const char *restrict path, char *restrict room, size_t bytes) {
    note();
    return syscall(SYS_readlinkat, AT_FDCWD, path, room, bytes);
}

pid_t getpid(void) {
    note();
    return (pid_t)syscall(SYS_getpid);
}

static void *body(void *unused) {
    note();
    return unused;
}

int main(void) {
    pthread_join(start(body, NULL), NULL);
    int file = open("/dev/null", O_RDONLY);
    char byte;
    REQUIRE(read(file, &byte, 1) == 0);
    close(file);
    REQUIRE(calls == 4);
    expect("mutex", &books, "acquisitions = %d", 5); /* One by `expect` itself, which asks for the process's id. */
    return 0;
}
