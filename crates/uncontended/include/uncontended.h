/* Annotations for the report of `unc run`.
 *
 * A span: what did the slowest requests wait for?
 *
 *     void handle(request *r) {
 *         UNCONTENDED_SPAN("request");           until the end of the block, however it is left
 *         ...
 *     }
 *
 * The name is a string literal, of which the report has the first 39 bytes. Spans may nest. If the
 * work continues in another thread, that one may end the span with uncontended_span_end. In C, a longjmp or a thread's
 * end leaves the block without ending the span.
 *
 * A lock of your own becomes a row:
 *
 *     if (!try_take(lock)) {
 *         uncontended_wait_begin(lock);      before the first moment of waiting
 *         while (!try_take(lock)) pause();
 *     }
 *     uncontended_acquired(lock);            right after the lock is acquired, after a wait or not
 *     ...
 *     uncontended_released(lock);            right before it is released
 *     give_back(lock);
 *
 * `lock` is any address that identifies the lock. Call uncontended_gave_up when a wait ends without the lock.
 * Without an observer each call is a load, a comparison and a branch not taken. Needs GCC or Clang, and glibc (before 2.34
 * link with -ldl); works in C and C++, in programs and libraries, position-independent or not. */
#ifndef UNCONTENDED_H
#define UNCONTENDED_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of the preloaded library, under the symbol uncontended_hooks. */
struct uncontended_hooks {
    void (*wait_begin)(const volatile void *lock);
    void (*acquired)(const volatile void *lock);
    void (*released)(const volatile void *lock);
    void (*gave_up)(const volatile void *lock);
};

/* The hooks of the observer, or 0 if there is none. */
static inline const struct uncontended_hooks *uncontended_observer(void) {
    static const struct uncontended_hooks absent = {0, 0, 0, 0};
    static const struct uncontended_hooks *found = 0;
    const struct uncontended_hooks *hooks = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (__builtin_expect(hooks == 0, 0)) {
        hooks = (const struct uncontended_hooks *)dlsym((void *)0 /* RTLD_DEFAULT */, "uncontended_hooks");
        if (hooks == 0) hooks = &absent;
        __atomic_store_n(&found, hooks, __ATOMIC_RELAXED);
    }
    return __builtin_expect(hooks == &absent, 1) ? 0 : hooks;
}

static inline void uncontended_wait_begin(const volatile void *lock) {
    const struct uncontended_hooks *hooks = uncontended_observer();
    if (hooks) hooks->wait_begin(lock);
}

static inline void uncontended_acquired(const volatile void *lock) {
    const struct uncontended_hooks *hooks = uncontended_observer();
    if (hooks) hooks->acquired(lock);
}

static inline void uncontended_released(const volatile void *lock) {
    const struct uncontended_hooks *hooks = uncontended_observer();
    if (hooks) hooks->released(lock);
}

static inline void uncontended_gave_up(const volatile void *lock) {
    const struct uncontended_hooks *hooks = uncontended_observer();
    if (hooks) hooks->gave_up(lock);
}

/* A part of the program's work, from uncontended_span_begin to uncontended_span_end. */
struct uncontended_span {
    const char *name;
    unsigned long long began; /* 0 without an observer */
};

/* The functions of the preloaded library, under the symbol uncontended_span_hooks. */
struct uncontended_span_hooks {
    unsigned long long (*begin)(const char *name);
    void (*end)(const char *name, unsigned long long began);
};

static inline const struct uncontended_span_hooks *uncontended_span_observer(void) {
    static const struct uncontended_span_hooks absent = {0, 0};
    static const struct uncontended_span_hooks *found = 0;
    const struct uncontended_span_hooks *hooks = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (__builtin_expect(hooks == 0, 0)) {
        hooks = (const struct uncontended_span_hooks *)dlsym((void *)0 /* RTLD_DEFAULT */, "uncontended_span_hooks");
        if (hooks == 0) hooks = &absent;
        __atomic_store_n(&found, hooks, __ATOMIC_RELAXED);
    }
    return __builtin_expect(hooks == &absent, 1) ? 0 : hooks;
}

static inline struct uncontended_span uncontended_span_begin(const char *name) {
    const struct uncontended_span_hooks *hooks = uncontended_span_observer();
    struct uncontended_span span = {name, hooks ? hooks->begin(name) : 0};
    return span;
}

static inline void uncontended_span_end(const struct uncontended_span *span) {
    if (__builtin_expect(span->began != 0, 0)) uncontended_span_observer()->end(span->name, span->began);
}

/* A span from here to the end of the block. */
#define UNCONTENDED_SPAN(name) UNCONTENDED_SPAN_AT(name, __LINE__)
#define UNCONTENDED_SPAN_AT(name, line) UNCONTENDED_SPAN_IN(name, line)
#define UNCONTENDED_SPAN_IN(name, line) \
    struct uncontended_span uncontended_span_##line __attribute__((cleanup(uncontended_span_end), unused)) = \
        uncontended_span_begin(name)

#ifdef __cplusplus
}
#endif
#endif
