// Concurrency Kit's ring for one producer and one consumer, which is C alone, as queues.cpp has the others.

#include <ck_ring.h>
#include <stdint.h>
#include <stdlib.h>

struct table {
    void *(*make)(size_t);
    void (*end)(void *);
    void (*send)(void *, uint64_t, uint64_t);
    uint64_t (*receive)(void *, uint64_t);
};

// A ring has a power of two of slots, one of which stays empty: it gets twice the capacity.
#define RING(WORDS)                                                                                                      \
    struct item_##WORDS {                                                                                                \
        uint64_t words[WORDS];                                                                                           \
    };                                                                                                                   \
    CK_RING_PROTOTYPE(words_##WORDS, item_##WORDS)                                                                       \
                                                                                                                         \
    struct ring_##WORDS {                                                                                                \
        ck_ring_t ring;                                                                                                  \
        struct item_##WORDS slots[];                                                                                     \
    };                                                                                                                   \
                                                                                                                         \
    static void *make_##WORDS(size_t capacity) {                                                                         \
        struct ring_##WORDS *ring;                                                                                       \
        size_t bytes = sizeof *ring + 2 * capacity * sizeof ring->slots[0];                                              \
        if (posix_memalign((void **)&ring, 128, bytes)) return NULL;                                                     \
        ck_ring_init(&ring->ring, (unsigned)(2 * capacity));                                                             \
        return ring;                                                                                                     \
    }                                                                                                                    \
                                                                                                                         \
    static void send_##WORDS(void *queue, uint64_t from, uint64_t to) {                                                  \
        struct ring_##WORDS *ring = queue;                                                                               \
        for (uint64_t number = from; number < to; number++) {                                                            \
            struct item_##WORDS item;                                                                                    \
            for (int nth = 0; nth < WORDS; nth++) item.words[nth] = number;                                              \
            while (!ck_ring_enqueue_spsc_words_##WORDS(&ring->ring, ring->slots, &item)) ck_pr_stall();                  \
        }                                                                                                                \
    }                                                                                                                    \
                                                                                                                         \
    static uint64_t receive_##WORDS(void *queue, uint64_t count) {                                                       \
        struct ring_##WORDS *ring = queue;                                                                               \
        uint64_t sum = 0;                                                                                                \
        while (count--) {                                                                                                \
            struct item_##WORDS item;                                                                                    \
            while (!ck_ring_dequeue_spsc_words_##WORDS(&ring->ring, ring->slots, &item)) ck_pr_stall();                  \
            for (int nth = 0; nth < WORDS; nth++) sum += item.words[nth];                                                \
        }                                                                                                                \
        return sum;                                                                                                      \
    }

RING(1)
RING(8)
RING(32)

#define TABLE(WORDS) (struct table){make_##WORDS, free, send_##WORDS, receive_##WORDS}

struct table unc_ck_ring(size_t words);

struct table unc_ck_ring(size_t words) {
    switch (words) {
    case 1: return TABLE(1);
    case 8: return TABLE(8);
    case 32: return TABLE(32);
    default: return (struct table){0};
    }
}
