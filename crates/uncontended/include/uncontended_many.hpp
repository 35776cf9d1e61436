/* The part of uncontended.hpp for more than two sides: lanes and broadcasts. Include that header. */

#pragma once

#include <uncontended.hpp>

#include <initializer_list>
#include <vector>

namespace uncontended {

template <class T>
class LaneProducer;
template <class T>
class LaneConsumer;

/* The first producer, to be cloned, and the consumer. */
template <class T>
using LaneSides = std::pair<LaneProducer<T>, LaneConsumer<T>>;

/* Makes `lanes` lanes for `capacity` values each: many producers, and one consumer that takes from all in turn. Values
 * have at most 4096 bytes. Throws `Error`. */
template <class T>
LaneSides<T> lanes(std::size_t lanes, std::size_t capacity);

/* A producer with a lane of its own, which goes to another when it is destroyed. */
template <class T>
class LaneProducer {
    static_assert(std::is_trivially_copyable<T>::value, "values are copied as bytes");

public:
    /* Another producer. None: all lanes have one. */
    std::optional<LaneProducer> try_clone() noexcept {
        unc_lane_producer *another = nullptr;
        if (unc_lanes_clone_producer(side_.get(), &another) != UNC_STATUS_OK) return std::nullopt;
        return LaneProducer(another);
    }

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

    /* The handle of C, which stays this object's. */
    unc_lane_producer *get() noexcept { return side_.get(); }

private:
    friend LaneSides<T> lanes<T>(std::size_t, std::size_t);
    explicit LaneProducer(unc_lane_producer *side) noexcept : side_(side) {}

    Status push(const T &value, std::uint64_t deadline) noexcept {
        return unc_lanes_push(side_.get(), &value, deadline);
    }

    detail::Handle<unc_lane_producer> side_;
};

/* The consumer of all lanes. */
template <class T>
class LaneConsumer {
public:
    /* Sleeps until there is a value. None: there is none, and all producers are gone. */
    std::optional<T> pop_wait() noexcept { return pop(UNC_NEVER, nullptr); }
    /* None: UNC_STATUS_EMPTY or UNC_STATUS_CLOSED in `*why`. */
    std::optional<T> try_pop(Status *why = nullptr) noexcept { return pop(UNC_NOW, why); }
    template <class Rep, class Period>
    std::optional<T> pop_for(std::chrono::duration<Rep, Period> time, Status *why = nullptr) noexcept {
        return pop(detail::deadline(time), why);
    }
    template <class Duration>
    std::optional<T> pop_until(std::chrono::time_point<Clock, Duration> at, Status *why = nullptr) noexcept {
        return pop(detail::deadline(at), why);
    }

    /* Pops as many values as there are, at most `count`, and returns their number. Sleeps until there is one. 0: there
     * will never be one. */
    std::size_t pop_many_wait(T *values, std::size_t count) noexcept {
        std::size_t popped = 0;
        unc_lanes_pop_many(side_.get(), values, count, UNC_NEVER, &popped);
        return popped;
    }

    /* The handle of C, which stays this object's. */
    unc_lane_consumer *get() noexcept { return side_.get(); }

private:
    friend LaneSides<T> lanes<T>(std::size_t, std::size_t);
    explicit LaneConsumer(unc_lane_consumer *side) noexcept : side_(side) {}

    std::optional<T> pop(std::uint64_t deadline, Status *why) noexcept {
        detail::Room<T> room;
        Status status = unc_lanes_pop(side_.get(), room.bytes, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return room.value();
    }

    detail::Handle<unc_lane_consumer> side_;
};

template <class T>
LaneSides<T> lanes(std::size_t lanes, std::size_t capacity) {
    unc_lane_producer *producer = nullptr;
    unc_lane_consumer *consumer = nullptr;
    detail::require(unc_lanes_create(sizeof(T), lanes, capacity, &producer, &consumer));
    return LaneSides<T>(LaneProducer<T>(producer), LaneConsumer<T>(consumer));
}

/* A stage of a broadcast: `{members, after}`. See `unc_stage`. */
using Stage = unc_stage;

template <class T>
class BroadcastProducer;

/* The producer, and the consumers of the first stage, then those of the second, and so on. */
template <class T>
using BroadcastSides = std::pair<BroadcastProducer<T>, std::vector<BroadcastConsumer<T>>>;

/* Makes a broadcast of `capacity` values to stages: each sees every value, after the stages that it follows; the members
 * of one share them. Values have at most 4096 bytes. Throws `Error`. */
template <class T>
BroadcastSides<T> broadcast(std::size_t capacity, std::initializer_list<Stage> stages);

/* The side that publishes. */
template <class T>
class BroadcastProducer {
    static_assert(std::is_trivially_copyable<T>::value, "values are copied as bytes");

public:
    /* Sleeps until there is room. False: all consumers are gone. */
    bool push_wait(const T &value) noexcept { return push(value, UNC_NEVER) == UNC_STATUS_OK; }
    /* UNC_STATUS_FULL: there is no room. UNC_STATUS_CLOSED: all consumers are gone. */
    Status try_push(const T &value) noexcept { return push(value, UNC_NOW); }
    template <class Rep, class Period>
    Status push_for(const T &value, std::chrono::duration<Rep, Period> time) noexcept {
        return push(value, detail::deadline(time));
    }
    template <class Duration>
    Status push_until(const T &value, std::chrono::time_point<Clock, Duration> at) noexcept {
        return push(value, detail::deadline(at));
    }

    /* Publishes `count` values, in parts as large as there is room for, and returns how many: all, unless all consumers
     * are gone. */
    std::size_t push_many_wait(const T *values, std::size_t count) noexcept {
        std::size_t pushed = 0;
        unc_broadcast_push(side_.get(), values, count, UNC_NEVER, &pushed);
        return pushed;
    }

    /* The handle of C, which stays this object's. */
    unc_broadcast_producer *get() noexcept { return side_.get(); }

private:
    friend BroadcastSides<T> broadcast<T>(std::size_t, std::initializer_list<Stage>);
    explicit BroadcastProducer(unc_broadcast_producer *side) noexcept : side_(side) {}

    Status push(const T &value, std::uint64_t deadline) noexcept {
        return unc_broadcast_push(side_.get(), &value, 1, deadline, nullptr);
    }

    detail::Handle<unc_broadcast_producer> side_;
};

/* A consumer: a stage, or a member of one. */
template <class T>
class BroadcastConsumer {
public:
    /* Sleeps until there is a value. None: there will never be one. */
    std::optional<T> pop_wait() noexcept { return pop(UNC_NEVER, nullptr); }
    /* None: UNC_STATUS_EMPTY or UNC_STATUS_CLOSED in `*why`. */
    std::optional<T> try_pop(Status *why = nullptr) noexcept { return pop(UNC_NOW, why); }
    template <class Rep, class Period>
    std::optional<T> pop_for(std::chrono::duration<Rep, Period> time, Status *why = nullptr) noexcept {
        return pop(detail::deadline(time), why);
    }
    template <class Duration>
    std::optional<T> pop_until(std::chrono::time_point<Clock, Duration> at, Status *why = nullptr) noexcept {
        return pop(detail::deadline(at), why);
    }

    /* Up to `most` of the oldest values in place. None: as for `try_pop`. */
    std::optional<Batch<T, unc_broadcast_consumer>> try_read(std::size_t most, Status *why = nullptr) noexcept {
        return read(most, UNC_NOW, why);
    }
    std::optional<Batch<T, unc_broadcast_consumer>> read_wait(std::size_t most, Status *why = nullptr) noexcept {
        return read(most, UNC_NEVER, why);
    }

    /* The handle of C, which stays this object's. */
    unc_broadcast_consumer *get() noexcept { return side_.get(); }

private:
    friend BroadcastSides<T> broadcast<T>(std::size_t, std::initializer_list<Stage>);
    explicit BroadcastConsumer(detail::Handle<unc_broadcast_consumer> side) noexcept : side_(std::move(side)) {}

    std::optional<T> pop(std::uint64_t deadline, Status *why) noexcept {
        detail::Room<T> room;
        Status status = unc_broadcast_pop(side_.get(), room.bytes, 1, deadline, nullptr);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return room.value();
    }

    std::optional<Batch<T, unc_broadcast_consumer>> read(
        std::size_t most, std::uint64_t deadline, Status *why) noexcept {
        static_assert(alignof(T) <= 8, "memory in place is aligned to 8 bytes");
        const void *memory = nullptr;
        std::size_t count = 0;
        Status status = unc_broadcast_read(side_.get(), most, &memory, &count, deadline);
        detail::tell(why, status);
        if (status != UNC_STATUS_OK) return std::nullopt;
        return Batch<T, unc_broadcast_consumer>(side_.get(), memory, count);
    }

    detail::Handle<unc_broadcast_consumer> side_;
};

template <class T>
BroadcastSides<T> broadcast(std::size_t capacity, std::initializer_list<Stage> stages) {
    std::size_t count = 0;
    for (const Stage &stage : stages) {
        if (stage.members > 65536) throw Error(UNC_STATUS_INVALID);
        count += stage.members > 1 ? stage.members : 1;
    }
    // Room for all before the handles exist, so that nothing throws once they do.
    std::vector<unc_broadcast_consumer *> handles(count + 1);
    std::vector<BroadcastConsumer<T>> consumers;
    consumers.reserve(count);
    unc_broadcast_producer *producer = nullptr;
    detail::require(
        unc_broadcast_create(sizeof(T), capacity, stages.begin(), stages.size(), &producer, handles.data()));
    handles.pop_back();
    for (unc_broadcast_consumer *handle : handles)
        consumers.push_back(BroadcastConsumer<T>(detail::Handle<unc_broadcast_consumer>(handle)));
    return BroadcastSides<T>(BroadcastProducer<T>(producer), std::move(consumers));
}

} // namespace uncontended
