/* Uncontended for C++17: rings, byte records and event counts as types that own their handles.
 *
 * Header only, over the functions of uncontended_lib.h; link the same library. A side is a move-only handle, which one
 * thread at a time uses; its destructor closes it, and the other side learns of that. Elements are copied as bytes: any
 * trivially copyable type. Only the functions that make something throw (`uncontended::Error`); no other does.
 *
 * The functions of each side come in four kinds: `try_` never sleeps, `_wait` sleeps until it is done or the other side
 * is gone, `_for` and `_until` give up at a time. A side that was moved from answers UNC_STATUS_INVALID. */

#pragma once

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "uncontended.hpp needs C++17: compile with -std=c++17 or later"
#endif

#include <uncontended_lib.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace uncontended {

/* The result of a call: UNC_STATUS_OK, or why not. */
using Status = unc_status;

/* Why something could not be made. */
class Error : public std::runtime_error {
public:
    explicit Error(Status status) : std::runtime_error(unc_status_text(status)), status_(status) {}
    Status status() const noexcept { return status_; }

private:
    Status status_;
};

/* The clock of all deadlines: CLOCK_MONOTONIC. */
using Clock = std::chrono::steady_clock;

namespace detail {

inline void require(Status status) {
    if (status != UNC_STATUS_OK) throw Error(status);
}

/* More than two centuries: in nanoseconds, it might be more than a number can be. */
template <class Rep, class Period>
bool is_endless(std::chrono::duration<Rep, Period> time) noexcept {
    using Years = std::chrono::duration<double, std::ratio<31556952>>;
    return std::chrono::duration_cast<Years>(time).count() > 200.0;
}

/* A time as the functions of C take it. A time before the clock's beginning has passed. */
template <class Duration>
std::uint64_t deadline(std::chrono::time_point<Clock, Duration> at) noexcept {
    auto since = at.time_since_epoch();
    if (since <= since.zero()) return 1;
    if (is_endless(since)) return UNC_NEVER;
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::nanoseconds>(since).count());
}

/* As long from now. More than two centuries is without a deadline. */
template <class Rep, class Period>
std::uint64_t deadline(std::chrono::duration<Rep, Period> time) noexcept {
    if (time <= time.zero()) return 1;
    if (is_endless(time)) return UNC_NEVER;
    auto ns = std::chrono::ceil<std::chrono::nanoseconds>(time).count();
    return unc_deadline_after(static_cast<std::uint64_t>(ns));
}

inline void tell(Status *why, Status status) noexcept {
    if (why != nullptr) *why = status;
}

/* Closes a handle. */
struct Close {
    void operator()(unc_producer *side) const noexcept { unc_ring_close_producer(side); }
    void operator()(unc_consumer *side) const noexcept { unc_ring_close_consumer(side); }
    void operator()(unc_record_producer *side) const noexcept { unc_records_close_producer(side); }
    void operator()(unc_record_consumer *side) const noexcept { unc_records_close_consumer(side); }
    void operator()(unc_shared_records *records) const noexcept { unc_shared_records_detach(records); }
    void operator()(unc_lane_producer *side) const noexcept { unc_lanes_close_producer(side); }
    void operator()(unc_lane_consumer *side) const noexcept { unc_lanes_close_consumer(side); }
    void operator()(unc_broadcast_producer *side) const noexcept { unc_broadcast_close_producer(side); }
    void operator()(unc_broadcast_consumer *side) const noexcept { unc_broadcast_close_consumer(side); }
};

/* Ends a reading in place. */
inline Status release(unc_consumer *side, std::size_t count) noexcept { return unc_ring_release(side, count); }
inline Status release(unc_broadcast_consumer *side, std::size_t count) noexcept {
    return unc_broadcast_release(side, count);
}

template <class Side>
using Handle = std::unique_ptr<Side, Close>;

/* Memory for a value that is copied into it. */
template <class T>
struct Room {
    alignas(T) unsigned char bytes[sizeof(T)];
    const T &value() const noexcept { return *std::launder(reinterpret_cast<const T *>(bytes)); }
};

/* The bytes from one element to the next in place, as `unc_ring_stride`. */
template <class T>
constexpr std::size_t stride() noexcept {
    std::size_t bytes = 8;
    while (bytes < sizeof(T)) bytes *= 2;
    return bytes;
}

} // namespace detail

template <class T>
class Producer;
template <class T>
class Consumer;
template <class T>
class BroadcastConsumer;

/* Both sides of a ring. */
template <class T>
using Sides = std::pair<Producer<T>, Consumer<T>>;

/* Makes a ring for `capacity` values from one thread to another. Throws `Error`. */
template <class T>
Sides<T> ring(std::size_t capacity);

/* Room for values in place. What is not committed is given up. Destroy it before its producer is used
 * again, or destroyed. */
template <class T>
class Claim {
public:
    Claim(Claim &&other) noexcept
        : side_(std::exchange(other.side_, nullptr)), memory_(other.memory_), size_(other.size_) {}
    Claim &operator=(Claim &&) = delete;
    ~Claim() {
        if (side_ != nullptr) unc_ring_commit(side_, 0);
    }

    /* How many values there is room for: at least one. */
    std::size_t size() const noexcept { return size_; }

    /* The place of value `index`, below `size()`. It holds no value yet: write all of it. */
    T *at(std::size_t index) noexcept {
        return reinterpret_cast<T *>(static_cast<unsigned char *>(memory_) + index * detail::stride<T>());
    }

    /* Publishes the first `count` values, at most `size()`, and ends the claim. */
    Status commit(std::size_t count) noexcept {
        Status status = unc_ring_commit(side_, count);
        if (status != UNC_STATUS_INVALID) side_ = nullptr;
        return status;
    }

    /* Publishes all values. */
    Status commit() noexcept { return commit(size_); }

private:
    friend class Producer<T>;
    Claim(unc_producer *side, void *memory, std::size_t size) noexcept : side_(side), memory_(memory), size_(size) {}
    unc_producer *side_;
    void *memory_;
    std::size_t size_;
};

/* Values that are read in place. THOSE THAT ARE NOT RELEASED ARE READ AGAIN by the next read: a loop that releases none
 * never ends, and the producer waits for room. Destroy it before its consumer is used again. */
template <class T, class Side = unc_consumer>
class Batch {
public:
    Batch(Batch &&other) noexcept
        : side_(std::exchange(other.side_, nullptr)), memory_(other.memory_), size_(other.size_) {}
    Batch &operator=(Batch &&) = delete;
    ~Batch() {
        if (side_ != nullptr) detail::release(side_, 0);
    }

    /* How many values there are: at least one. */
    std::size_t size() const noexcept { return size_; }

    /* Value `index`, below `size()`. */
    const T &operator[](std::size_t index) const noexcept {
        auto at = static_cast<const unsigned char *>(memory_) + index * detail::stride<T>();
        return *std::launder(reinterpret_cast<const T *>(at));
    }

    /* Pops the first `count` values, at most `size()`, and ends the batch. */
    Status release(std::size_t count) noexcept {
        Status status = detail::release(side_, count);
        if (status != UNC_STATUS_INVALID) side_ = nullptr;
        return status;
    }

    /* Pops all values. */
    Status release() noexcept { return release(size_); }

private:
    friend class Consumer<T>;
    friend class BroadcastConsumer<T>;
    Batch(Side *side, const void *memory, std::size_t size) noexcept
        : side_(side), memory_(memory), size_(size) {}
    Side *side_;
    const void *memory_;
    std::size_t size_;
};

/* The side that pushes. */
template <class T>
class Producer {
    static_assert(std::is_trivially_copyable<T>::value, "values are copied as bytes");

public:
    /* Sleeps until there is room. False: the consumer is gone. */
    bool push_wait(const T &value) noexcept { return push(value, UNC_NEVER) == UNC_STATUS_OK; }
    /* UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: the consumer is gone. */
    Status try_push(const T &value) noexcept { return push(value, UNC_NOW); }
    template <class Rep, class Period>
    Status push_for(const T &value, std::chrono::duration<Rep, Period> time) noexcept {
        return push(value, detail::deadline(time));
    }
    template <class Duration>
    Status push_until(const T &value, std::chrono::time_point<Clock, Duration> at) noexcept {
        return push(value, detail::deadline(at));
    }

    /* Pushes `count` values, in parts as large as there is room for, and returns how many: all, unless the consumer is
     * gone. */
    std::size_t push_many_wait(const T *values, std::size_t count) noexcept {
        return push_many(values, count, UNC_NEVER);
    }
    /* Pushes as many values as there is room for, and returns how many. */
    std::size_t try_push_many(const T *values, std::size_t count) noexcept { return push_many(values, count, UNC_NOW); }

    /* Room for up to `most` values in place. None: there is no room, or the consumer is gone; `*why` says which. */
    std::optional<Claim<T>> try_claim(std::size_t most, Status *why = nullptr) noexcept {
        return claim(most, UNC_NOW, why);
    }
    std::optional<Claim<T>> claim_wait(std::size_t most, Status *why = nullptr) noexcept {
        return claim(most, UNC_NEVER, why);
    }

    /* How many values there is room for now. */
    std::size_t room() noexcept { return unc_ring_room(side_.get()); }
    /* The handle of C, which stays this object's. */
    unc_producer *get() noexcept { return side_.get(); }

private:
    friend Sides<T> ring<T>(std::size_t);
    explicit Producer(unc_producer *side) noexcept : side_(side) {}

    Status push(const T &value, std::uint64_t deadline) noexcept {
        if constexpr (sizeof(T) == sizeof(std::uint64_t)) {
            std::uint64_t number;
            std::memcpy(&number, &value, sizeof number);
            return deadline == UNC_NOW ? unc_ring_try_push(side_.get(), number)
                                       : unc_ring_push(side_.get(), number, deadline);
        } else {
            return unc_ring_push_copy(side_.get(), &value, deadline);
        }
    }

    std::size_t push_many(const T *values, std::size_t count, std::uint64_t deadline) noexcept {
        std::size_t pushed = 0;
        unc_ring_push_many(side_.get(), values, count, deadline, &pushed);
        return pushed;
    }

    std::optional<Claim<T>> claim(std::size_t most, std::uint64_t deadline, Status *why) noexcept {
        static_assert(alignof(T) <= 8, "memory in place is aligned to 8 bytes");
        void *memory = nullptr;
        std::size_t count = 0;
        Status status = unc_ring_claim(side_.get(), most, &memory, &count, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return Claim<T>(side_.get(), memory, count);
    }

    detail::Handle<unc_producer> side_;
};

/* The side that pops. */
template <class T>
class Consumer {
    static_assert(std::is_trivially_copyable<T>::value, "values are copied as bytes");

public:
    /* Sleeps until there is a value. None: the ring is empty and the producer is gone. */
    std::optional<T> pop_wait() noexcept { return pop(UNC_NEVER, nullptr); }
    /* None: UNC_STATUS_EMPTY in `*why`, if there is no value now; UNC_STATUS_CLOSED, if there will never be one. */
    std::optional<T> try_pop(Status *why = nullptr) noexcept { return pop(UNC_NOW, why); }
    template <class Rep, class Period>
    std::optional<T> pop_for(std::chrono::duration<Rep, Period> time, Status *why = nullptr) noexcept {
        return pop(detail::deadline(time), why);
    }
    template <class Duration>
    std::optional<T> pop_until(std::chrono::time_point<Clock, Duration> at, Status *why = nullptr) noexcept {
        return pop(detail::deadline(at), why);
    }

    /* Pops as many values as there are, at most `count`, into `values`, and returns their number. Sleeps until there is
     * one. 0: there will never be one. */
    std::size_t pop_many_wait(T *values, std::size_t count) noexcept { return pop_many(values, count, UNC_NEVER); }
    /* The same, but never sleeps. */
    std::size_t try_pop_many(T *values, std::size_t count) noexcept { return pop_many(values, count, UNC_NOW); }

    /* Up to `most` of the oldest values in place. None: as for `try_pop`. */
    std::optional<Batch<T>> try_read(std::size_t most, Status *why = nullptr) noexcept {
        return read(most, UNC_NOW, why);
    }
    std::optional<Batch<T>> read_wait(std::size_t most, Status *why = nullptr) noexcept {
        return read(most, UNC_NEVER, why);
    }

    /* How many values can be popped now. */
    std::size_t available() noexcept { return unc_ring_available(side_.get()); }
    /* The handle of C, which stays this object's. */
    unc_consumer *get() noexcept { return side_.get(); }

private:
    friend Sides<T> ring<T>(std::size_t);
    explicit Consumer(unc_consumer *side) noexcept : side_(side) {}

    std::optional<T> pop(std::uint64_t deadline, Status *why) noexcept {
        detail::Room<T> room;
        Status status = unc_ring_pop_copy(side_.get(), room.bytes, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return room.value();
    }

    std::size_t pop_many(T *values, std::size_t count, std::uint64_t deadline) noexcept {
        std::size_t popped = 0;
        unc_ring_pop_many(side_.get(), values, count, deadline, &popped);
        return popped;
    }

    std::optional<Batch<T>> read(std::size_t most, std::uint64_t deadline, Status *why) noexcept {
        static_assert(alignof(T) <= 8, "memory in place is aligned to 8 bytes");
        const void *memory = nullptr;
        std::size_t count = 0;
        Status status = unc_ring_read(side_.get(), most, &memory, &count, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return Batch<T>(side_.get(), memory, count);
    }

    detail::Handle<unc_consumer> side_;
};

template <class T>
Sides<T> ring(std::size_t capacity) {
    unc_producer *producer = nullptr;
    unc_consumer *consumer = nullptr;
    detail::require(unc_ring_create_of(sizeof(T), capacity, &producer, &consumer));
    return Sides<T>(Producer<T>(producer), Consumer<T>(consumer));
}

class RecordProducer;
class RecordConsumer;
using RecordSides = std::pair<RecordProducer, RecordConsumer>;

/* Room for a record in place. One that is not committed is given up. Destroy it before its producer is used
 * again, or destroyed. */
class RecordClaim {
public:
    RecordClaim(RecordClaim &&other) noexcept
        : side_(std::exchange(other.side_, nullptr)), memory_(other.memory_), size_(other.size_) {}
    RecordClaim &operator=(RecordClaim &&) = delete;
    ~RecordClaim() {
        if (side_ != nullptr) unc_records_abort(side_);
    }

    /* The record's bytes, which are not cleared. */
    void *data() noexcept { return memory_; }
    std::size_t size() const noexcept { return size_; }
    /* Publishes the record, and ends the claim. */
    Status commit() noexcept { return unc_records_commit(std::exchange(side_, nullptr)); }

private:
    friend class RecordProducer;
    RecordClaim(unc_record_producer *side, void *memory, std::size_t size) noexcept
        : side_(side), memory_(memory), size_(size) {}
    unc_record_producer *side_;
    void *memory_;
    std::size_t size_;
};

/* A record that is read in place. IF IT IS NOT RELEASED, IT IS READ AGAIN by the next read: a loop that does not release
 * it never ends, and the producers wait for room. Use it no longer than until the next call with its consumer. */
class Record {
public:
    Record(Record &&other) noexcept : side_(std::exchange(other.side_, nullptr)), bytes_(other.bytes_) {}
    Record &operator=(Record &&) = delete;

    const void *data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    /* The bytes. */
    std::string_view view() const noexcept { return bytes_; }
    /* Pops the record, whose bytes are not used afterwards. */
    Status release() noexcept { return unc_records_release(std::exchange(side_, nullptr)); }

private:
    friend class RecordConsumer;
    Record(unc_record_consumer *side, std::string_view bytes) noexcept : side_(side), bytes_(bytes) {}
    unc_record_consumer *side_;
    std::string_view bytes_;
};

/* The side that writes records. */
class RecordProducer {
public:
    /* Takes over a handle of C. */
    explicit RecordProducer(unc_record_producer *side) noexcept : side_(side) {}

    /* Another producer. Throws `Error` if the ring has one alone, or while a record is claimed. */
    RecordProducer clone() {
        unc_record_producer *another = nullptr;
        detail::require(unc_records_clone_producer(side_.get(), &another));
        return RecordProducer(another);
    }

    /* Pushes a copy. Sleeps until there is room. False: the consumer is gone, or the record is too long. */
    bool push_wait(std::string_view bytes) noexcept { return push(bytes, UNC_NEVER) == UNC_STATUS_OK; }
    /* UNC_STATUS_FULL, UNC_STATUS_TOO_LONG, UNC_STATUS_CLOSED: why not. */
    Status try_push(std::string_view bytes) noexcept { return push(bytes, UNC_NOW); }
    template <class Rep, class Period>
    Status push_for(std::string_view bytes, std::chrono::duration<Rep, Period> time) noexcept {
        return push(bytes, detail::deadline(time));
    }
    template <class Duration>
    Status push_until(std::string_view bytes, std::chrono::time_point<Clock, Duration> at) noexcept {
        return push(bytes, detail::deadline(at));
    }

    /* Room for a record of `size` bytes in place. None: `*why` says why. */
    std::optional<RecordClaim> try_claim(std::size_t size, Status *why = nullptr) noexcept {
        return claim(size, UNC_NOW, why);
    }
    std::optional<RecordClaim> claim_wait(std::size_t size, Status *why = nullptr) noexcept {
        return claim(size, UNC_NEVER, why);
    }

    /* The length of the longest record, in bytes. */
    std::size_t longest() noexcept { return unc_records_longest(side_.get()); }
    /* The handle of C, which stays this object's. */
    unc_record_producer *get() noexcept { return side_.get(); }

private:
    Status push(std::string_view bytes, std::uint64_t deadline) noexcept {
        return unc_records_push(side_.get(), bytes.data(), bytes.size(), deadline);
    }

    std::optional<RecordClaim> claim(std::size_t size, std::uint64_t deadline, Status *why) noexcept {
        void *memory = nullptr;
        Status status = unc_records_claim(side_.get(), size, &memory, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return RecordClaim(side_.get(), memory, size);
    }

    detail::Handle<unc_record_producer> side_;
};

/* The side that reads records. */
class RecordConsumer {
public:
    /* Takes over a handle of C. */
    explicit RecordConsumer(unc_record_consumer *side) noexcept : side_(side) {}

    /* The oldest record in place. Sleeps until there is one. None: there will never be one. */
    std::optional<Record> read_wait(Status *why = nullptr) noexcept { return read(UNC_NEVER, why); }
    /* None: UNC_STATUS_EMPTY or UNC_STATUS_CLOSED in `*why`. */
    std::optional<Record> try_read(Status *why = nullptr) noexcept { return read(UNC_NOW, why); }
    template <class Rep, class Period>
    std::optional<Record> read_for(std::chrono::duration<Rep, Period> time, Status *why = nullptr) noexcept {
        return read(detail::deadline(time), why);
    }
    template <class Duration>
    std::optional<Record> read_until(std::chrono::time_point<Clock, Duration> at, Status *why = nullptr) noexcept {
        return read(detail::deadline(at), why);
    }

    /* The handle of C, which stays this object's. */
    unc_record_consumer *get() noexcept { return side_.get(); }

private:
    std::optional<Record> read(std::uint64_t deadline, Status *why) noexcept {
        const void *bytes = nullptr;
        std::size_t length = 0;
        Status status = unc_records_read(side_.get(), &bytes, &length, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return Record(side_.get(), std::string_view(static_cast<const char *>(bytes), length));
    }

    detail::Handle<unc_record_consumer> side_;
};

/* Makes a ring of at least `bytes` bytes for records from one producer. Throws `Error`. */
inline RecordSides records(std::size_t bytes) {
    unc_record_producer *producer = nullptr;
    unc_record_consumer *consumer = nullptr;
    detail::require(unc_records_create(bytes, &producer, &consumer));
    return RecordSides(RecordProducer(producer), RecordConsumer(consumer));
}

/* The same for records from many producers: clones of the first. */
inline RecordSides records_of_many(std::size_t bytes) {
    unc_record_producer *producer = nullptr;
    unc_record_consumer *consumer = nullptr;
    detail::require(unc_records_create_many(bytes, &producer, &consumer));
    return RecordSides(RecordProducer(producer), RecordConsumer(consumer));
}

/* A ring of records in memory that processes share: this process's attachment. The memory stays mapped until the
 * attachment and all sides made from it are destroyed. All functions that make something throw `Error`. */
class SharedRecords {
public:
    /* The bytes of memory that a ring of at least `capacity` bytes needs. 0: there can be no such ring. */
    static std::size_t bytes(std::size_t capacity) noexcept { return unc_shared_records_bytes(capacity); }

    /* Lays out an empty ring in `bytes` bytes of memory. */
    static SharedRecords create(void *memory, std::size_t bytes, std::size_t capacity) {
        unc_shared_records *records = nullptr;
        detail::require(unc_shared_records_create(memory, bytes, capacity, &records));
        return SharedRecords(records);
    }

    /* Attaches to the ring that another process has laid out. */
    static SharedRecords attach(void *memory, std::size_t bytes) {
        unc_shared_records *records = nullptr;
        detail::require(unc_shared_records_attach(memory, bytes, &records));
        return SharedRecords(records);
    }

    /* Another producer. */
    RecordProducer producer() {
        unc_record_producer *side = nullptr;
        detail::require(unc_shared_records_producer(records_.get(), &side));
        return RecordProducer(side);
    }

    /* The consumer. `Error` with UNC_STATUS_HELD, UNC_STATUS_DIED or UNC_STATUS_CLOSED: why its role is not to be had. */
    RecordConsumer consumer() {
        unc_record_consumer *side = nullptr;
        detail::require(unc_shared_records_consumer(records_.get(), &side));
        return RecordConsumer(side);
    }

    /* The consumer in place of a process that died. Call `unc_records_unblock` on it first. */
    RecordConsumer take_over() {
        unc_record_consumer *side = nullptr;
        detail::require(unc_shared_records_take_over(records_.get(), &side));
        return RecordConsumer(side);
    }

    /* No more producers will join, in any process. */
    void close() noexcept { unc_shared_records_close(records_.get()); }
    /* The attachment of C, which stays this object's. */
    unc_shared_records *get() noexcept { return records_.get(); }

private:
    explicit SharedRecords(unc_shared_records *records) noexcept : records_(records) {}
    detail::Handle<unc_shared_records> records_;
};

/* A count of events, and threads that wait for it to change or for conditions of their own. It stays where it is. */
class EventCount {
public:
    EventCount() noexcept = default;
    EventCount(const EventCount &) = delete;
    EventCount &operator=(const EventCount &) = delete;

    /* The number of events. The caller sees what happened before each. */
    std::uint64_t value() const noexcept { return unc_event_count_value(&count_); }
    /* Counts events, from any thread, and returns the number before them. */
    std::uint64_t add(std::uint64_t events = 1) noexcept { return unc_event_count_add_many(&count_, events); }
    /* The same, cheaper, if this is the only thread that ever counts here: the others' events would be lost. */
    void add_alone(std::uint64_t events = 1) noexcept { unc_event_count_add(&count_, events); }
    [[deprecated("use add")]] std::uint64_t add_many(std::uint64_t events = 1) noexcept { return add(events); }
    /* No more events are expected: all waits end. */
    void close() noexcept { unc_event_count_close(&count_); }
    bool is_closed() const noexcept { return unc_event_count_is_closed(&count_); }
    /* Whether a thread may be asleep here. */
    bool has_waiters() const noexcept { return unc_event_count_has_waiters(&count_); }

    /* Waits until the count differs from `old`, and returns it. None: it is closed, and still `old`. */
    std::optional<std::uint64_t> wait(std::uint64_t old) const noexcept { return change(old, UNC_NEVER, nullptr); }
    /* None: UNC_STATUS_TIMED_OUT or UNC_STATUS_CLOSED in `*why`. */
    template <class Rep, class Period>
    std::optional<std::uint64_t> wait_for(
        std::uint64_t old, std::chrono::duration<Rep, Period> time, Status *why = nullptr) const noexcept {
        return change(old, detail::deadline(time), why);
    }
    template <class Duration>
    std::optional<std::uint64_t> wait_until(
        std::uint64_t old, std::chrono::time_point<Clock, Duration> at, Status *why = nullptr) const noexcept {
        return change(old, detail::deadline(at), why);
    }

    /* Waits until `ready()` is true: asks at once, then after events, but not after each. False: the count is closed,
     * and `ready()` still false. `ready` must not wait on this count; if it throws, the program terminates. */
    template <class Ready, class = std::enable_if_t<std::is_invocable_r<bool, Ready &>::value>>
    bool wait(Ready ready) const noexcept {
        return condition(ready, UNC_NEVER) == UNC_STATUS_OK;
    }
    /* UNC_STATUS_TIMED_OUT, UNC_STATUS_CLOSED: why the wait ended. */
    template <class Ready, class Rep, class Period,
              class = std::enable_if_t<std::is_invocable_r<bool, Ready &>::value>>
    Status wait_for(Ready ready, std::chrono::duration<Rep, Period> time) const noexcept {
        return condition(ready, detail::deadline(time));
    }
    template <class Ready, class Duration, class = std::enable_if_t<std::is_invocable_r<bool, Ready &>::value>>
    Status wait_until(Ready ready, std::chrono::time_point<Clock, Duration> at) const noexcept {
        return condition(ready, detail::deadline(at));
    }

    /* The count of C, which stays this object's. */
    unc_event_count *get() noexcept { return &count_; }

private:
    std::optional<std::uint64_t> change(std::uint64_t old, std::uint64_t deadline, Status *why) const noexcept {
        std::uint64_t now = old;
        Status status = unc_event_count_wait_change(&count_, old, deadline, &now);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return now;
    }

    template <class Ready>
    Status condition(Ready &ready, std::uint64_t deadline) const noexcept {
        return unc_event_count_wait_for(&count_, &ask<Ready>, &ready, deadline);
    }

    template <class Ready>
    static bool ask(void *ready) noexcept {
        return (*static_cast<Ready *>(ready))();
    }

    unc_event_count count_ = UNC_EVENT_COUNT_INIT;
};

} // namespace uncontended

#include <uncontended_many.hpp>
