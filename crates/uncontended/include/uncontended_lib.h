/* Event counts, rings and records: pass work from one thread to another without a lock, and sleep when there is none.
 *
 * Generated from crates/uncontended/src/c by `cargo xtask header`; do not edit. `cargo xtask install-c --prefix DIR`
 * installs the library, for pkg-config and CMake. Without it:
 *
 *     cargo rustc --release -p uncontended --features c --crate-type staticlib
 *     cc program.c -I crates/uncontended/include target/release/libuncontended.a -lgcc_s -lm -ldl -pthread
 *
 * Works in C11 and C++11 with GCC and Clang; uncontended.hpp has types for C++17. No function throws or unwinds. A
 * handle is used by one thread at a time. Deadlines are nanoseconds of CLOCK_MONOTONIC (unc_deadline_after); UNC_NEVER
 * means without a deadline, and UNC_NOW that the call never sleeps. */

/* A library built with --cfg unc_portable: define UNC_PORTABLE. Without it, the program is not linked. */
#ifndef __linux__
#define UNC_PORTABLE
#endif
#ifdef UNC_PORTABLE
#define unc_event_count_wake unc_event_count_wake_portable
#endif

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
  // The record is longer than the ring can ever hold, or than the memory given for it; or an element is too long.
  UNC_STATUS_TOO_LONG = 6,
  // A null pointer where one is needed, a size of zero, an element of another size than the ring holds, or a call
  // that must wait: to push while elements are claimed, to commit more than were.
  UNC_STATUS_INVALID = 7,
  // Something other than the ring's producers wrote to its memory: none of its contents can be trusted.
  UNC_STATUS_CORRUPT = 8,
  // The deadline has passed.
  UNC_STATUS_TIMED_OUT = 9,
  // The memory is too small for the ring.
  UNC_STATUS_TOO_SMALL = 10,
  // The memory holds no ring, or one of another kind or of another version of this library.
  UNC_STATUS_NO_RING = 11,
  // Another holder has the role.
  UNC_STATUS_HELD = 12,
  // The process that held the role died. The role can be taken over.
  UNC_STATUS_DIED = 13,
} unc_status;

// A consumer: a stage, or a member of one.
typedef struct unc_broadcast_consumer unc_broadcast_consumer;

// The side that publishes.
typedef struct unc_broadcast_producer unc_broadcast_producer;

// The side that pops.
typedef struct unc_consumer unc_consumer;

// The consumer of all lanes.
typedef struct unc_lane_consumer unc_lane_consumer;

// A producer with a lane of its own.
typedef struct unc_lane_producer unc_lane_producer;

// The side that pushes.
typedef struct unc_producer unc_producer;

// The side that reads records.
typedef struct unc_record_consumer unc_record_consumer;

// The side that writes records.
typedef struct unc_record_producer unc_record_producer;

// This process's attachment to a ring of records in memory that processes share.
typedef struct unc_shared_records unc_shared_records;

// A stage of a broadcast.
typedef struct unc_stage {
  // How many consumers share the values. 0 and 1: a single one, which sees every value.
  size_t members;
  // Bit i: this stage follows stage i. 0: it follows the producer alone.
  uint64_t after;
} unc_stage;

// A count of events, for threads of one process. Zero-initialised memory is a valid count (UNC_EVENT_COUNT_INIT).
typedef struct unc_event_count {
  // The number of events, modulo 2^64. Only for the inlined functions.
  uint64_t version;
  // Bit 0 of the first word says that a thread may sleep, the last word that the count is closed. Only for the
  // inlined functions.
  uint32_t sleepers[4];
} unc_event_count;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a broadcast of `capacity` elements of `size` bytes each to the `count` stages at `stages`. Stores the
// producer, and at `consumers` the consumers of the first stage, then those of the second, and so on. The producer
// waits for each consumer that is not closed. On failure, returns why and stores nothing. UNC_STATUS_INVALID: there is
// no stage, or more than 64; or one has more than 65536 members; or one follows itself, directly or through others, or
// one that is not there. UNC_STATUS_TOO_LONG: `size` is above 4096.
//
// # Safety
// `stages` points to `count` stages, `producer` to memory for a pointer, and `consumers` to memory for as many
// pointers as all stages have consumers; or each is null.
enum unc_status unc_broadcast_create(size_t size,
                                     size_t capacity,
                                     const struct unc_stage *stages,
                                     size_t count,
                                     struct unc_broadcast_producer **producer,
                                     struct unc_broadcast_consumer **consumers);

// Publishes copies of the `count` elements at `elements`, in parts as large as there is room for. Sleeps in between
// until all are published, at most until `deadline_ns`; with UNC_NOW it never sleeps. Stores in `*pushed` how many
// were, whatever the result. UNC_STATUS_FULL: there was no room for the rest. UNC_STATUS_CLOSED: all consumers are
// gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
// null; `pushed` points to a number or is null.
enum unc_status unc_broadcast_push(struct unc_broadcast_producer *producer,
                                   const void *elements,
                                   size_t count,
                                   uint64_t deadline_ns,
                                   size_t *pushed);

// Closes the handle. Null is ignored.
//
// # Safety
// `producer` is null or a producer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_broadcast_close_producer(struct unc_broadcast_producer *producer);

// Copies the oldest elements that this consumer has not released, at most `count`, into `elements`, releases them, and
// stores their number in `*popped`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW it never
// sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there will never be one.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
// elements or is null; `popped` points to a number or is null.
enum unc_status unc_broadcast_pop(struct unc_broadcast_consumer *consumer,
                                  void *elements,
                                  size_t count,
                                  uint64_t deadline_ns,
                                  size_t *popped);

// Finds up to `most` of the oldest elements that this consumer has not released, in place, and stores a pointer to the
// first in `*memory` and their number in `*count`. They lie `unc_ring_stride` bytes apart. A member of a stage takes
// up to `most` elements for itself. Waits and fails as `unc_broadcast_pop`.
//
// ELEMENTS THAT ARE NOT RELEASED (`unc_broadcast_release`) ARE FOUND AGAIN by the next read: a loop that releases none
// never ends, and the producer waits for it.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
// pointer and a number, or are null. The elements may be read until the next call with this handle.
enum unc_status unc_broadcast_read(struct unc_broadcast_consumer *consumer,
                                   size_t most,
                                   const void **memory,
                                   size_t *count,
                                   uint64_t deadline_ns);

// Releases the first `count` of the elements read last. The others are read again. UNC_STATUS_INVALID: fewer are being
// read.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; the elements are not accessed afterwards.
enum unc_status unc_broadcast_release(struct unc_broadcast_consumer *consumer, size_t count);

// Closes the handle. The producer no longer waits for this consumer; stages after it see only what it released. Null
// is ignored.
//
// # Safety
// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_broadcast_close_consumer(struct unc_broadcast_consumer *consumer);

// The bytes from one element of `size` bytes to the next in place: `size` rounded up to a power of two, at least 8.
// 0: there can be no such ring.
size_t unc_ring_stride(size_t size);

// Pushes a copy of `*element`. Sleeps until there is room, at most until `deadline_ns`; with UNC_NOW it never sleeps.
// UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `element` points to an element or is null.
enum unc_status unc_ring_push_copy(struct unc_producer *producer, const void *element, uint64_t deadline_ns);

// Pushes copies of the `count` elements at `elements`, in parts as large as there is room for. Sleeps in between until
// all are pushed, at most until `deadline_ns`; with UNC_NOW it never sleeps. Stores in `*pushed` how many were pushed,
// whatever the result. UNC_STATUS_FULL: there was no room for the rest. UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
// null; `pushed` points to a number or is null.
enum unc_status unc_ring_push_many(struct unc_producer *producer,
                                   const void *elements,
                                   size_t count,
                                   uint64_t deadline_ns,
                                   size_t *pushed);

// Claims room for up to `most` elements in place, at least one, and stores a pointer to the first in `*memory` and
// their number in `*count`. Sleeps until there is room for one, at most until `deadline_ns`; with UNC_NOW it never
// sleeps. Write the elements `unc_ring_stride` bytes apart, then call `unc_ring_commit`. The memory is not cleared.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
// pointer and a number, or are null.
enum unc_status unc_ring_claim(struct unc_producer *producer,
                               size_t most,
                               void **memory,
                               size_t *count,
                               uint64_t deadline_ns);

// Publishes the first `count` of the elements claimed last, and gives the rest of the claim up. UNC_STATUS_INVALID:
// there is no claim, or it is for fewer; it stays then.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; the claimed memory is not accessed afterwards.
enum unc_status unc_ring_commit(struct unc_producer *producer, size_t count);

// How many elements there is room for now. Room only grows until the next push; 0 once the consumer has gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it.
size_t unc_ring_room(struct unc_producer *producer);

// Pops the oldest element into `*element`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW it
// never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `element` points to memory for an element or
// is null.
enum unc_status unc_ring_pop_copy(struct unc_consumer *consumer, void *element, uint64_t deadline_ns);

// Pops as many elements as there are, at most `count`, into `elements`, and stores their number in `*popped`. Sleeps
// until there is one, at most until `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see
// `unc_ring_pop_copy`.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
// elements or is null; `popped` points to a number or is null.
enum unc_status unc_ring_pop_many(struct unc_consumer *consumer,
                                  void *elements,
                                  size_t count,
                                  uint64_t deadline_ns,
                                  size_t *popped);

// Finds up to `most` of the oldest elements in place, and stores a pointer to the first in `*memory` and their number
// in `*count`, without popping them. They lie `unc_ring_stride` bytes apart. Sleeps until there is one, at most until
// `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see `unc_ring_pop_copy`.
//
// ELEMENTS THAT ARE NOT RELEASED (`unc_ring_release`) ARE FOUND AGAIN by the next read: a loop that releases none
// never ends, and the producer waits for room.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `memory` and `count` point to memory for a
// pointer and a number, or are null. The elements may be read until the next call with this handle.
enum unc_status unc_ring_read(struct unc_consumer *consumer,
                              size_t most,
                              const void **memory,
                              size_t *count,
                              uint64_t deadline_ns);

// Pops the first `count` of the elements read last. The others are read again. UNC_STATUS_INVALID: fewer are being
// read.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; the elements are not accessed afterwards.
enum unc_status unc_ring_release(struct unc_consumer *consumer, size_t count);

// How many elements can be popped now. The number only grows until the next pop.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it.
size_t unc_ring_available(struct unc_consumer *consumer);

// Waits until the count differs from `old`, and returns its new value; `old` if it is closed instead.
//
// # Safety
// `count` points to an event count that outlives the call.
uint64_t unc_event_count_wait(const struct unc_event_count *count, uint64_t old);

// The same, but ends at `deadline_ns`. Returns true if the count differs from `old`, and false if the deadline has
// passed or the count is closed, and it is still `old`. Stores the count in `*now`.
//
// # Safety
// `count` points to an event count that outlives the call; `now` points to a number or is null.
bool unc_event_count_wait_until(const struct unc_event_count *count, uint64_t old, uint64_t deadline_ns, uint64_t *now);

// The same, but returns why the wait ended. UNC_STATUS_TIMED_OUT: the deadline has passed and the count is still
// `old`. UNC_STATUS_CLOSED: it is closed and still `old`.
//
// # Safety
// `count` points to an event count that outlives the call; `now` points to a number or is null.
enum unc_status unc_event_count_wait_change(const struct unc_event_count *count,
                                            uint64_t old,
                                            uint64_t deadline_ns,
                                            uint64_t *now);

// Waits until `ready(context)` returns true: it is called at least once, then after events, but not after each.
// UNC_STATUS_TIMED_OUT: `deadline_ns` has passed and it still returns false. UNC_STATUS_CLOSED: the count is closed
// and it still returns false. UNC_STATUS_INVALID: `ready` is null.
//
// Make the condition hold by an atomic store with release, or under a lock that `ready` takes, and then count an
// event. `ready` must not wait on this count, and must not throw.
//
// # Safety
// `count` points to an event count that outlives the call; `ready` may be called with `context` on this thread.
enum unc_status unc_event_count_wait_for(const struct unc_event_count *count,
                                         bool (*ready)(void *context),
                                         void *context,
                                         uint64_t deadline_ns);

// Closes the count: no more events are expected, and all waits end, those to come too. It cannot be opened again,
// except as new memory.
//
// # Safety
// `count` points to an event count that outlives the call.
void unc_event_count_close(const struct unc_event_count *count);

// Wakes all threads that sleep on the count. The inlined increments call it when a thread may sleep.
//
// # Safety
// `count` points to an event count that outlives the call.
void unc_event_count_wake(const struct unc_event_count *count);

// What `unc_event_count_wake` is in a portable library, so that no program is linked with it whose increments lack the
// fence that it needs: see `UNC_PORTABLE`.
//
// # Safety
// `count` points to an event count that outlives the call.
void unc_event_count_wake_portable(const struct unc_event_count *count);

// Counts `events` events, from the only thread that counts. Equal to the inlined function, for callers other than C.
//
// # Safety
// `count` points to an event count that outlives the call, and no other thread counts events there.
void unc_event_count_add_call(const struct unc_event_count *count, uint64_t events);

// Makes `lanes` lanes for `capacity` elements each, of `size` bytes, and stores the first producer and the consumer.
// An element takes `size` rounded up to a power of two, at least 8 bytes. On failure, returns why and stores nothing.
// UNC_STATUS_TOO_LONG: `size` is above 4096. UNC_STATUS_TOO_LARGE: there are more than 65536 lanes, or not enough
// memory. UNC_STATUS_ZERO_CAPACITY: there is no lane, or none with room.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each, or are null.
enum unc_status unc_lanes_create(size_t size,
                                 size_t lanes,
                                 size_t capacity,
                                 struct unc_lane_producer **producer,
                                 struct unc_lane_consumer **consumer);

// Adds a producer with a free lane, and stores its handle in `*another`. UNC_STATUS_FULL: all lanes have a producer.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `another` points to memory for a pointer or is
// null.
enum unc_status unc_lanes_clone_producer(struct unc_lane_producer *producer, struct unc_lane_producer **another);

// Pushes a copy of `*element` into the producer's lane. Sleeps until there is room, at most until `deadline_ns`; with
// UNC_NOW it never sleeps. UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `element` points to an element or is null.
enum unc_status unc_lanes_push(struct unc_lane_producer *producer, const void *element, uint64_t deadline_ns);

// Pushes copies of the `count` elements at `elements`, each as `unc_lanes_push`, and stores in `*pushed` how many were
// pushed, whatever the result.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `elements` points to `count` elements or is
// null; `pushed` points to a number or is null.
enum unc_status unc_lanes_push_many(struct unc_lane_producer *producer,
                                    const void *elements,
                                    size_t count,
                                    uint64_t deadline_ns,
                                    size_t *pushed);

// Closes the handle: another producer may have its lane. Null is ignored.
//
// # Safety
// `producer` is null or a producer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_lanes_close_producer(struct unc_lane_producer *producer);

// Pops the oldest element of a lane into `*element`. Sleeps until there is one, at most until `deadline_ns`; with
// UNC_NOW it never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there is none, and all producers are
// gone.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `element` points to memory for an element or
// is null.
enum unc_status unc_lanes_pop(struct unc_lane_consumer *consumer, void *element, uint64_t deadline_ns);

// Pops as many elements as there are, at most `count`, into `elements`, and stores their number in `*popped`. Sleeps
// until there is one, at most until `deadline_ns`; with UNC_NOW it never sleeps. For the status of none, see
// `unc_lanes_pop`.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `elements` points to memory for `count`
// elements or is null; `popped` points to a number or is null.
enum unc_status unc_lanes_pop_many(struct unc_lane_consumer *consumer,
                                   void *elements,
                                   size_t count,
                                   uint64_t deadline_ns,
                                   size_t *popped);

// Closes the handle. Null is ignored.
//
// # Safety
// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_lanes_close_consumer(struct unc_lane_consumer *consumer);

// Makes a ring of at least `bytes` bytes for records from one producer, and stores its two sides. A record takes 8
// bytes and its length, rounded up to a multiple of 8; the longest is a little less than half of the ring. On failure,
// returns why and stores nothing.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each, or are null.
enum unc_status unc_records_create(size_t bytes,
                                   struct unc_record_producer **producer,
                                   struct unc_record_consumer **consumer);

// The same for records from many producers, of which it stores the first.
//
// # Safety
// As for `unc_records_create`.
enum unc_status unc_records_create_many(size_t bytes,
                                        struct unc_record_producer **producer,
                                        struct unc_record_consumer **consumer);

// Adds a producer to a ring that has many, and stores its handle in `*another`. UNC_STATUS_INVALID: the ring has one
// producer.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `another` points to memory for a pointer or is
// null.
enum unc_status unc_records_clone_producer(struct unc_record_producer *producer, struct unc_record_producer **another);

// Pushes a record with a copy of the `length` bytes at `bytes`. Sleeps until there is room, at most until
// `deadline_ns`; with UNC_NOW it never sleeps. UNC_STATUS_FULL: there is no room. UNC_STATUS_TOO_LONG: there never
// will be. UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `bytes` points to `length` bytes, or is null
// if `length` is zero.
enum unc_status unc_records_push(struct unc_record_producer *producer,
                                 const void *bytes,
                                 size_t length,
                                 uint64_t deadline_ns);

// Claims room for a record of `length` bytes in place and stores a pointer to it in `*memory`; waits and fails as
// `unc_records_push`. Write the bytes, then call `unc_records_commit` or `unc_records_abort`. The memory is not
// cleared. Records that other producers claim later wait for this one.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; `memory` points to memory for a pointer or is
// null.
enum unc_status unc_records_claim(struct unc_record_producer *producer,
                                  size_t length,
                                  void **memory,
                                  uint64_t deadline_ns);

// Publishes the claimed record. UNC_STATUS_INVALID: none is claimed.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it; the claimed memory is not accessed afterwards.
enum unc_status unc_records_commit(struct unc_record_producer *producer);

// Gives the claimed record up: the consumer never sees it. UNC_STATUS_INVALID: none is claimed.
//
// # Safety
// As for `unc_records_commit`.
enum unc_status unc_records_abort(struct unc_record_producer *producer);

// The length of the longest record of the ring, in bytes. 0 while one is claimed.
//
// # Safety
// `producer` is a producer's handle or null, and no other call uses it.
size_t unc_records_longest(struct unc_record_producer *producer);

// Closes the handle. A claimed record is given up. Null is ignored.
//
// # Safety
// `producer` is null or a producer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_records_close_producer(struct unc_record_producer *producer);

// Finds the oldest record in place, and stores a pointer to its bytes in `*bytes` and their number in `*length`. It
// stays in the ring until `unc_records_release`. Sleeps until there is one, at most until `deadline_ns`; with UNC_NOW
// it never sleeps. UNC_STATUS_EMPTY: there is none. UNC_STATUS_CLOSED: there is none, and all producers are gone.
//
// A RECORD THAT IS NOT RELEASED IS FOUND AGAIN by the next read: a loop that does not release it never ends, and the
// producers wait for room.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `bytes` and `length` point to memory for a
// pointer and a number, or are null. The bytes may be read until the next call with this handle.
enum unc_status unc_records_read(struct unc_record_consumer *consumer,
                                 const void **bytes,
                                 size_t *length,
                                 uint64_t deadline_ns);

// Pops the record that is being read. UNC_STATUS_INVALID: none is.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; the record is not accessed afterwards.
enum unc_status unc_records_release(struct unc_record_consumer *consumer);

// Skips a claim whose producer died, and stores in `*skipped` how many bytes that gave back; 0: no claim was in the
// way. UNC_STATUS_INVALID: the ring has one producer.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `skipped` points to a number or is null. The
// next claim will never be committed, given up or written, and no living producer is inside a call to claim or push
// now. Producers may hold other claims.
enum unc_status unc_records_unblock(struct unc_record_consumer *consumer, size_t *skipped);

// Pops the oldest record into the `room` bytes at `buffer`, and stores its length in `*length`. Waits and fails as
// `unc_records_read`. UNC_STATUS_TOO_LONG: it has more than `room` bytes; `*length` says how many, and it stays.
//
// # Safety
// `consumer` is a consumer's handle or null, and no other call uses it; `buffer` points to memory for `room` bytes, or
// is null if `room` is zero; `length` points to a number or is null.
enum unc_status unc_records_pop(struct unc_record_consumer *consumer,
                                void *buffer,
                                size_t room,
                                size_t *length,
                                uint64_t deadline_ns);

// Closes the handle. Null is ignored.
//
// # Safety
// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_records_close_consumer(struct unc_record_consumer *consumer);

// The bytes of memory that a ring of at least `capacity` bytes needs. 0: there can be no such ring.
size_t unc_shared_records_bytes(size_t capacity);

// Lays out an empty ring of at least `capacity` bytes in the `bytes` bytes at `memory`, attaches to it, and stores the
// attachment. On failure, returns why and stores nothing. UNC_STATUS_TOO_SMALL: it needs more memory.
// UNC_STATUS_INVALID: the memory is not aligned to 128 bytes, as pages always are.
//
// # Safety
// `memory` points to `bytes` bytes or is null; they stay mapped until the attachment and all handles made from it are
// closed, are not in use as a ring yet, and never used as anything else: all processes write to them only through this
// library. If another one may not, copy a record before you look at it. `records` points to memory for a pointer or is
// null.
enum unc_status unc_shared_records_create(void *memory,
                                          size_t bytes,
                                          size_t capacity,
                                          struct unc_shared_records **records);

// Attaches to the ring in the `bytes` bytes at `memory`, and stores the attachment. On failure, returns why and stores
// nothing. UNC_STATUS_NO_RING: none has been laid out there, or another kind, or by another version of this library.
//
// # Safety
// As for `unc_shared_records_create`, except that the memory is in use as a ring.
enum unc_status unc_shared_records_attach(void *memory, size_t bytes, struct unc_shared_records **records);

// Adds a producer, and stores its handle. UNC_STATUS_CLOSED: the ring was closed to new producers. It belongs to this
// process, as the consumer does: a copy that a fork leaves in a child may be closed, which changes nothing, but not
// used.
//
// # Safety
// `records` is an attachment or null, and no other call uses it; `producer` points to memory for a pointer or is null.
enum unc_status unc_shared_records_producer(struct unc_shared_records *records, struct unc_record_producer **producer);

// Claims the role of the consumer, and stores its handle. UNC_STATUS_HELD: another holder has the role.
// UNC_STATUS_DIED: the process that had it died; take it over. UNC_STATUS_CLOSED: the consumer has been closed.
//
// # Safety
// `records` is an attachment or null, and no other call uses it; `consumer` points to memory for a pointer or is null.
enum unc_status unc_shared_records_consumer(struct unc_shared_records *records, struct unc_record_consumer **consumer);

// Takes the role of the consumer over from a process that died, and stores the new handle. It reads again what the
// dead one had not released; call `unc_records_unblock` first. Otherwise as `unc_shared_records_consumer`.
//
// # Safety
// As for `unc_shared_records_consumer`.
enum unc_status unc_shared_records_take_over(struct unc_shared_records *records, struct unc_record_consumer **consumer);

// Announces that no more producers will join, in any process. Once the present ones are closed, the consumer gets
// UNC_STATUS_CLOSED. Null is ignored.
//
// # Safety
// `records` is an attachment or null, and no other call uses it.
void unc_shared_records_close(struct unc_shared_records *records);

// Frees the attachment. Handles made from it stay valid. Null is ignored.
//
// # Safety
// `records` is null or an attachment that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_shared_records_detach(struct unc_shared_records *records);

// Makes a ring for `capacity` 64-bit values and stores its two sides. On failure, returns why and stores nothing.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each, or are null.
enum unc_status unc_ring_create(size_t capacity, struct unc_producer **producer, struct unc_consumer **consumer);

// Makes a ring for `capacity` elements of `size` bytes each and stores its two sides. An element takes `size` rounded
// up to a power of two, at least 8 bytes. On failure, returns why and stores nothing. UNC_STATUS_INVALID: `size` is
// zero.
//
// # Safety
// `producer` and `consumer` point to memory for a pointer each, or are null.
enum unc_status unc_ring_create_of(size_t size,
                                   size_t capacity,
                                   struct unc_producer **producer,
                                   struct unc_consumer **consumer);

// Pushes a 64-bit value. Sleeps until there is room, at most until `deadline_ns`. UNC_STATUS_FULL: the deadline has
// passed. UNC_STATUS_CLOSED: the consumer is gone.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_push(struct unc_producer *producer, uint64_t value, uint64_t deadline_ns);

// Pushes `value` if there is room. Never sleeps.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it.
enum unc_status unc_ring_try_push(struct unc_producer *producer, uint64_t value);

// Pushes as many of the `count` values as there is room for, and returns their number. Never sleeps. 0 means full, or
// that nothing will ever be pushed: the consumer has gone, or elements are not of 8 bytes. `unc_ring_try_push` says
// which.
//
// # Safety
// `producer` is a producer's handle, and no other call uses it; `values` points to `count` values.
size_t unc_ring_try_push_many(struct unc_producer *producer, const uint64_t *values, size_t count);

// Closes the handle. Null is ignored.
//
// # Safety
// `producer` is null or a producer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_ring_close_producer(struct unc_producer *producer);

// Pops the oldest 64-bit value. Sleeps until there is one, at most until `deadline_ns`. UNC_STATUS_EMPTY: the deadline
// has passed. UNC_STATUS_CLOSED: the ring is empty and the producer is gone.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_pop(struct unc_consumer *consumer, uint64_t *value, uint64_t deadline_ns);

// Pops the oldest value if there is one. Never sleeps.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `value` points to memory for a value.
enum unc_status unc_ring_try_pop(struct unc_consumer *consumer, uint64_t *value);

// Pops as many values as there are, at most `count`, and returns their number. Never sleeps. 0 means empty, or that
// there will never be a value: `unc_ring_try_pop` says which.
//
// # Safety
// `consumer` is a consumer's handle, and no other call uses it; `values` points to memory for `count` values.
size_t unc_ring_try_pop_many(struct unc_consumer *consumer, uint64_t *values, size_t count);

// Closes the handle. Null is ignored.
//
// # Safety
// `consumer` is null or a consumer's handle that is open. To close it twice, or to use it
// after this, is undefined behaviour.
void unc_ring_close_consumer(struct unc_consumer *consumer);

// What a status means, in a few words. Never freed. Any number may be passed.
const char *unc_status_text(int status);

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
#define UNC_NOW UINT64_C(0)

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
 * full barrier on every CPU. Where it cannot (UNC_PORTABLE), every publication pays for a fence. */
static inline void unc_event_count_published(const unc_event_count *count) {
#ifdef UNC_PORTABLE
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
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

/* Whether the count was closed. */
static inline bool unc_event_count_is_closed(const unc_event_count *count) {
    return __atomic_load_n(&count->sleepers[3], __ATOMIC_ACQUIRE) != 0;
}

#ifdef __cplusplus
}
#endif
