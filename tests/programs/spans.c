/* Requests of two threads. Each takes a lock of their own for a moment; one in a hundred or so comes while a third thread
 * holds another lock for 30 ms, and waits for that: last or, with `store-first`, before its short wait. Each request is announced as a span, too. */
#include "truth.h"
#include <uncontended.h>

enum { REQUESTS = 1000, COMPACTIONS = 40, COMPACT_MS = 30 };
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, store = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int done;
static int is_store_first;

static void use_store(void) {
    pthread_mutex_lock(&store);
    pthread_mutex_unlock(&store);
}

NOINLINE void request(int depth) {
    if (depth > 0) {
        request(depth - 1); /* Part of the same call. */
        return;
    }
    if (is_store_first) use_store();
    pthread_mutex_lock(&table);
    usleep(100);
    pthread_mutex_unlock(&table);
    if (!is_store_first) use_store();
    __asm__ volatile("");
}

NOINLINE static void compact(void) {
    pthread_mutex_lock(&store);
    nap_ms(COMPACT_MS);
    pthread_mutex_unlock(&store);
    __asm__ volatile("");
}

static void *serve(void *unused) {
    for (int i = 0; i < REQUESTS; i++) {
        UNCONTENDED_SPAN("serve");
        struct uncontended_span inner = uncontended_span_begin("inner");
        request(1);
        if (i % 2 == 0) uncontended_span_end(&inner);
    }
    done++;
    return unused;
}

static void *compacts(void *unused) {
    for (int i = 0; i < COMPACTIONS && done == 0; i++) {
        nap_ms(20);
        compact();
    }
    return unused;
}

int main(int count, char **arguments) {
    is_store_first = count > 1 && strcmp(arguments[1], "store-first") == 0;
    pthread_t threads[] = {start(compacts, NULL), start(serve, NULL), start(serve, NULL)};
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    expect("mutex", &store, "held_by(compact) >= %lld", COMPACT_MS * MS);
    return 0;
}
