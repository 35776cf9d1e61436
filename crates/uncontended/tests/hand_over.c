/* Event counts and rings from C and from C++: every function, every status; and spans. Exits with 0 if all of it holds. */
#include <uncontended.h>
#include <uncontended_lib.h>

#include "require.h"
#include <sched.h>
#include <string.h>

enum { EVENTS = 20000, THREADS = 3, VALUES = 100000, CAPACITY = 8 };
static const uint64_t MS = 1000000;

static unc_event_count happened = UNC_EVENT_COUNT_INIT;
static uint64_t written[EVENTS];

/* Records each event before it counts it. */
static void *happen(void *unused) {
    for (uint64_t event = 0; event < EVENTS; event++) {
        written[event] = event * event;
        if (event % 2) unc_event_count_increment(&happened);
        else unc_event_count_add_call(&happened, 1);
    }
    return unused;
}

/* Sees every counted event, and sleeps until the next one. */
static void events_are_seen_in_order(void) {
    pthread_t producer = start(happen, NULL);
    uint64_t seen = 0;
    while (seen < EVENTS) {
        uint64_t now = unc_event_count_wait(&happened, seen);
        REQUIRE(now > seen && now <= EVENTS);
        for (; seen < now; seen++) REQUIRE(written[seen] == seen * seen);
    }
    REQUIRE(pthread_join(producer, NULL) == 0);
    REQUIRE(unc_event_count_value(&happened) == EVENTS);
}

static unc_event_count many = UNC_EVENT_COUNT_INIT;

static void *count_many(void *unused) {
    for (int event = 0; event < EVENTS; event++) unc_event_count_add_many(&many, 2);
    return unused;
}

static void many_producers_lose_no_event(void) {
    const uint64_t all = 2 * (uint64_t)EVENTS * THREADS;
    pthread_t producers[THREADS];
    for (int i = 0; i < THREADS; i++) producers[i] = start(count_many, NULL);
    uint64_t seen = 0;
    while (seen < all) seen = unc_event_count_wait(&many, seen);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(producers[i], NULL) == 0);
    REQUIRE(unc_event_count_add_many(&many, 0) == all);
}

/* Waits for the event that comes only after this thread sleeps. */
static void *sleep_for_event(void *argument) {
    unc_event_count *count = (unc_event_count *)argument;
    REQUIRE(unc_event_count_wait(count, 0) == 5);
    return NULL;
}

static void deadlines_and_sleepers(void) {
    unc_event_count count = UNC_EVENT_COUNT_INIT;
    uint64_t now = 7;
    REQUIRE(!unc_event_count_wait_until(&count, 0, 1, &now) && now == 0);
    uint64_t deadline = unc_deadline_after(5 * MS);
    REQUIRE(!unc_event_count_wait_until(&count, 0, deadline, NULL));
    REQUIRE(unc_deadline_after(0) >= deadline);
    unc_event_count_add(&count, 0);
    REQUIRE(unc_event_count_value(&count) == 0);
    pthread_t sleeper = start(sleep_for_event, &count);
    while (!unc_event_count_has_waiters(&count)) sched_yield();
    unc_event_count_add(&count, 5);
    REQUIRE(pthread_join(sleeper, NULL) == 0);
    REQUIRE(!unc_event_count_has_waiters(&count));
    REQUIRE(unc_event_count_wait_until(&count, 0, 1, &now) && now == 5);
}

static void *push_all(void *argument) {
    unc_producer *producer = (unc_producer *)argument;
    for (uint64_t value = 0; value < VALUES; value++)
        REQUIRE(unc_ring_push(producer, value, UNC_NEVER) == UNC_STATUS_OK);
    unc_ring_close_producer(producer);
    return NULL;
}

static void values_come_once_and_in_order(void) {
    unc_producer *producer;
    unc_consumer *consumer;
    REQUIRE(unc_ring_create(CAPACITY, &producer, &consumer) == UNC_STATUS_OK);
    pthread_t pushes = start(push_all, producer);
    uint64_t value = 0;
    for (uint64_t expected = 0; expected < VALUES; expected++) {
        REQUIRE(unc_ring_pop(consumer, &value, UNC_NEVER) == UNC_STATUS_OK);
        REQUIRE(value == expected);
    }
    REQUIRE(unc_ring_pop(consumer, &value, UNC_NEVER) == UNC_STATUS_CLOSED);
    REQUIRE(unc_ring_try_pop(consumer, &value) == UNC_STATUS_CLOSED);
    REQUIRE(pthread_join(pushes, NULL) == 0);
    unc_ring_close_consumer(consumer);
}

static void every_status(void) {
    unc_producer *producer = NULL;
    unc_consumer *consumer = NULL;
    uint64_t some[4] = {1, 2, 3, 4}, value = 0;
    REQUIRE(unc_ring_create(0, &producer, &consumer) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_ring_create(SIZE_MAX, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    REQUIRE(producer == NULL && consumer == NULL);
    REQUIRE(unc_ring_create(3, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_ring_try_pop(consumer, &value) == UNC_STATUS_EMPTY);
    REQUIRE(unc_ring_pop(consumer, &value, unc_deadline_after(MS)) == UNC_STATUS_EMPTY);
    REQUIRE(unc_ring_try_push_many(producer, some, 4) == 3 && unc_ring_try_push_many(producer, some, 0) == 0);
    REQUIRE(unc_ring_try_push(producer, 9) == UNC_STATUS_FULL);
    REQUIRE(unc_ring_push(producer, 9, 1) == UNC_STATUS_FULL);
    REQUIRE(unc_ring_try_pop_many(consumer, some, 2) == 2 && some[0] == 1 && some[1] == 2);
    REQUIRE(unc_ring_try_pop(consumer, &value) == UNC_STATUS_OK && value == 3);
    REQUIRE(unc_ring_try_pop_many(consumer, some, 2) == 0);
    unc_ring_close_consumer(consumer);
    REQUIRE(unc_ring_try_push(producer, 1) == UNC_STATUS_CLOSED);
    REQUIRE(unc_ring_try_push_many(producer, some, 4) == 0);
    REQUIRE(unc_ring_push(producer, 9, UNC_NEVER) == UNC_STATUS_CLOSED);
    unc_ring_close_producer(producer);
    unc_ring_close_producer(NULL);
    unc_ring_close_consumer(NULL);
}

static void misuse_is_answered(void) {
    unc_producer *producer = NULL;
    unc_consumer *consumer = NULL;
    uint64_t value = 0;
    REQUIRE(unc_ring_create(3, NULL, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_create(3, &producer, NULL) == UNC_STATUS_INVALID && producer == NULL && consumer == NULL);
    REQUIRE(unc_ring_push(NULL, 1, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_push(NULL, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_push_many(NULL, &value, 1) == 0 && unc_ring_try_pop_many(NULL, &value, 1) == 0);
    REQUIRE(unc_ring_pop(NULL, &value, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_pop(NULL, &value) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_create_of(12, 3, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_ring_push(producer, 1, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_push(producer, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_push_many(producer, &value, 1) == 0 && unc_ring_try_pop_many(consumer, &value, 1) == 0);
    REQUIRE(unc_ring_pop(consumer, &value, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_try_pop(consumer, &value) == UNC_STATUS_INVALID);
    unc_ring_close_producer(producer);
    unc_ring_close_consumer(consumer);
}

/* Each number has words of its own, and no other number has any. */
static void statuses_have_words(void) {
    for (int status = UNC_STATUS_OK; status <= UNC_STATUS_DIED; status++)
        for (int other = 0; other < status; other++)
            REQUIRE(strcmp(unc_status_text(status), unc_status_text(other)) != 0);
    REQUIRE(unc_status_text(-1) == unc_status_text(1000000));
}

struct gate {
    unc_event_count count;
    int open, asked;
};

/* The condition is any store with release before an event. */
static bool is_open(void *context) {
    struct gate *gate = (struct gate *)context;
    gate->asked++;
    return __atomic_load_n(&gate->open, __ATOMIC_ACQUIRE) != 0;
}

static void *wait_at_gate(void *argument) {
    struct gate *gate = (struct gate *)argument;
    REQUIRE(unc_event_count_wait_for(&gate->count, is_open, gate, UNC_NEVER) == UNC_STATUS_OK);
    return NULL;
}

static void conditions_are_waited_for(void) {
    struct gate gate = {UNC_EVENT_COUNT_INIT, 0, 0};
    REQUIRE(unc_event_count_wait_for(&gate.count, NULL, &gate, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_event_count_wait_for(&gate.count, is_open, &gate, UNC_NOW) == UNC_STATUS_TIMED_OUT);
    REQUIRE(gate.asked == 1);
    uint64_t soon = unc_deadline_after(5 * MS);
    REQUIRE(unc_event_count_wait_for(&gate.count, is_open, &gate, soon) == UNC_STATUS_TIMED_OUT);
    REQUIRE(unc_deadline_after(0) >= soon && gate.asked >= 2);
    pthread_t waiter = start(wait_at_gate, &gate);
    while (!unc_event_count_has_waiters(&gate.count)) sched_yield();
    unc_event_count_increment(&gate.count);
    while (!unc_event_count_has_waiters(&gate.count)) sched_yield();
    __atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
    unc_event_count_increment(&gate.count);
    REQUIRE(pthread_join(waiter, NULL) == 0);
}

static void *wait_for_the_end(void *argument) {
    unc_event_count *count = (unc_event_count *)argument;
    uint64_t seen = 0;
    unc_status status;
    while ((status = unc_event_count_wait_change(count, seen, UNC_NEVER, &seen)) == UNC_STATUS_OK) REQUIRE(seen <= 3);
    REQUIRE(status == UNC_STATUS_CLOSED && seen == 3);
    return NULL;
}

static void closed_counts_end_all_waits(void) {
    struct gate gate = {UNC_EVENT_COUNT_INIT, 0, 0};
    pthread_t waiter = start(wait_for_the_end, &gate.count);
    unc_event_count_add(&gate.count, 3);
    while (!unc_event_count_has_waiters(&gate.count)) sched_yield();
    REQUIRE(!unc_event_count_is_closed(&gate.count));
    unc_event_count_close(&gate.count);
    REQUIRE(pthread_join(waiter, NULL) == 0 && unc_event_count_is_closed(&gate.count));
    uint64_t now = 0;
    REQUIRE(unc_event_count_wait(&gate.count, 3) == 3 && unc_event_count_wait(&gate.count, 2) == 3);
    REQUIRE(!unc_event_count_wait_until(&gate.count, 3, UNC_NEVER, NULL));
    REQUIRE(unc_event_count_wait_change(&gate.count, 2, UNC_NEVER, &now) == UNC_STATUS_OK && now == 3);
    REQUIRE(unc_event_count_wait_change(&gate.count, 3, UNC_NEVER, NULL) == UNC_STATUS_CLOSED);
    REQUIRE(unc_event_count_wait_for(&gate.count, is_open, &gate, UNC_NEVER) == UNC_STATUS_CLOSED);
    gate.open = 1;
    REQUIRE(unc_event_count_wait_for(&gate.count, is_open, &gate, UNC_NEVER) == UNC_STATUS_OK);
}

/* Without an observer, a span does nothing; two in one block have names of their own. */
static void spans_are_left_in_any_way(void) {
    for (int i = 0; i < 2; i++) {
        UNCONTENDED_SPAN("outer");
        UNCONTENDED_SPAN("inner");
        struct uncontended_span span = uncontended_span_begin("third");
        REQUIRE(span.began == 0);
        if (i == 0) continue;
        uncontended_span_end(&span);
    }
}

int main(void) {
    spans_are_left_in_any_way();
    events_are_seen_in_order();
    many_producers_lose_no_event();
    deadlines_and_sleepers();
    values_come_once_and_in_order();
    every_status();
    misuse_is_answered();
    statuses_have_words();
    conditions_are_waited_for();
    closed_counts_end_all_waits();
    printf("%s\n", unc_backend());
    return 0;
}
