// The types of uncontended.hpp for more than two sides, and for several processes. Exits with 0 if all of it holds.
#include <uncontended.hpp>

#include "require.h"
#include <atomic>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
namespace unc = uncontended;

struct Event {
    std::uint32_t from, number, again;
};

void lanes_keep_the_order_of_each_producer() {
    auto [first, consumer] = unc::lanes<Event>(3, 5);
    std::vector<std::thread> threads;
    for (std::uint32_t from = 0; from < 2; from++) {
        threads.emplace_back([producer = first.try_clone(), from]() mutable {
            for (std::uint32_t number = 0; number < 5000; number++)
                REQUIRE(producer->push_wait(Event{from, number, number}));
        });
    }
    REQUIRE(!first.try_clone());
    { auto last = std::move(first); }
    std::uint32_t next[2] = {0, 0};
    Event some[4];
    while (std::size_t count = consumer.pop_many_wait(some, 3)) {
        for (std::size_t i = 0; i < count; i++)
            REQUIRE(some[i].number == next[some[i].from] && some[i].again == next[some[i].from]++);
    }
    REQUIRE(next[0] == 5000 && next[1] == 5000 && !consumer.pop_wait());
    for (auto &thread : threads) thread.join();
}

void every_answer_of_lanes() {
    auto [producer, consumer] = unc::lanes<char>(1, 1);
    unc::Status why = UNC_STATUS_OK;
    REQUIRE(!consumer.try_pop(&why) && why == UNC_STATUS_EMPTY && !consumer.pop_for(1ms));
    REQUIRE(!consumer.pop_until(unc::Clock::now()));
    REQUIRE(producer.try_push('a') == UNC_STATUS_OK && producer.try_push('b') == UNC_STATUS_FULL);
    REQUIRE(producer.push_for('b', 1ms) == UNC_STATUS_FULL);
    REQUIRE(producer.push_until('b', unc::Clock::now()) == UNC_STATUS_FULL && consumer.pop_wait() == 'a');
    { auto gone = std::move(consumer); }
    REQUIRE(!producer.push_wait('c') && producer.try_push('c') == UNC_STATUS_CLOSED);
}

void stages_follow_each_other_and_share() {
    constexpr std::uint32_t COUNT = 5000;
    auto [producer, consumers] = unc::broadcast<Event>(8, {{1, 0}, {2, 1}});
    REQUIRE(consumers.size() == 3);
    std::atomic<std::uint32_t> journaled{0}, sum{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&, journal = std::move(consumers[0])]() mutable {
        std::uint32_t next = 0;
        while (auto batch = journal.read_wait(4)) {
            for (std::size_t i = 0; i < batch->size(); i++) REQUIRE((*batch)[i].number == next++);
            journaled.store(next, std::memory_order_release);
            REQUIRE(batch->release() == UNC_STATUS_OK);
        }
        REQUIRE(next == COUNT);
    });
    for (std::size_t i = 1; i < 3; i++) {
        threads.emplace_back([&, worker = std::move(consumers[i])]() mutable {
            while (auto event = worker.pop_wait()) {
                REQUIRE(event->number < journaled.load(std::memory_order_acquire));
                sum += event->number;
            }
        });
    }
    for (std::uint32_t number = 0; number < COUNT; number += 2) {
        Event two[2] = {{7, number, 0}, {7, number + 1, 0}};
        if (number % 4 == 0) REQUIRE(producer.push_many_wait(two, 2) == 2);
        else REQUIRE(producer.push_wait(two[0]) && producer.push_wait(two[1]));
    }
    { auto gone = std::move(producer); }
    for (auto &thread : threads) thread.join();
    REQUIRE(sum == COUNT * (COUNT - 1) / 2);
}

template <class Make>
void throws(unc::Status expected, Make make) {
    try {
        make();
    } catch (const unc::Error &error) {
        REQUIRE(error.status() == expected);
        return;
    }
    REQUIRE(!"it throws");
}

void every_answer_of_broadcasts() {
    auto [producer, consumers] = unc::broadcast<int>(1, {{0, 0}});
    unc::Status why = UNC_STATUS_OK;
    REQUIRE(!consumers[0].try_pop(&why) && why == UNC_STATUS_EMPTY && !consumers[0].pop_for(1ms));
    REQUIRE(!consumers[0].pop_until(unc::Clock::now()) && !consumers[0].try_read(1, &why) && why == UNC_STATUS_EMPTY);
    REQUIRE(producer.try_push(1) == UNC_STATUS_OK && producer.try_push(2) == UNC_STATUS_FULL);
    REQUIRE(producer.push_for(2, 1ms) == UNC_STATUS_FULL);
    REQUIRE(producer.push_until(2, unc::Clock::now()) == UNC_STATUS_FULL);
    { auto dropped = consumers[0].try_read(1); }
    REQUIRE(consumers[0].pop_wait() == 1);
    consumers.clear();
    REQUIRE(producer.try_push(3) == UNC_STATUS_CLOSED && !producer.push_wait(3));
    throws(UNC_STATUS_INVALID, [] { unc::broadcast<int>(1, {}); });
    throws(UNC_STATUS_INVALID, [] { unc::broadcast<int>(1, {{1, 1}}); });
    throws(UNC_STATUS_INVALID, [] { unc::broadcast<int>(1, {{SIZE_MAX, 0}}); });
    throws(UNC_STATUS_ZERO_CAPACITY, [] { unc::lanes<int>(1, 0); });
}

void records_between_processes() {
    std::size_t bytes = unc::SharedRecords::bytes(1024);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    throws(UNC_STATUS_NO_RING, [&] { unc::SharedRecords::attach(memory, bytes); });
    auto records = unc::SharedRecords::create(memory, bytes, 1024);
    pid_t child = fork();
    if (child == 0) {
        {
            auto producer = unc::SharedRecords::attach(memory, bytes).producer();
            for (int number = 0; number < 2000; number++) REQUIRE(producer.push_wait(std::to_string(number)));
        }
        _exit(0);
    }
    auto consumer = records.consumer();
    throws(UNC_STATUS_HELD, [&] { records.consumer(); });
    throws(UNC_STATUS_HELD, [&] { records.take_over(); });
    for (int number = 0; number < 2000; number++) {
        auto record = consumer.read_wait();
        REQUIRE(record && record->view() == std::to_string(number) && record->release() == UNC_STATUS_OK);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    records.close();
    REQUIRE(!consumer.read_wait());
}

int main() {
    lanes_keep_the_order_of_each_producer();
    every_answer_of_lanes();
    stages_follow_each_other_and_share();
    every_answer_of_broadcasts();
    records_between_processes();
    printf("%s\n", unc_backend());
}
