/* Event counts and rings: hand work from one thread to another without a lock, and sleep when there is none.
 *
 * Generated from crates/uncontended/src/c by `cargo xtask header`; do not edit. The library:
 *
 *     cargo rustc --release -p uncontended --features c --crate-type staticlib
 *     cc program.c -I crates/uncontended/include target/release/libuncontended.a -lgcc_s -lm -ldl -pthread
 *
 * Works in C11 and C++11 with GCC and Clang. No function throws or unwinds. Times are nanoseconds of CLOCK_MONOTONIC;
 * UNC_NEVER means without a deadline. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a call ended.
typedef enum unc_status {
  // As it should.
  UNC_STATUS_OK = 0,
  // There is no room, or was none until the deadline passed.
  UNC_STATUS_FULL = 1,
  // There is no value, or was none until the deadline passed.
  UNC_STATUS_EMPTY = 2,
  // The other side has gone, and nothing is left.
  UNC_STATUS_CLOSED = 3,
  // A ring holds at least one value.
  UNC_STATUS_ZERO_CAPACITY = 4,
  // There is not that much memory.
  UNC_STATUS_TOO_LARGE = 5,
} unc_status;

// The side that pops.
typedef struct unc_consumer unc_consumer;

// The side that pushes.
typedef struct unc_producer unc_producer;

// A count of events. Zero-initialised memory is one (UNC_EVENT_COUNT_INIT). For threads of one process.
typedef struct unc_event_count {
  // How many events there were, modulo 2^64. For the inlined functions alone.
  uint64_t version;
  // Bit 0 of the first says that somebody sleeps. For the inlined functions alone.
  uint32_t sleepers[4];
} unc_event_count;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Waits until the count differs from `old`, and returns what it is then.
//
// # Safety
// `count` points to an event count that outlives the call.
uint64_t unc_event_count_wait(const struct unc_event_count *count, uint64_t old);

// The same, but not longer than to `deadline_ns`. True: the count differs from `old`, and is `*now`. False: the
// deadline has passed, and the count was still `old`, as `*now` says.
//
// # Safety
// `count` points to an event count that outlives the call, `now` to a number or is null.
bool unc_event_count_wait_until(const struct unc_event_count *count, uint64_t old, uint64_t deadline_ns, uint64_t *now);

// Wakes everybody who sleeps at the count: what the inlined increments call when somebody does.
//
// # Safety
// `count` points to an event count that outlives the call.
void unc_event_count_wake(const struct unc_event_count *count);

// Counts `events` events, from the one thread that does: what the inlined function does, for callers that are not C.
//
// # Safety
// `count` points to an event count that outlives the call, and no other thread counts events there.
void unc_event_count_add_call(const struct unc_event_count *count, uint64_t events);

// Makes a ring for `capacity` values and stores its two sides, or says why not and stores nothing.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each.
enum unc_status unc_ring_create(size_t capacity, struct unc_producer **producer, struct unc_consumer **consumer);

// Pushes `value`, and sleeps until there is room for it, but not longer than to `deadline_ns`. UNC_STATUS_FULL: the
// deadline has passed. UNC_STATUS_CLOSED: the consumer has gone.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_push(struct unc_producer *producer, uint64_t value, uint64_t deadline_ns);

// Pushes `value` if there is room. Never sleeps.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_try_push(struct unc_producer *producer, uint64_t value);

// Pushes as many of `count` values as there is room for, and returns how many that is. Never sleeps.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it; `values` points to `count` values.
size_t unc_ring_try_push_many(struct unc_producer *producer, const uint64_t *values, size_t count);

// Gives the handle back. Null is nothing.
//
// # Safety
// `producer` is a producer's handle, which nobody uses any more, or null.
void unc_ring_close_producer(struct unc_producer *producer);

// Pops the oldest value, and sleeps until there is one, but not longer than to `deadline_ns`. UNC_STATUS_EMPTY: the
// deadline has passed. UNC_STATUS_CLOSED: there will never be one.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_pop(struct unc_consumer *consumer, uint64_t *value, uint64_t deadline_ns);

// Pops the oldest value if there is one. Never sleeps.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_try_pop(struct unc_consumer *consumer, uint64_t *value);

// Pops as many values as there are, at most `count`, and returns how many that is. Never sleeps.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `values` points to memory for `count` values, which
// are initialised.
size_t unc_ring_try_pop_many(struct unc_consumer *consumer, uint64_t *values, size_t count);

// Gives the handle back. Null is nothing.
//
// # Safety
// `consumer` is a consumer's handle, which nobody uses any more, or null.
void unc_ring_close_consumer(struct unc_consumer *consumer);

// The deadline that is `ns` nanoseconds from now.
uint64_t unc_deadline_after(uint64_t ns);

// What lets publishers go without a fence, in words; never freed.
const char *unc_backend(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* What every increment runs, inlined. */

#define UNC_EVENT_COUNT_INIT {0, {0, 0, 0, 0}}
#define UNC_NEVER UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* How many events there were. What happened before each of them is seen. */
static inline uint64_t unc_event_count_value(const unc_event_count *count) {
    return __atomic_load_n(&count->version, __ATOMIC_ACQUIRE);
}

/* Whether somebody may sleep at the count. */
static inline bool unc_event_count_has_waiters(const unc_event_count *count) {
    return (__atomic_load_n(&count->sleepers[0], __ATOMIC_RELAXED) & 1) != 0;
}

/* What follows every publication: wakes whoever sleeps. The compiler barrier is all the fence that is needed here: who goes
 * to sleep runs one on every CPU. */
static inline void unc_event_count_published(const unc_event_count *count) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(unc_event_count_has_waiters(count), 0)) unc_event_count_wake(count);
}

/* Counts events, from the only thread that does: no atomic read-modify-write. No events are no event. */
static inline void unc_event_count_add(unc_event_count *count, uint64_t events) {
    if (events == 0) return;
    __atomic_store_n(&count->version, __atomic_load_n(&count->version, __ATOMIC_RELAXED) + events, __ATOMIC_RELEASE);
    unc_event_count_published(count);
}

/* Counts one event, from the only thread that does. */
static inline void unc_event_count_increment(unc_event_count *count) { unc_event_count_add(count, 1); }

/* Counts events from any of several threads, and returns how many there were before. */
static inline uint64_t unc_event_count_add_many(unc_event_count *count, uint64_t events) {
    uint64_t before = __atomic_fetch_add(&count->version, events, __ATOMIC_ACQ_REL);
    if (events != 0) unc_event_count_published(count);
    return before;
}

#ifdef __cplusplus
}
#endif
