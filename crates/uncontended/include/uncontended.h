/* Annotations: give a lock of your own a row in the report of `unc run`.
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

#ifdef __cplusplus
}
#endif
#endif
