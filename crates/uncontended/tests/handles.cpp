// The types of uncontended.hpp: what they hand over, what they own, how they fail. Exits with 0 if all of it holds.
#include <uncontended.hpp>

#include "require.h"
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
namespace unc = uncontended;

constexpr std::size_t VALUES = 20000;

// An element whose size is not a power of two, without a default constructor.
struct Order {
    explicit Order(std::uint64_t id) : id(id), quantity(static_cast<std::uint32_t>(id * 3)) {
        for (std::size_t i = 0; i < name.size(); i++) name[i] = static_cast<char>(id + i);
    }
    bool operator==(const Order &other) const {
        return id == other.id && quantity == other.quantity && name == other.name;
    }
    std::uint64_t id;
    std::uint32_t quantity;
    std::array<char, 12> name;
};

// Aligned more than memory in place: it can be copied.
struct alignas(64) Wide {
    std::uint64_t id;
};

static_assert(!std::is_copy_constructible<unc::Producer<int>>::value && !std::is_copy_assignable<unc::Consumer<int>>::value);
static_assert(std::is_nothrow_move_constructible<unc::Producer<int>>::value);
static_assert(std::is_nothrow_move_assignable<unc::Consumer<int>>::value);
static_assert(!std::is_copy_constructible<unc::RecordProducer>::value && !std::is_copy_constructible<unc::Record>::value);
static_assert(!std::is_move_constructible<unc::EventCount>::value);

template <class T, class Make, class Same>
void values_of_any_type_come_once_and_in_order(Make make, Same same) {
    auto sides = unc::ring<T>(7);
    std::thread pushes([producer = std::move(sides.first), make]() mutable {
        for (std::size_t id = 0; id < VALUES; id++) REQUIRE(producer.push_wait(make(id)));
    });
    auto consumer = std::move(sides.second);
    std::size_t next = 0;
    while (std::optional<T> value = consumer.pop_wait()) REQUIRE(same(*value, next++));
    REQUIRE(next == VALUES);
    pushes.join();
}

void batches_and_places() {
    auto [producer, consumer] = unc::ring<Order>(8);
    std::vector<Order> some;
    for (std::size_t id = 0; id < 12; id++) some.emplace_back(id);
    REQUIRE(producer.room() == 8 && producer.try_push_many(some.data(), 12) == 8 && consumer.available() == 8);
    std::vector<Order> popped(5, Order(99));
    REQUIRE(consumer.try_pop_many(popped.data(), 5) == 5 && popped[4] == Order(4));
    {
        auto batch = consumer.try_read(9);
        REQUIRE(batch && batch->size() == 3 && (*batch)[0] == Order(5));
        REQUIRE(batch->release(4) == UNC_STATUS_INVALID && batch->release(1) == UNC_STATUS_OK);
    }
    {
        auto again = consumer.read_wait(1); // dropped, so it is read again
        REQUIRE(again && again->size() == 1 && (*again)[0] == Order(6));
        auto moved = std::move(*again);
        REQUIRE(moved[0] == Order(6));
    }
    REQUIRE(consumer.available() == 2 && consumer.try_pop() == Order(6));
    {
        auto given_up = producer.claim_wait(2);
        REQUIRE(given_up && given_up->size() == 2);
        REQUIRE(producer.try_push(Order(1)) == UNC_STATUS_INVALID);
    }
    {
        auto claim = producer.try_claim(2);
        for (std::size_t i = 0; i < claim->size(); i++) new (claim->at(i)) Order(20 + i);
        REQUIRE(claim->commit() == UNC_STATUS_OK && claim->commit() == UNC_STATUS_INVALID);
    }
    REQUIRE(consumer.pop_wait() == Order(7) && consumer.pop_wait() == Order(20) && consumer.pop_wait() == Order(21));
    std::thread many([producer = std::move(producer), &some]() mutable {
        REQUIRE(producer.push_many_wait(some.data(), 12) == 12);
    });
    std::size_t next = 0;
    while (std::size_t count = consumer.pop_many_wait(popped.data(), 5))
        for (std::size_t i = 0; i < count; i++) REQUIRE(popped[i] == Order(next++));
    REQUIRE(next == 12);
    many.join();
}

void times_and_ends() {
    auto [producer, consumer] = unc::ring<int>(1);
    unc::Status why = UNC_STATUS_OK;
    REQUIRE(!consumer.try_pop(&why) && why == UNC_STATUS_EMPTY);
    auto before = unc::Clock::now();
    REQUIRE(!consumer.pop_for(3ms, &why) && why == UNC_STATUS_EMPTY && unc::Clock::now() - before >= 3ms);
    REQUIRE(!consumer.pop_until(before) && !consumer.pop_until(before + 5ms) && unc::Clock::now() - before >= 5ms);
    REQUIRE(!consumer.pop_for(-1s));
    REQUIRE(producer.try_push(4) == UNC_STATUS_OK && producer.try_push(5) == UNC_STATUS_FULL);
    // Never, in seconds: more nanoseconds than a number can be.
    auto never = std::chrono::time_point<unc::Clock, std::chrono::seconds>::max();
    std::thread late([&consumer = consumer] { std::this_thread::sleep_for(20ms); consumer.try_pop(); });
    REQUIRE(producer.push_until(5, never) == UNC_STATUS_OK);
    late.join();
    REQUIRE(producer.push_for(5, 1ms) == UNC_STATUS_FULL && producer.push_until(5, before) == UNC_STATUS_FULL);
    REQUIRE(consumer.pop_for(std::chrono::hours::max()) == 5);
    {
        auto gone = std::move(consumer);
        REQUIRE(!consumer.pop_wait() && !consumer.try_pop(&why) && why == UNC_STATUS_INVALID);
    }
    REQUIRE(!producer.push_wait(6) && producer.try_push(6) == UNC_STATUS_CLOSED);
    REQUIRE(!producer.claim_wait(1, &why) && why == UNC_STATUS_CLOSED);
    // A side that is assigned closes the one that it was.
    auto [second, reader] = unc::ring<int>(1);
    producer = std::move(second);
    REQUIRE(producer.push_wait(7) && reader.pop_wait() == 7);
    auto [third, unused] = unc::ring<int>(1);
    producer = std::move(third);
    REQUIRE(!reader.try_pop(&why) && why == UNC_STATUS_CLOSED && !reader.read_wait(1));
}

template <class Make>
void throws(unc::Status expected, Make make) {
    try {
        make();
    } catch (const unc::Error &error) {
        REQUIRE(error.status() == expected && std::string(error.what()) == unc_status_text(expected));
        return;
    }
    REQUIRE(!"it throws");
}

void making_may_throw() {
    throws(UNC_STATUS_ZERO_CAPACITY, [] { unc::ring<int>(0); });
    throws(UNC_STATUS_TOO_LARGE, [] { unc::ring<int>(SIZE_MAX); });
    throws(UNC_STATUS_ZERO_CAPACITY, [] { unc::records(0); });
    throws(UNC_STATUS_INVALID, [] { unc::records(64).first.clone(); });
}

void records_of_several_writers() {
    auto sides = unc::records_of_many(512);
    std::vector<std::thread> writers;
    for (char name : {'a', 'b', 'c'}) {
        writers.emplace_back([producer = sides.first.clone(), name]() mutable {
            for (std::size_t number = 0; number < 2000; number++) {
                std::string line(1 + number % 50, name);
                if (number % 2 == 0) {
                    REQUIRE(producer.push_wait(line));
                } else {
                    { auto given_up = producer.claim_wait(9); }
                    auto claim = producer.claim_wait(line.size());
                    std::memcpy(claim->data(), line.data(), claim->size());
                    REQUIRE(claim->commit() == UNC_STATUS_OK);
                }
            }
        });
    }
    { auto last = std::move(sides.first); }
    std::array<std::size_t, 3> next{};
    while (auto record = sides.second.read_wait()) {
        std::size_t number = next[static_cast<std::size_t>(record->view()[0] - 'a')]++;
        REQUIRE(record->view() == std::string(1 + number % 50, record->view()[0]));
        REQUIRE(record->release() == UNC_STATUS_OK && record->release() == UNC_STATUS_INVALID);
    }
    for (auto count : next) REQUIRE(count == 2000);
    for (auto &writer : writers) writer.join();
}

void every_answer_of_records() {
    auto [producer, consumer] = unc::records(64);
    unc::Status why = UNC_STATUS_OK;
    REQUIRE(!consumer.try_read(&why) && why == UNC_STATUS_EMPTY);
    REQUIRE(!consumer.read_for(1ms, &why) && why == UNC_STATUS_EMPTY && !consumer.read_until(unc::Clock::now()));
    std::string longest(producer.longest(), 'x');
    REQUIRE(producer.try_push(longest + "x") == UNC_STATUS_TOO_LONG && !producer.push_wait(longest + "x"));
    REQUIRE(producer.try_push("") == UNC_STATUS_OK && producer.try_push(longest) == UNC_STATUS_OK);
    REQUIRE(producer.try_push(longest) == UNC_STATUS_FULL && producer.push_for(longest, 1ms) == UNC_STATUS_FULL);
    REQUIRE(producer.push_until(longest, unc::Clock::now()) == UNC_STATUS_FULL);
    REQUIRE(!producer.try_claim(longest.size(), &why) && why == UNC_STATUS_FULL);
    REQUIRE(consumer.try_read()->size() == 0);
    REQUIRE(consumer.try_read()->release() == UNC_STATUS_OK && consumer.read_wait()->view() == longest);
    { auto gone = std::move(consumer); }
    REQUIRE(producer.try_push("x") == UNC_STATUS_CLOSED);
}

void events_and_conditions() {
    unc::EventCount count;
    unc::Status why = UNC_STATUS_OK;
    REQUIRE(!count.wait_for(0, 1ms, &why) && why == UNC_STATUS_TIMED_OUT && !count.wait_until(0, unc::Clock::now()));
    REQUIRE(count.wait_for([] { return false; }, 1ms) == UNC_STATUS_TIMED_OUT);
    REQUIRE(count.wait_until([] { return false; }, unc::Clock::now() + 1ms) == UNC_STATUS_TIMED_OUT);
    std::atomic<int> level{0};
    std::thread waiter([&] {
        REQUIRE(count.wait([&] { return level.load(std::memory_order_acquire) == 3; }));
        REQUIRE(!count.wait([] { return false; })); // until it is closed
        REQUIRE(count.wait(0) == 7 && !count.wait(7));
    });
    for (int step = 1; step <= 3; step++) {
        while (!count.has_waiters()) std::this_thread::yield();
        level.store(step, std::memory_order_release);
        count.add();
    }
    REQUIRE(count.add(4) == 3 && count.value() == 7 && !count.is_closed());
    count.close();
    waiter.join();
    REQUIRE(count.is_closed() && unc_event_count_value(count.get()) == 7);
}

int main() {
    values_of_any_type_come_once_and_in_order<Order>(
        [](std::size_t id) { return Order(id); }, [](const Order &order, std::size_t id) { return order == Order(id); });
    values_of_any_type_come_once_and_in_order<double>(
        [](std::size_t id) { return id / 4.0; }, [](double value, std::size_t id) { return value == id / 4.0; });
    values_of_any_type_come_once_and_in_order<char>(
        [](std::size_t id) { return static_cast<char>(id); },
        [](char value, std::size_t id) { return value == static_cast<char>(id); });
    values_of_any_type_come_once_and_in_order<Wide>(
        [](std::size_t id) { return Wide{id}; }, [](const Wide &wide, std::size_t id) { return wide.id == id; });
    batches_and_places();
    times_and_ends();
    making_may_throw();
    records_of_several_writers();
    every_answer_of_records();
    events_and_conditions();
    printf("%s\n", unc_backend());
}
