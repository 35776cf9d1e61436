/* Lanes and broadcasts, from C and from C++. Exits with 0 if all of it holds. */
#include <uncontended_lib.h>

#include "require.h"
#include <string.h>

enum { VALUES = 5000, PRODUCERS = 3, CAPACITY = 5, BATCH = 4 };
static const uint64_t MS = 1000000;

/* An element that takes part of two words. */
struct event {
    uint32_t from, number, again;
};

struct sender {
    unc_lane_producer *lane;
    uint32_t name;
};

static void *send_all(void *argument) {
    struct sender *sender = (struct sender *)argument;
    struct event some[BATCH];
    size_t pushed;
    for (uint32_t number = 0; number < VALUES; number += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++) {
            some[i].from = sender->name;
            some[i].number = some[i].again = number + i;
        }
        REQUIRE(unc_lanes_push_many(sender->lane, some, BATCH - 1, UNC_NEVER, &pushed) == UNC_STATUS_OK);
        REQUIRE(pushed == BATCH - 1);
        REQUIRE(unc_lanes_push(sender->lane, &some[BATCH - 1], UNC_NEVER) == UNC_STATUS_OK);
    }
    unc_lanes_close_producer(sender->lane);
    return NULL;
}

static void lanes_keep_the_order_of_each_producer(void) {
    struct sender senders[PRODUCERS];
    pthread_t threads[PRODUCERS];
    unc_lane_consumer *consumer;
    uint32_t next[PRODUCERS] = {0};
    REQUIRE(unc_lanes_create(sizeof(struct event), PRODUCERS, CAPACITY, &senders[0].lane, &consumer) == UNC_STATUS_OK);
    for (uint32_t i = 1; i < PRODUCERS; i++)
        REQUIRE(unc_lanes_clone_producer(senders[0].lane, &senders[i].lane) == UNC_STATUS_OK);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        senders[i].name = i;
        threads[i] = start(send_all, &senders[i]);
    }
    struct event some[BATCH];
    size_t count, all = 0;
    unc_status status;
    while ((status = unc_lanes_pop_many(consumer, some, BATCH, UNC_NEVER, &count)) == UNC_STATUS_OK) {
        REQUIRE(count >= 1 && count <= BATCH);
        all += count;
        for (size_t i = 0; i < count; i++) {
            REQUIRE(some[i].from < PRODUCERS && some[i].number == next[some[i].from]);
            REQUIRE(some[i].again == next[some[i].from]++);
        }
    }
    REQUIRE(status == UNC_STATUS_CLOSED && count == 0 && all == PRODUCERS * VALUES);
    for (int i = 0; i < PRODUCERS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    unc_lanes_close_consumer(consumer);
}

static void every_status_of_lanes(void) {
    unc_lane_producer *producer = NULL, *another = NULL;
    unc_lane_consumer *consumer = NULL;
    char one[4096] = {1}, some[3] = {1, 2, 3};
    size_t count = 9;
    REQUIRE(unc_lanes_create(0, 1, 1, &producer, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_create(1, 1, 1, NULL, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_create(4097, 1, 1, &producer, &consumer) == UNC_STATUS_TOO_LONG);
    REQUIRE(unc_lanes_create(SIZE_MAX, 1, 1, &producer, &consumer) == UNC_STATUS_TOO_LONG);
    REQUIRE(unc_lanes_create(1, 0, 1, &producer, &consumer) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_lanes_create(1, 1, 0, &producer, &consumer) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_lanes_create(1, SIZE_MAX, 1, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    REQUIRE(unc_lanes_create(1, 1, SIZE_MAX, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    for (size_t size = 1; size <= 4096; size += 7) {
        REQUIRE(unc_lanes_create(size, 1, 1, &producer, &consumer) == UNC_STATUS_OK);
        memset(one, (int)(size % 100), size);
        REQUIRE(unc_lanes_push(producer, one, UNC_NOW) == UNC_STATUS_OK);
        memset(one, 0, size);
        REQUIRE(unc_lanes_pop(consumer, one, UNC_NOW) == UNC_STATUS_OK);
        for (size_t at = 0; at < size; at++) REQUIRE(one[at] == (char)(size % 100));
        unc_lanes_close_producer(producer);
        unc_lanes_close_consumer(consumer);
    }
    REQUIRE(unc_lanes_create(1, 1, 2, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_lanes_clone_producer(producer, &another) == UNC_STATUS_FULL);
    REQUIRE(unc_lanes_clone_producer(NULL, &another) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_clone_producer(producer, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_pop(consumer, one, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_lanes_pop(consumer, one, unc_deadline_after(MS)) == UNC_STATUS_EMPTY);
    REQUIRE(unc_lanes_push_many(producer, some, 3, UNC_NOW, &count) == UNC_STATUS_FULL && count == 2);
    REQUIRE(unc_lanes_push_many(producer, some, 0, UNC_NOW, &count) == UNC_STATUS_OK && count == 0);
    REQUIRE(unc_lanes_push_many(producer, some, SIZE_MAX, UNC_NOW, &count) == UNC_STATUS_INVALID && count == 0);
    REQUIRE(unc_lanes_push(producer, some, unc_deadline_after(MS)) == UNC_STATUS_FULL);
    REQUIRE(unc_lanes_push(producer, NULL, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_push(NULL, some, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_pop_many(consumer, some, 3, UNC_NEVER, &count) == UNC_STATUS_OK && count == 2 && some[1] == 2);
    REQUIRE(unc_lanes_pop(consumer, NULL, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_lanes_pop(NULL, one, UNC_NOW) == UNC_STATUS_INVALID);
    unc_lanes_close_consumer(consumer);
    REQUIRE(unc_lanes_push(producer, one, UNC_NEVER) == UNC_STATUS_CLOSED);
    unc_lanes_close_producer(producer);
    unc_lanes_close_producer(NULL);
    unc_lanes_close_consumer(NULL);
}

/* What the journal has released, which those after it may not pass. */
static uint32_t journaled;
static uint32_t shared_sum;

static void check_event(const struct event *event, uint32_t number) {
    REQUIRE(event->number == number && event->again == number && event->from == 7);
}

/* Reads in place, and releases all but one of what it read. */
static void *journal(void *argument) {
    unc_broadcast_consumer *consumer = (unc_broadcast_consumer *)argument;
    const void *memory;
    size_t count;
    uint32_t next = 0;
    unc_status status;
    while ((status = unc_broadcast_read(consumer, BATCH, &memory, &count, UNC_NEVER)) == UNC_STATUS_OK) {
        REQUIRE(count >= 1 && count <= BATCH);
        size_t released = count > 1 ? count - 1 : 1, stride = unc_ring_stride(sizeof(struct event));
        for (size_t i = 0; i < released; i++)
            check_event((const struct event *)((const char *)memory + i * stride), next++);
        __atomic_store_n(&journaled, next, __ATOMIC_RELEASE);
        REQUIRE(unc_broadcast_release(consumer, released) == UNC_STATUS_OK);
    }
    REQUIRE(status == UNC_STATUS_CLOSED && next == VALUES);
    unc_broadcast_close_consumer(consumer);
    return NULL;
}

/* Sees every event, after the journal. */
static void *apply(void *argument) {
    unc_broadcast_consumer *consumer = (unc_broadcast_consumer *)argument;
    struct event some[BATCH];
    size_t count;
    uint32_t next = 0;
    while (unc_broadcast_pop(consumer, some, BATCH, UNC_NEVER, &count) == UNC_STATUS_OK) {
        for (size_t i = 0; i < count; i++) check_event(&some[i], next++);
        REQUIRE(next <= __atomic_load_n(&journaled, __ATOMIC_ACQUIRE));
    }
    REQUIRE(next == VALUES);
    unc_broadcast_close_consumer(consumer);
    return NULL;
}

/* Shares the events with others. */
static void *work(void *argument) {
    unc_broadcast_consumer *consumer = (unc_broadcast_consumer *)argument;
    struct event event;
    while (unc_broadcast_pop(consumer, &event, 1, UNC_NEVER, NULL) == UNC_STATUS_OK) {
        REQUIRE(event.number < __atomic_load_n(&journaled, __ATOMIC_ACQUIRE));
        __atomic_fetch_add(&shared_sum, event.number, __ATOMIC_RELAXED);
    }
    unc_broadcast_close_consumer(consumer);
    return NULL;
}

static void stages_follow_each_other_and_share(void) {
    unc_stage stages[3] = {{0, 0}, {1, 1}, {2, 1}};
    unc_broadcast_producer *producer;
    unc_broadcast_consumer *consumers[4];
    REQUIRE(unc_broadcast_create(sizeof(struct event), 8, stages, 3, &producer, consumers) == UNC_STATUS_OK);
    pthread_t threads[4] = {start(journal, consumers[0]), start(apply, consumers[1]), start(work, consumers[2]),
                            start(work, consumers[3])};
    struct event some[11];
    size_t pushed;
    for (uint32_t number = 0; number < VALUES;) {
        uint32_t most = 1 + number % 11, count = VALUES - number < most ? VALUES - number : most;
        for (uint32_t i = 0; i < count; i++) {
            some[i].from = 7;
            some[i].number = some[i].again = number + i;
        }
        REQUIRE(unc_broadcast_push(producer, some, count, UNC_NEVER, &pushed) == UNC_STATUS_OK && pushed == count);
        number += count;
    }
    unc_broadcast_close_producer(producer);
    for (int i = 0; i < 4; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(shared_sum == (uint32_t)((uint64_t)VALUES * (VALUES - 1) / 2));
}

static void every_status_of_broadcasts(void) {
    unc_broadcast_producer *producer = NULL;
    unc_broadcast_consumer *consumers[2] = {NULL, NULL};
    unc_stage one = {1, 0}, behind[2] = {{1, 0}, {1, 1}}, circle[2] = {{1, 2}, {1, 1}}, unknown = {1, 4};
    unc_stage crowd = {SIZE_MAX, 0};
    int some[4] = {1, 2, 3, 4};
    size_t count = 9;
    const void *memory;
    REQUIRE(unc_broadcast_create(4, 3, &one, 0, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(4, 3, &one, 65, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(4, 3, NULL, 1, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(4, 3, circle, 2, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(4, 3, &unknown, 1, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(4, 3, &crowd, 1, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(0, 3, &one, 1, &producer, consumers) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_create(5000, 3, &one, 1, &producer, consumers) == UNC_STATUS_TOO_LONG);
    REQUIRE(unc_broadcast_create(4, 0, &one, 1, &producer, consumers) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_broadcast_create(4, SIZE_MAX, &one, 1, &producer, consumers) == UNC_STATUS_TOO_LARGE);
    REQUIRE(producer == NULL && consumers[0] == NULL);
    REQUIRE(unc_broadcast_create(4, 3, behind, 2, &producer, consumers) == UNC_STATUS_OK);
    REQUIRE(unc_broadcast_pop(consumers[0], some, 1, UNC_NOW, &count) == UNC_STATUS_EMPTY && count == 0);
    REQUIRE(unc_broadcast_read(consumers[0], 1, &memory, &count, unc_deadline_after(MS)) == UNC_STATUS_EMPTY);
    REQUIRE(unc_broadcast_push(producer, some, 4, UNC_NOW, &count) == UNC_STATUS_FULL && count == 3);
    REQUIRE(unc_broadcast_push(producer, some, 1, unc_deadline_after(MS), NULL) == UNC_STATUS_FULL);
    REQUIRE(unc_broadcast_push(producer, NULL, 1, UNC_NOW, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_push(NULL, some, 1, UNC_NOW, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_push(producer, some, 0, UNC_NOW, NULL) == UNC_STATUS_OK);
    REQUIRE(unc_broadcast_pop(consumers[1], some, 1, UNC_NOW, NULL) == UNC_STATUS_EMPTY);
    REQUIRE(unc_broadcast_release(consumers[0], 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_read(consumers[0], 9, &memory, &count, UNC_NOW) == UNC_STATUS_OK && count == 3);
    REQUIRE(unc_broadcast_release(consumers[0], 4) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_release(consumers[0], 0) == UNC_STATUS_OK);
    REQUIRE(unc_broadcast_read(consumers[0], 9, &memory, &count, UNC_NOW) == UNC_STATUS_OK && count == 3);
    REQUIRE(unc_broadcast_release(consumers[0], 2) == UNC_STATUS_OK);
    REQUIRE(unc_broadcast_read(NULL, 1, &memory, &count, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_read(consumers[0], 1, NULL, &count, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_pop(consumers[0], NULL, 1, UNC_NOW, &count) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_pop(NULL, some, 1, UNC_NOW, &count) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_release(NULL, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_broadcast_pop(consumers[1], some, 4, UNC_NOW, &count) == UNC_STATUS_OK && count == 2 && some[1] == 2);
    /* A stage that follows one that has gone sees what that one released. */
    unc_broadcast_close_consumer(consumers[0]);
    REQUIRE(unc_broadcast_pop(consumers[1], some, 1, UNC_NEVER, NULL) == UNC_STATUS_CLOSED);
    unc_broadcast_close_consumer(consumers[1]);
    REQUIRE(unc_broadcast_push(producer, some, 1, UNC_NEVER, NULL) == UNC_STATUS_CLOSED);
    unc_broadcast_close_producer(producer);
    unc_broadcast_close_producer(NULL);
    unc_broadcast_close_consumer(NULL);
}

int main(void) {
    lanes_keep_the_order_of_each_producer();
    every_status_of_lanes();
    stages_follow_each_other_and_share();
    every_status_of_broadcasts();
    printf("%s\n", unc_backend());
    return 0;
}
