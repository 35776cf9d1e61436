/* Event counts and rings: pass work from one thread to another without a lock, and sleep when there is none.
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

// The result of a call.
typedef enum unc_status {
  // Success.
  UNC_STATUS_OK = 0,
  // There is no room, or there was none until the deadline.
  UNC_STATUS_FULL = 1,
  // There is no value, or there was none until the deadline.
  UNC_STATUS_EMPTY = 2,
  // The other side is gone, and the ring has nothing left.
  UNC_STATUS_CLOSED = 3,
  // The capacity is zero; a ring holds at least one value.
  UNC_STATUS_ZERO_CAPACITY = 4,
  // There is not enough memory.
  UNC_STATUS_TOO_LARGE = 5,
} unc_status;

// The side that pops.
typedef struct unc_consumer unc_consumer;

// The side that pushes.
typedef struct unc_producer unc_producer;

// A count of events, for threads of one process. Zero-initialised memory is a valid count (UNC_EVENT_COUNT_INIT).
typedef struct unc_event_count {
  // The number of events, modulo 2^64. Only for the inlined functions.
  uint64_t version;
  // Bit 0 of the first word says that a thread may sleep. Only for the inlined functions.
  uint32_t sleepers[4];
} unc_event_count;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Waits until the count differs from `old`, and returns its new value.
//
// # Safety
// `count` points to an event count that outlives the call.
uint64_t unc_event_count_wait(const struct unc_event_count *count, uint64_t old);

// The same, but ends at `deadline_ns`. Returns true if the count differs from `old`, and false if the deadline has
// passed and the count is still `old`. Stores the count in `*now`.
//
// # Safety
// `count` points to an event count that outlives the call; `now` points to a number or is null.
bool unc_event_count_wait_until(const struct unc_event_count *count, uint64_t old, uint64_t deadline_ns, uint64_t *now);

// Wakes all threads that sleep on the count. The inlined increments call it when a thread may sleep.
//
// # Safety
// `count` points to an event count that outlives the call.
void unc_event_count_wake(const struct unc_event_count *count);

// Counts `events` events, from the only thread that counts. Equal to the inlined function, for callers other than C.
//
// # Safety
// `count` points to an event count that outlives the call, and no other thread counts events there.
void unc_event_count_add_call(const struct unc_event_count *count, uint64_t events);

// Makes a ring for `capacity` values and stores its two sides. On failure, returns why and stores nothing.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each.
enum unc_status unc_ring_create(size_t capacity, struct unc_producer **producer, struct unc_consumer **consumer);

// Pushes `value`. Sleeps until there is room, at most until `deadline_ns`. UNC_STATUS_FULL: the deadline has passed.
// UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_push(struct unc_producer *producer, uint64_t value, uint64_t deadline_ns);

// Pushes `value` if there is room. Never sleeps.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_try_push(struct unc_producer *producer, uint64_t value);

// Pushes as many of the `count` values as there is room for, and returns their number. Never sleeps.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it; `values` points to `count` values.
size_t unc_ring_try_push_many(struct unc_producer *producer, const uint64_t *values, size_t count);

// Closes the handle. Null is ignored.
//
// # Safety
// `producer` is null or a producer's handle that is not used afterwards.
void unc_ring_close_producer(struct unc_producer *producer);

// Pops the oldest value. Sleeps until there is one, at most until `deadline_ns`. UNC_STATUS_EMPTY: the deadline has
// passed. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_pop(struct unc_consumer *consumer, uint64_t *value, uint64_t deadline_ns);

// Pops the oldest value if there is one. Never sleeps.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_try_pop(struct unc_consumer *consumer, uint64_t *value);

// Pops as many values as there are, at most `count`, and returns their number. Never sleeps.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `values` points to `count` initialised values.
size_t unc_ring_try_pop_many(struct unc_consumer *consumer, uint64_t *values, size_t count);

// Closes the handle. Null is ignored.
//
// # Safety
// `consumer` is null or a consumer's handle that is not used afterwards.
void unc_ring_close_consumer(struct unc_consumer *consumer);

// The deadline `ns` nanoseconds from now.
uint64_t unc_deadline_after(uint64_t ns);

// How publishers avoid a fence, in words. Never freed.
const char *unc_backend(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* The inlined part of every increment. */

#define UNC_EVENT_COUNT_INIT {0, {0, 0, 0, 0}}
#define UNC_NEVER UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* The number of events. The caller sees what happened before each of them. */
static inline uint64_t unc_event_count_value(const unc_event_count *count) {
    return __atomic_load_n(&count->version, __ATOMIC_ACQUIRE);
}

/* Whether a thread may be asleep on the count. */
static inline bool unc_event_count_has_waiters(const unc_event_count *count) {
    return (__atomic_load_n(&count->sleepers[0], __ATOMIC_RELAXED) & 1) != 0;
}

/* Follows every publication and wakes the sleepers. A compiler barrier is enough here: a thread that goes to sleep runs a
 * full barrier on every CPU. */
static inline void unc_event_count_published(const unc_event_count *count) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(unc_event_count_has_waiters(count), 0)) unc_event_count_wake(count);
}

/* Counts events from the only thread that counts: no atomic read-modify-write. Zero events do nothing. */
static inline void unc_event_count_add(unc_event_count *count, uint64_t events) {
    if (events == 0) return;
    __atomic_store_n(&count->version, __atomic_load_n(&count->version, __ATOMIC_RELAXED) + events, __ATOMIC_RELEASE);
    unc_event_count_published(count);
}

/* Counts one event from the only thread that counts. */
static inline void unc_event_count_increment(unc_event_count *count) { unc_event_count_add(count, 1); }

/* Counts events from any of several threads, and returns the number before them. */
static inline uint64_t unc_event_count_add_many(unc_event_count *count, uint64_t events) {
    uint64_t before = __atomic_fetch_add(&count->version, events, __ATOMIC_ACQ_REL);
    if (events != 0) unc_event_count_published(count);
    return before;
}

#ifdef __cplusplus
}
#endif
