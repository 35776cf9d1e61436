/* C11's locks are the C library's own underneath, but reach it without a call that can be seen. */
#include "truth.h"
#include <threads.h>

static mtx_t m;
static cnd_t c;
static int ready;

static int body(void *unused) {
    (void)unused;
    mtx_lock(&m);
    while (!ready) cnd_wait(&c, &m);
    mtx_unlock(&m);
    return 0;
}

int main(void) {
    thrd_t thread;
    REQUIRE(mtx_init(&m, mtx_plain) == thrd_success && cnd_init(&c) == thrd_success);
    REQUIRE(thrd_create(&thread, body, NULL) == thrd_success);
    nap_ms(100);
    mtx_lock(&m);
    ready = 1;
    cnd_signal(&c);
    mtx_unlock(&m);
    thrd_join(thread, NULL);
    REQUIRE(mtx_trylock(&m) == thrd_success);
    mtx_unlock(&m);
    /* body, its way back from the condition, main, main's try. */
    expect("mutex", &m, "acquisitions = 4");
    expect("mutex", &m, "hold_ns.count = 4");
    expect("mutex", &m, "created ~ main");
    expect("condition", &c, "acquisitions = 1");
    expect("condition", &c, "wait_ns.max >= %lld", 50 * MS);
    return 0;
}
