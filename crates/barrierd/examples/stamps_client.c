/* A client of barrierd in C: connects to the socket argv[1], maps the stamps and the page, and waits for one fence. It
   knows the protocol from README.md alone. Prints how long the fence took; exits with 1 where anything is not as described. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct stamp { _Atomic uint64_t at_ns, runs; uint64_t zero[6]; };
struct cpu { uint64_t followed; _Atomic uint64_t absences, offline_ns; uint64_t zero; };
struct page {
    uint64_t magic, version, generation, cpus;
    uint64_t tick_ns, patience_ns, program_ns, pid;
    _Atomic uint64_t turn, oldest_ns, heartbeat, visits, busy_ns;
    uint64_t zero[3];
    struct cpu cpu[];
};
_Static_assert(sizeof(struct stamp) == 64, "a line per CPU");
_Static_assert(sizeof(struct page) == 128, "two lines");

enum { MOST_CPUS = 8192 };
static struct { uint64_t runs, absences; } asked[MOST_CPUS];

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int fail(const char *what) {
    fprintf(stderr, "stamps_client: %s\n", what);
    return 1;
}

/* Receives the message and its two descriptors. */
static int receive(int fd, uint64_t words[8], int both[2]) {
    union { char bytes[CMSG_SPACE(2 * sizeof(int))]; struct cmsghdr align; } control;
    struct iovec piece = {words, 64};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 64) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(2 * sizeof(int))) return -1;
    memcpy(both, CMSG_DATA(head), 2 * sizeof(int));
    return 0;
}

static void ask(struct page *page, struct stamp *stamps) {
    atomic_thread_fence(memory_order_seq_cst);
    for (uint64_t n = 0; n < page->cpus; n++) {
        asked[n].runs = atomic_load_explicit(&stamps[n].runs, memory_order_relaxed);
        asked[n].absences = atomic_load_explicit(&page->cpu[n].absences, memory_order_relaxed);
    }
}

static int is_past(struct page *page, struct stamp *stamps) {
    for (uint64_t n = 0; n < page->cpus; n++) {
        if (!page->cpu[n].followed) continue;
        uint64_t runs = atomic_load_explicit(&stamps[n].runs, memory_order_acquire);
        uint64_t absences = atomic_load_explicit(&page->cpu[n].absences, memory_order_acquire);
        if (runs == asked[n].runs && absences - asked[n].absences < 2) return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path) return fail("give the socket's path");
    strcpy(address.sun_path, argv[1]);
    // When the daemon has died, others order this process's light fences by membarrier: MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED.
    if (syscall(SYS_membarrier, 1 << 2, 0, 0) != 0) return fail("membarrier is refused");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return fail("no daemon");
    struct ucred who;
    socklen_t length = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 || (who.uid != 0 && who.uid != geteuid()))
        return fail("the daemon is another user's");
    uint64_t words[8];
    int both[2];
    if (receive(fd, words, both) != 0) return fail("not the message");
    if (memcmp(words, "UNCSTAMP", 8) != 0 || words[1] != 2 || words[2] == 0 || words[2] > MOST_CPUS) return fail("another version");
    uint64_t cpus = words[2];
    struct stamp *stamps = mmap(NULL, 64 * cpus, PROT_READ, MAP_SHARED, both[0], 0);
    struct page *page = mmap(NULL, 128 + 32 * cpus, PROT_READ, MAP_SHARED, both[1], 0);
    if (stamps == MAP_FAILED || page == MAP_FAILED) return fail("not mapped");
    if (memcmp(page, "UNCSTAMP", 8) != 0 || page->version != 2 || page->cpus != cpus) return fail("not the page");
    if (mmap(NULL, 64 * cpus, PROT_READ | PROT_WRITE, MAP_SHARED, both[0], 0) != MAP_FAILED) return fail("stamps can be written");
    if (mmap(NULL, 128, PROT_READ | PROT_WRITE, MAP_SHARED, both[1], 0) != MAP_FAILED) return fail("the page can be written");

    ask(page, stamps);
    uint64_t turn = page->turn, asked_ns = now_ns(), beat = 0, beat_ns = asked_ns;
    while (!is_past(page, stamps)) {
        uint64_t now = now_ns(), heartbeat = page->heartbeat;
        if (heartbeat != beat) beat = heartbeat, beat_ns = now;
        if (heartbeat == 0 || now > beat_ns + page->patience_ns) return fail("the daemon is silent");
        if (write(fd, "w", 1) != 1) return fail("the daemon has gone");
        usleep(500);
    }
    uint64_t took_ns = now_ns() - asked_ns;
    while (page->turn - turn < 2) {
        if (now_ns() > asked_ns + 10000000000u) return fail("no turns");
        if (write(fd, "w", 1) != 1) return fail("the daemon has gone");
        usleep(500);
    }
    printf("%llu CPUs, a fence in %llu us\n", (unsigned long long)cpus, (unsigned long long)(took_ns / 1000));
    return 0;
}
