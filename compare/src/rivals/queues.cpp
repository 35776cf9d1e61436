// Queues in C++ for one producer and one consumer, where their headers are (see build.rs). Each loop is compiled
// here for its rival, as the rivals' users would write it; a full or empty queue is polled with the processor's spin hint.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef WITH_BOOST
#include <boost/lockfree/spsc_queue.hpp>
#endif
#ifdef WITH_RIGTORP
#include <rigtorp/SPSCQueue.h>
#endif

namespace {

template <size_t WORDS> struct Item {
    uint64_t words[WORDS];

    static Item of(uint64_t number) {
        Item item;
        for (uint64_t &word : item.words) word = number;
        return item;
    }

    uint64_t sum() const {
        uint64_t sum = 0;
        for (uint64_t word : words) sum += word;
        return sum;
    }
};

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

constexpr uint64_t BATCH = 64;

// Makes the items and retries each push until there is room.
template <size_t WORDS, typename Push> void send_each(uint64_t from, uint64_t to, Push push) {
    for (uint64_t number = from; number < to; number++) {
        const auto item = Item<WORDS>::of(number);
        while (!push(item)) relax();
    }
}

#ifdef WITH_BOOST
template <size_t WORDS> struct Boost {
    boost::lockfree::spsc_queue<Item<WORDS>> queue;

    explicit Boost(size_t capacity) : queue(capacity) {}

    void send(uint64_t from, uint64_t to) {
        send_each<WORDS>(from, to, [&](const Item<WORDS> &item) { return queue.push(item); });
    }

    uint64_t receive(uint64_t count) {
        uint64_t sum = 0;
        Item<WORDS> item;
        while (count--) {
            while (!queue.pop(item)) relax();
            sum += item.sum();
        }
        return sum;
    }
};

// In arrays of at most BATCH items.
template <size_t WORDS> struct BoostBatches : Boost<WORDS> {
    using Boost<WORDS>::Boost;

    void send(uint64_t from, uint64_t to) {
        Item<WORDS> items[BATCH];
        while (from < to) {
            const uint64_t most = to - from < BATCH ? to - from : BATCH;
            for (uint64_t nth = 0; nth < most; nth++) items[nth] = Item<WORDS>::of(from + nth);
            uint64_t sent = 0;
            while (sent < most) {
                const uint64_t now = this->queue.push(items + sent, most - sent);
                if (!now) relax();
                sent += now;
            }
            from += most;
        }
    }

    uint64_t receive(uint64_t count) {
        Item<WORDS> items[BATCH];
        uint64_t sum = 0;
        while (count > 0) {
            const uint64_t got = this->queue.pop(items, count < BATCH ? count : BATCH);
            if (!got) relax();
            for (uint64_t nth = 0; nth < got; nth++) sum += items[nth].sum();
            count -= got;
        }
        return sum;
    }
};
#endif

#ifdef WITH_RIGTORP
template <size_t WORDS> struct Rigtorp {
    rigtorp::SPSCQueue<Item<WORDS>> queue;

    explicit Rigtorp(size_t capacity) : queue(capacity) {}

    void send(uint64_t from, uint64_t to) {
        send_each<WORDS>(from, to, [&](const Item<WORDS> &item) { return queue.try_push(item); });
    }

    uint64_t receive(uint64_t count) {
        uint64_t sum = 0;
        while (count--) {
            Item<WORDS> *front;
            while (!(front = queue.front())) relax();
            sum += front->sum();
            queue.pop();
        }
        return sum;
    }
};
#endif

template <typename Queue> struct Calls {
    static void *make(size_t capacity) noexcept { return new (std::nothrow) Queue(capacity); }
    static void end(void *queue) noexcept { delete static_cast<Queue *>(queue); }
    static void send(void *queue, uint64_t from, uint64_t to) noexcept { static_cast<Queue *>(queue)->send(from, to); }
    static uint64_t receive(void *queue, uint64_t count) noexcept { return static_cast<Queue *>(queue)->receive(count); }
};

// As in concurrency_kit_ring.c and queues.rs.
struct Table {
    void *(*make)(size_t) noexcept;
    void (*end)(void *) noexcept;
    void (*send)(void *, uint64_t, uint64_t) noexcept;
    uint64_t (*receive)(void *, uint64_t) noexcept;
};

template <typename Queue> Table table() {
    using Of = Calls<Queue>;
    return {Of::make, Of::end, Of::send, Of::receive};
}

template <template <size_t> class Queue> Table of_words(size_t words) {
    switch (words) {
    case 1: return table<Queue<1>>();
    case 8: return table<Queue<8>>();
    case 32: return table<Queue<32>>();
    default: return {};
    }
}

} // namespace

// The calls of a rival for items of so many words; null where it is not here.
extern "C" Table unc_queue(unsigned rival, size_t words) {
    switch (rival) {
#ifdef WITH_BOOST
    case 0: return of_words<Boost>(words);
    case 1: return of_words<BoostBatches>(words);
#endif
#ifdef WITH_RIGTORP
    case 2: return of_words<Rigtorp>(words);
#endif
    default: return {};
    }
}
