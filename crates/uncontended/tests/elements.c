/* Rings of elements of any size, and byte records, from C and from C++. Exits with 0 if all of it holds. */
#include <uncontended_lib.h>

#include "require.h"
#include <sched.h>
#include <string.h>

enum { ELEMENTS = 20000, CAPACITY = 6, RECORDS = 5000, WRITERS = 3, BATCH = 4, LARGEST = 300 };
static const uint64_t MS = 1000000;

/* The sizes that behave differently: parts of a word, whole words, powers of two, several cache lines. */
static const size_t sizes[] = {1, 3, 8, 12, 16, 24, 100, LARGEST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* The byte of element number `number` at `at`. */
static unsigned char byte_of(size_t number, size_t at) { return (unsigned char)(number * 31 + number / 256 + at); }

static void make(unsigned char *element, size_t size, size_t number) {
    for (size_t at = 0; at < size; at++) element[at] = byte_of(number, at);
}

static void check(const unsigned char *element, size_t size, size_t number) {
    for (size_t at = 0; at < size; at++) REQUIRE(element[at] == byte_of(number, at));
}

struct stream {
    unc_producer *producer;
    size_t size;
};

/* Pushes in each way in turn: one, several, in place. */
static void *push_all(void *argument) {
    struct stream *stream = (struct stream *)argument;
    unsigned char some[BATCH * LARGEST];
    size_t size = stream->size, stride = unc_ring_stride(size), number = 0, count = 0;
    while (number < ELEMENTS) {
        size_t most = ELEMENTS - number < BATCH ? ELEMENTS - number : (size_t)BATCH;
        void *memory;
        switch (number % 3) {
        case 0:
            make(some, size, number);
            REQUIRE(unc_ring_push_copy(stream->producer, some, UNC_NEVER) == UNC_STATUS_OK);
            number++;
            break;
        case 1:
            for (size_t i = 0; i < most; i++) make(some + i * size, size, number + i);
            REQUIRE(unc_ring_push_many(stream->producer, some, most, UNC_NEVER, &count) == UNC_STATUS_OK);
            REQUIRE(count == most);
            number += count;
            break;
        default:
            REQUIRE(unc_ring_claim(stream->producer, most, &memory, &count, UNC_NEVER) == UNC_STATUS_OK);
            REQUIRE(count >= 1 && count <= most && (uintptr_t)memory % 8 == 0);
            for (size_t i = 0; i < count; i++) make((unsigned char *)memory + i * stride, size, number + i);
            REQUIRE(unc_ring_commit(stream->producer, count) == UNC_STATUS_OK);
            number += count;
        }
    }
    unc_ring_close_producer(stream->producer);
    return NULL;
}

/* Pops in each way in turn. */
static void elements_of_any_size_come_once_and_in_order(size_t size) {
    struct stream stream = {NULL, size};
    unc_consumer *consumer;
    REQUIRE(unc_ring_create_of(size, CAPACITY, &stream.producer, &consumer) == UNC_STATUS_OK);
    pthread_t pushes = start(push_all, &stream);
    unsigned char some[BATCH * LARGEST];
    size_t number = 0, count = 0;
    const void *memory;
    unc_status status = UNC_STATUS_OK;
    while (status == UNC_STATUS_OK) {
        size_t turn = number % 4;
        if (turn == 0) {
            status = unc_ring_pop_copy(consumer, some, UNC_NEVER);
            if (status == UNC_STATUS_OK) check(some, size, number++);
        } else if (turn == 1) {
            status = unc_ring_pop_many(consumer, some, BATCH, UNC_NEVER, &count);
            REQUIRE(status == UNC_STATUS_OK ? count >= 1 && count <= BATCH : count == 0);
            for (size_t i = 0; i < count; i++) check(some + i * size, size, number++);
        } else {
            status = unc_ring_read(consumer, BATCH, &memory, &count, UNC_NEVER);
            if (status != UNC_STATUS_OK) break;
            REQUIRE(count >= 1 && count <= BATCH && (uintptr_t)memory % 8 == 0);
            size_t released = turn == 2 ? 1 : count;
            for (size_t i = 0; i < released; i++)
                check((const unsigned char *)memory + i * unc_ring_stride(size), size, number++);
            REQUIRE(unc_ring_release(consumer, released) == UNC_STATUS_OK);
        }
    }
    REQUIRE(status == UNC_STATUS_CLOSED && number == ELEMENTS);
    REQUIRE(pthread_join(pushes, NULL) == 0);
    unc_ring_close_consumer(consumer);
}

static void every_status_of_a_ring(void) {
    unc_producer *producer = NULL;
    unc_consumer *consumer = NULL;
    unsigned char one[12] = {1}, some[4 * 12] = {2};
    size_t count = 9;
    void *memory;
    const void *found;
    REQUIRE(unc_ring_create_of(0, 3, &producer, &consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_create_of(12, 0, &producer, &consumer) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_ring_create_of(12, SIZE_MAX, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    REQUIRE(unc_ring_create_of(SIZE_MAX, 1, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    REQUIRE(unc_ring_stride(0) == 0 && unc_ring_stride(1) == 8 && unc_ring_stride(12) == 16);
    REQUIRE(unc_ring_create_of(12, 3, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_ring_pop_copy(consumer, one, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_ring_pop_many(consumer, one, 1, unc_deadline_after(MS), &count) == UNC_STATUS_EMPTY && count == 0);
    REQUIRE(unc_ring_read(consumer, 1, &found, &count, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_ring_release(consumer, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_room(producer) == 3 && unc_ring_available(consumer) == 0);
    REQUIRE(unc_ring_push_many(producer, some, 4, UNC_NOW, &count) == UNC_STATUS_FULL && count == 3);
    REQUIRE(unc_ring_push_many(producer, some, 0, UNC_NOW, NULL) == UNC_STATUS_OK);
    REQUIRE(unc_ring_push_copy(producer, one, unc_deadline_after(MS)) == UNC_STATUS_FULL);
    REQUIRE(unc_ring_claim(producer, 1, &memory, &count, UNC_NOW) == UNC_STATUS_FULL);
    REQUIRE(unc_ring_room(producer) == 0 && unc_ring_available(consumer) == 3);
    REQUIRE(unc_ring_commit(producer, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_pop_many(consumer, some, 0, UNC_NEVER, &count) == UNC_STATUS_OK && count == 0);
    REQUIRE(unc_ring_read(consumer, 1, &found, &count, UNC_NEVER) == UNC_STATUS_OK && count == 1);
    REQUIRE(unc_ring_release(consumer, 2) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_pop_copy(consumer, one, UNC_NEVER) == UNC_STATUS_OK && one[0] == 2);
    REQUIRE(unc_ring_release(consumer, 1) == UNC_STATUS_INVALID);
    /* An open claim: other pushes are refused, and it can be given up. */
    REQUIRE(unc_ring_claim(producer, 5, &memory, &count, UNC_NEVER) == UNC_STATUS_OK && count == 1);
    REQUIRE(unc_ring_claim(producer, 1, &memory, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_push_copy(producer, one, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_commit(producer, 2) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_commit(producer, 0) == UNC_STATUS_OK && unc_ring_available(consumer) == 2);
    unc_ring_close_consumer(consumer);
    REQUIRE(unc_ring_push_copy(producer, one, UNC_NEVER) == UNC_STATUS_CLOSED);
    REQUIRE(unc_ring_push_many(producer, some, 2, UNC_NOW, &count) == UNC_STATUS_CLOSED && count == 0);
    REQUIRE(unc_ring_claim(producer, 1, &memory, &count, UNC_NOW) == UNC_STATUS_CLOSED);
    unc_ring_close_producer(producer);
}

static void null_is_answered(void) {
    unc_producer *producer;
    unc_consumer *consumer;
    unc_record_producer *writer, *another;
    unc_record_consumer *reader;
    unsigned char one[12] = {0};
    size_t count;
    void *memory;
    const void *found;
    REQUIRE(unc_ring_create_of(12, 3, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_ring_push_copy(NULL, one, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_push_copy(producer, NULL, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_claim(NULL, 1, &memory, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_claim(producer, 1, NULL, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_commit(NULL, 1) == UNC_STATUS_INVALID && unc_ring_release(NULL, 1) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_pop_copy(NULL, one, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_pop_many(consumer, NULL, 1, UNC_NEVER, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_read(NULL, 1, &found, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_read(consumer, 1, &found, NULL, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_ring_room(NULL) == 0 && unc_ring_available(NULL) == 0);
    unc_ring_close_producer(producer);
    unc_ring_close_consumer(consumer);
    REQUIRE(unc_records_create(64, &writer, NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_create_many(64, NULL, &reader) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_create(64, &writer, &reader) == UNC_STATUS_OK);
    REQUIRE(unc_records_push(NULL, one, 1, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_push(writer, NULL, 1, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_claim(writer, 1, NULL, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_clone_producer(NULL, &another) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_clone_producer(writer, &another) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_commit(NULL) == UNC_STATUS_INVALID && unc_records_abort(NULL) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_read(NULL, &found, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_read(reader, NULL, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_pop(reader, NULL, 1, &count, UNC_NEVER) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_release(NULL) == UNC_STATUS_INVALID && unc_records_longest(NULL) == 0);
    unc_records_close_producer(writer);
    unc_records_close_consumer(reader);
    unc_records_close_producer(NULL);
    unc_records_close_consumer(NULL);
}

struct writer {
    unc_record_producer *producer;
    unsigned char name;
};

/* Records of lengths from 2 to 60: a name, a number, and bytes that follow from it. Some in place, some given up. */
static void *write_all(void *argument) {
    struct writer *writer = (struct writer *)argument;
    unsigned char record[64];
    for (size_t number = 0; number < RECORDS; number++) {
        size_t length = 2 + number % 59;
        make(record, length, number);
        record[0] = writer->name;
        if (number % 3 == 0) {
            REQUIRE(unc_records_push(writer->producer, record, length, UNC_NEVER) == UNC_STATUS_OK);
            continue;
        }
        void *memory;
        REQUIRE(unc_records_claim(writer->producer, length, &memory, UNC_NEVER) == UNC_STATUS_OK);
        REQUIRE((uintptr_t)memory % 8 == 0);
        memcpy(memory, record, length);
        if (number % 7 == 1) {
            REQUIRE(unc_records_abort(writer->producer) == UNC_STATUS_OK);
            REQUIRE(unc_records_push(writer->producer, record, length, UNC_NEVER) == UNC_STATUS_OK);
        } else {
            REQUIRE(unc_records_commit(writer->producer) == UNC_STATUS_OK);
        }
    }
    unc_records_close_producer(writer->producer);
    return NULL;
}

/* The records of each writer come once and in its order. */
static void records_come_once_and_in_order(size_t count) {
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    unc_record_consumer *consumer;
    size_t next[WRITERS] = {0}, length;
    unc_status made = count == 1 ? unc_records_create(256, &writers[0].producer, &consumer)
                                 : unc_records_create_many(256, &writers[0].producer, &consumer);
    REQUIRE(made == UNC_STATUS_OK);
    for (size_t i = 1; i < count; i++)
        REQUIRE(unc_records_clone_producer(writers[0].producer, &writers[i].producer) == UNC_STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        writers[i].name = (unsigned char)i;
        threads[i] = start(write_all, &writers[i]);
    }
    unsigned char buffer[64];
    const void *found;
    for (size_t read = 0; read < RECORDS * count; read++) {
        const unsigned char *record = buffer;
        if (read % 2 == 0) {
            REQUIRE(unc_records_read(consumer, &found, &length, UNC_NEVER) == UNC_STATUS_OK);
            record = (const unsigned char *)found;
        } else {
            REQUIRE(unc_records_pop(consumer, buffer, sizeof buffer, &length, UNC_NEVER) == UNC_STATUS_OK);
        }
        REQUIRE(length >= 2 && record[0] < count);
        size_t number = next[record[0]]++;
        REQUIRE(length == 2 + number % 59);
        for (size_t at = 1; at < length; at++) REQUIRE(record[at] == byte_of(number, at));
        if (read % 2 == 0) REQUIRE(unc_records_release(consumer) == UNC_STATUS_OK);
    }
    REQUIRE(unc_records_read(consumer, &found, &length, UNC_NEVER) == UNC_STATUS_CLOSED);
    for (size_t i = 0; i < count; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    unc_records_close_consumer(consumer);
}

static void every_status_of_records(void) {
    unc_record_producer *producer = NULL, *another = NULL;
    unc_record_consumer *consumer = NULL;
    void *memory;
    const void *found;
    size_t length = 0;
    char small[2];
    REQUIRE(unc_records_create(0, &producer, &consumer) == UNC_STATUS_ZERO_CAPACITY);
    REQUIRE(unc_records_create_many(SIZE_MAX, &producer, &consumer) == UNC_STATUS_TOO_LARGE);
    REQUIRE(unc_records_create_many(64, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_records_read(consumer, &found, &length, UNC_NOW) == UNC_STATUS_EMPTY);
    REQUIRE(unc_records_read(consumer, &found, &length, unc_deadline_after(MS)) == UNC_STATUS_EMPTY);
    REQUIRE(unc_records_release(consumer) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_push(producer, small, unc_records_longest(producer) + 1, UNC_NEVER) == UNC_STATUS_TOO_LONG);
    REQUIRE(unc_records_push(producer, NULL, 0, UNC_NOW) == UNC_STATUS_OK);
    REQUIRE(unc_records_push(producer, "four", 4, UNC_NOW) == UNC_STATUS_OK);
    REQUIRE(unc_records_pop(consumer, NULL, 0, &length, UNC_NOW) == UNC_STATUS_OK && length == 0);
    REQUIRE(unc_records_pop(consumer, small, 2, &length, UNC_NOW) == UNC_STATUS_TOO_LONG && length == 4);
    /* Not released, so read again. */
    REQUIRE(unc_records_read(consumer, &found, &length, UNC_NOW) == UNC_STATUS_OK && length == 4);
    REQUIRE(unc_records_read(consumer, &found, &length, UNC_NOW) == UNC_STATUS_OK && memcmp(found, "four", 4) == 0);
    REQUIRE(unc_records_release(consumer) == UNC_STATUS_OK);
    REQUIRE(unc_records_claim(producer, 3, &memory, UNC_NOW) == UNC_STATUS_OK);
    REQUIRE(unc_records_claim(producer, 3, &memory, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_push(producer, "x", 1, UNC_NOW) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_clone_producer(producer, &another) == UNC_STATUS_INVALID);
    REQUIRE(unc_records_longest(producer) == 0);
    REQUIRE(unc_records_abort(producer) == UNC_STATUS_OK && unc_records_commit(producer) == UNC_STATUS_INVALID);
    while (unc_records_push(producer, "four", 4, UNC_NOW) == UNC_STATUS_OK) continue;
    REQUIRE(unc_records_push(producer, "four", 4, unc_deadline_after(MS)) == UNC_STATUS_FULL);
    REQUIRE(unc_records_claim(producer, 1, &memory, UNC_NOW) == UNC_STATUS_FULL);
    unc_records_close_consumer(consumer);
    REQUIRE(unc_records_push(producer, "x", 1, UNC_NEVER) == UNC_STATUS_CLOSED);
    unc_records_close_producer(producer);
    /* A handle that is closed with an open claim gives it up. */
    REQUIRE(unc_records_create(64, &producer, &consumer) == UNC_STATUS_OK);
    REQUIRE(unc_records_claim(producer, 3, &memory, UNC_NOW) == UNC_STATUS_OK);
    unc_records_close_producer(producer);
    REQUIRE(unc_records_read(consumer, &found, &length, UNC_NEVER) == UNC_STATUS_CLOSED);
    unc_records_close_consumer(consumer);
}

int main(void) {
    for (size_t i = 0; i < SIZES; i++) elements_of_any_size_come_once_and_in_order(sizes[i]);
    every_status_of_a_ring();
    null_is_answered();
    records_come_once_and_in_order(1);
    records_come_once_and_in_order(WRITERS);
    every_status_of_records();
    printf("%s\n", unc_backend());
    return 0;
}
